#include "memory/arena.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "memory/one_arena.h"
#include "memory/peer_arena.h"

// In place of the C library's: interrupted so many times by a signal.
static int interruptions = 0;
static bool interrupted() {
    if (interruptions == 0) return false;
    errno = EINTR;
    return interruptions-- > 0;
}
extern "C" ssize_t pread(int file, void* to, std::size_t bytes, off_t from) {
    return interrupted() ? -1 : syscall(SYS_pread64, file, to, bytes, from);
}
extern "C" ssize_t pwrite(int file, const void* data, std::size_t bytes, off_t to) {
    return interrupted() ? -1 : syscall(SYS_pwrite64, file, data, bytes, to);
}

namespace fanlight {
namespace {

constexpr std::size_t page = 4096, mebibyte = std::size_t{1} << 20;

// Runs `body` in a child and returns its exit status, -1 for a signal.
template <class Body>
int in_child(Body&& body) {
    const pid_t child = fork();
    if (child == 0) _exit(body());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::byte* make(std::size_t bytes, std::size_t alignment = 0, arena::Contents contents = arena::Contents::zeroed) {
    return static_cast<std::byte*>(arena::allocate(bytes, alignment, contents));
}

void fill(std::byte* block, std::size_t bytes, int with) { std::memset(block, with, bytes); }

bool is_all(const std::byte* block, std::size_t bytes, int with) {
    return std::all_of(block, block + bytes, [with](std::byte b) { return b == std::byte(with); });
}

std::uint64_t there(const void* block) { return reinterpret_cast<std::uint64_t>(block); }

// Of what this process shares, in bytes.
std::size_t resident() {
    std::ifstream in("/proc/self/status");
    for (std::string line; std::getline(in, line);)
        if (line.starts_with("RssShmem:")) return std::stoul(line.substr(9)) * 1024;
    return 0;
}

TEST(Arena, BlocksAreZeroedAlignedAndTheArenas) {
    std::byte* const a = make(100'000);
    ASSERT_NE(a, nullptr) << arena::why();
    EXPECT_TRUE(is_all(a, 100'000, 0));
    EXPECT_EQ(there(a) % page, 0u);
    EXPECT_EQ(arena::size_of(a), 25 * page);
    EXPECT_TRUE(arena::owns(a, 100'000));
    EXPECT_TRUE(arena::owns(a + 17, 0));
    int local = 0;
    EXPECT_FALSE(arena::owns(&local, sizeof local));
    EXPECT_FALSE(arena::owns(a, std::size_t{1} << 60));
    EXPECT_EQ(arena::size_of(a + page), 0u);
    EXPECT_EQ(arena::size_of(&local), 0u);
    EXPECT_EQ(arena::size_of(nullptr), 0u);
    fill(a, 100'000, 1);
    arena::release(a);
    arena::release(&local);
    arena::release(nullptr);
    std::byte* const b = make(99'000);
    EXPECT_EQ(a, b);
    EXPECT_TRUE(is_all(b, 99'000, 0));
    std::byte* const aligned = make(page, mebibyte);
    EXPECT_EQ(there(aligned) % mebibyte, 0u);
    arena::release(aligned);
    arena::release(b);
    EXPECT_EQ(make(std::size_t{1} << 50), nullptr);
    EXPECT_EQ(make(SIZE_MAX), nullptr);
}

// What has just been freed is what is asked for again; each is nobody's but once.
TEST(Arena, BlocksOfOneLengthAreEachGivenOnce) {
    std::vector<std::byte*> blocks;
    for (int i = 0; i < 200; ++i) {
        for (int j = 0; j < 3; ++j) {
            blocks.push_back(make((16 + static_cast<std::size_t>(i % 3)) * page));
            ASSERT_TRUE(is_all(blocks.back(), 16 * page, 0)) << "in use already";
            fill(blocks.back(), 16 * page, 1);
        }
        arena::release(blocks[static_cast<std::size_t>(i)]);
        arena::release(blocks.back());
        blocks.pop_back();
    }
    auto sorted = std::vector(blocks.begin() + 200, blocks.end());
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
    for (std::byte* const block : sorted) arena::release(block);
}

TEST(Arena, APartThatHadNoMemoryGetsNoneWhereZerosAreAskedFor) {
    constexpr std::size_t bytes = 40 * mebibyte;
    std::byte* const a = make(bytes);
    ASSERT_NE(a, nullptr);
    a[0] = a[bytes - 1] = std::byte{1};
    const std::size_t before = resident();
    // Its ends alone are not zero; then all of it may be.
    EXPECT_EQ(arena::resize(a, page), a);
    EXPECT_EQ(arena::resize(a, bytes), a);
    arena::release(a);
    for (int i = 0; i < 3; ++i) {
        std::byte* const b = make(bytes);
        EXPECT_TRUE(b[0] == std::byte{0} && b[bytes - 1] == std::byte{0});
        arena::release(b);
    }
    std::byte* const b = make(bytes);
    EXPECT_LE(resident(), before + bytes);
    EXPECT_TRUE(is_all(b, bytes, 0));
    arena::release(b);
}

TEST(Arena, ResizedBlocksKeepTheirContents) {
    std::byte* a = make(page);
    fill(a, page, 7);
    for (const std::size_t pages : {100u, 3u, 5000u, 1u, 64u}) {
        std::byte* const wall = make(page);  // so that it must move as well
        a = static_cast<std::byte*>(arena::resize(a, pages * page));
        ASSERT_NE(a, nullptr);
        EXPECT_EQ(arena::size_of(a), pages * page);
        EXPECT_TRUE(is_all(a, page, 7));
        arena::release(wall);
    }
    EXPECT_EQ(arena::resize(a, std::size_t{1} << 50), nullptr);
    EXPECT_TRUE(is_all(a, page, 7));
    arena::release(a);
}

TEST(Arena, MemoryStaysFlatWhateverIsAllocatedAndFreed) {
    std::mt19937 random(3);
    std::vector<std::pair<std::byte*, std::size_t>> blocks(16);
    std::size_t most = 0;
    for (int i = 0; i < 20'000; ++i) {
        auto& [block, bytes] = blocks[random() % blocks.size()];
        if (block) {
            ASSERT_EQ(block[bytes - 1], std::byte(bytes));
            arena::release(block);
        }
        bytes = 65536 + random() % (random() % 64 ? mebibyte : 32 * mebibyte);
        block = make(bytes, 0, arena::Contents::any);
        ASSERT_NE(block, nullptr);
        block[0] = block[bytes / 2] = block[bytes - 1] = std::byte(bytes);
        if (i % 1000 == 999) most = std::max(most, resident());
    }
    for (const auto& [block, bytes] : blocks) arena::release(block);
    // What is kept, and what may be in use.
    EXPECT_LE(most, 128 * mebibyte + 16 * 33 * mebibyte);
    EXPECT_LE(resident(), 129 * mebibyte);
}

TEST(Arena, ThreadsShareIt) {
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([t, &wrong] {
            std::mt19937 random(static_cast<unsigned>(t));
            for (int i = 0; i < 2000; ++i) {
                const std::size_t bytes = page * (1 + random() % 64);
                auto* a = make(bytes);
                if (!a || !is_all(a, bytes, 0)) ++wrong;
                fill(a, bytes, t + 1);
                a = static_cast<std::byte*>(arena::resize(a, 2 * bytes));
                if (!a || !is_all(a, bytes, t + 1)) ++wrong;
                arena::release(a);
            }
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
}

TEST(Arena, IsRefusedWithoutFilesWithoutAName) {
    if (fanlight_arena_0.bytes) GTEST_SKIP() << "there is one already; ctest runs each test by itself";
    EXPECT_EQ(in_child([] {
        sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
                                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
        const sock_fprog program{4, filter};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return 1;
        if (make(page)) return 2;
        if (arena::name().bytes != 0) return 3;
        return std::string(arena::why()).find("memfd_create") == std::string::npos ? 4 : 0;
    }), 0);
}

TEST(Arena, IsSmallOrNoneWhereAddressesAreLimited) {
    if (fanlight_arena_0.bytes) GTEST_SKIP() << "there is one already; ctest runs each test by itself";
    const auto limited = [](std::size_t limit) {
        return in_child([limit] {
            const rlimit to{limit, limit};
            if (setrlimit(RLIMIT_AS, &to) != 0) return 1;
            std::byte* const block = make(page);
            const std::size_t bytes = arena::name().bytes;
            if (!block) return bytes == 0 && std::string(arena::why()).find("addresses") != std::string::npos ? 10 : 2;
            return bytes <= limit / 8 && !make(limit / 2) ? 20 : 3;
        });
    };
    EXPECT_EQ(limited(std::size_t{4} << 30), 20);
    EXPECT_EQ(limited(200 * mebibyte), 10);
    // All but a few mebibytes of the addresses are in use.
    EXPECT_EQ(in_child([] {
        const rlimit to{std::size_t{2} << 30, std::size_t{2} << 30};
        if (setrlimit(RLIMIT_AS, &to) != 0) return 1;
        for (std::size_t bytes = std::size_t{1} << 30; bytes >= 8 * mebibyte;)
            if (mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED) bytes /= 2;
        return !make(page) && *arena::why() ? 0 : 2;
    }), 0);
}

TEST(Arena, FileOfItsNumberThatIsAnothersIsLeftAlone) {
    if (fanlight_arena_0.bytes) GTEST_SKIP() << "there is one already; ctest runs each test by itself";
    EXPECT_EQ(in_child([] {
        if (!make(page)) return 1;
        const auto name = arena::name();
        // What a program does that closes whatever it has not opened.
        char path[] = "/tmp/fanlight-arena-XXXXXX";
        const int other = mkstemp(path);
        unlink(path);
        if (dup2(other, static_cast<int>(name.fd)) < 0) return 2;
        if (arena::name().bytes != 0 || PeerArena::find(name)) return 3;
        // What is mapped is still there; it does not grow.
        if (!make(mebibyte) || make(64 * mebibyte)) return 4;
        return lseek(other, 0, SEEK_END) == 0 ? 0 : 5;
    }), 0);
}

// The peer is a child; what it sees of the parent is what a peer sees.
// Of the mapping that has it, in KiB.
long huge_pages_at(const void* address) {
    std::ifstream maps("/proc/self/smaps");
    bool inside = false;
    for (std::string line; std::getline(maps, line);) {
        unsigned long begin = 0, end = 0;
        long kib = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) inside = reinterpret_cast<unsigned long>(address) - begin < end - begin;
        else if (inside && std::sscanf(line.c_str(), "ShmemPmdMapped: %ld", &kib) == 1) return kib;
    }
    return -1;
}

TEST(Arena, HasHugePagesWhereTheKernelGivesThem) {
    std::string all;
    std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/shmem_enabled"), all);
    if (all.empty() || all.find("[never]") != all.npos || all.find("[deny]") != all.npos) GTEST_SKIP() << "shmem_enabled: " << all;
    constexpr std::size_t bytes = 16 << 20;
    void* const block = arena::allocate(bytes);
    std::memset(block, 1, bytes);
    EXPECT_GE(huge_pages_at(block), 8 << 10);
    arena::release(block);
}

TEST(PeerArena, ReadsAndWritesWhatItsOwnerHas) {
    std::byte* const block = make(3 * mebibyte);
    fill(block, 3 * mebibyte, 5);
    const ArenaName name = arena::name();
    EXPECT_EQ(in_child([&] {
        const auto peer = PeerArena::find(name);
        if (!peer) return 1;
        if (!peer->has(there(block), 3 * mebibyte) || peer->has(there(block), std::size_t{1} << 60) || peer->has(17, 1)) return 2;
        std::byte* const here = peer->at(there(block), 3 * mebibyte);
        if (!here || !is_all(here, 3 * mebibyte, 5)) return 3;
        here[mebibyte] = std::byte{6};
        std::byte some[3];
        if (!peer->read(there(block) + mebibyte - 1, some, 3) || some[0] != std::byte{5} || some[1] != std::byte{6}) return 4;
        some[0] = std::byte{8};
        if (!peer->write(there(block) + 2 * mebibyte, some, 1)) return 5;
        return PeerArena::find(name) == peer ? 0 : 6;
    }), 0);
    EXPECT_EQ(block[mebibyte], std::byte{6});
    EXPECT_EQ(block[2 * mebibyte], std::byte{8});
    arena::release(block);
}

TEST(PeerArena, FollowsItsOwnerAsThatGrows) {
    std::byte* const first = make(page);
    *first = std::byte{1};
    const ArenaName name = arena::name();
    int go[2], done[2];
    ASSERT_TRUE(pipe(go) == 0 && pipe(done) == 0);
    const pid_t child = fork();
    if (child == 0) {
        const auto peer = PeerArena::find(name);
        std::byte* const before = peer ? peer->at(there(first), page) : nullptr;
        std::uint64_t at[2] = {};
        char said = before && *before == std::byte{1};
        if (write(done[1], &said, 1) != 1 || read(go[0], at, sizeof at) != sizeof at) _exit(1);
        const std::byte* const grown = peer->at(at[0], at[1]);
        _exit(grown && grown[at[1] - 1] == std::byte{9} && *before == std::byte{2} ? 0 : 2);
    }
    char said = 0;
    EXPECT_TRUE(read(done[0], &said, 1) == 1 && said);
    *first = std::byte{2};
    const std::uint64_t bytes = std::uint64_t{5} << 28;  // beyond what the peer has reserved; a page of it is used
    std::byte* const grown = make(bytes);
    ASSERT_NE(grown, nullptr);
    grown[bytes - 1] = std::byte{9};
    const std::uint64_t at[2] = {there(grown), bytes};
    EXPECT_EQ(write(go[1], at, sizeof at), static_cast<ssize_t>(sizeof at));
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    for (const int fd : {go[0], go[1], done[0], done[1]}) close(fd);
    arena::release(grown);
    arena::release(first);
}

TEST(PeerArena, WithoutAddressesReadsAndWritesAllTheSame) {
    std::byte* const block = make(mebibyte);
    fill(block, mebibyte, 4);
    const ArenaName name = arena::name();
    EXPECT_EQ(in_child([&] {
        const auto peer = PeerArena::find(name);
        const rlimit none{mebibyte, mebibyte};
        if (!peer || setrlimit(RLIMIT_AS, &none) != 0) return 1;
        std::byte some{};
        if (peer->at(there(block), page) || peer->at(there(block), page)) return 2;
        return peer->read(there(block) + 12345, &some, 1) && some == std::byte{4} && peer->write(there(block), &some, 1) ? 0 : 3;
    }), 0);
    arena::release(block);
}

TEST(PeerArena, ReadsAndWritesWhereSignalsInterruptIt) {
    std::byte* const block = make(page);
    fill(block, page, 4);
    const ArenaName name = arena::name();
    EXPECT_EQ(in_child([&] {
        const auto peer = PeerArena::find(name);
        std::byte some{};
        interruptions = 3;
        if (!peer || !peer->read(there(block) + 1, &some, 1) || some != std::byte{4} || interruptions) return 1;
        interruptions = 3;
        return peer->write(there(block), &some, 1) && !interruptions ? 0 : 2;
    }), 0);
    arena::release(block);
}

TEST(PeerArena, IsFoundByTheRightNumberAlone) {
    ASSERT_NE(arena::name().bytes, 0u);
    EXPECT_EQ(in_child([name = arena::name()] {
        ArenaName other = name;
        ++other.number;
        if (PeerArena::find(other)) return 1;
        other = name, ++other.pid_namespace;
        if (PeerArena::find(other)) return 2;
        other = name, other.bytes -= page;
        if (PeerArena::find(other)) return 3;
        return PeerArena::find({}) ? 4 : 0;
    }), 0);
    const auto own = PeerArena::find(arena::name());
    ASSERT_TRUE(own);
    std::byte* const block = make(page);
    EXPECT_EQ(own->at(there(block), page), block);
    arena::release(block);
}

TEST(PeerArena, OutlivesItsOwner) {
    int to[2], from[2];
    ASSERT_TRUE(pipe(to) == 0 && pipe(from) == 0);
    struct Said {
        ArenaName name;
        std::uint64_t block;
    } said{};
    const pid_t owner = fork();
    if (owner == 0) {
        std::byte* const block = make(mebibyte);
        fill(block, mebibyte, 3);
        const Said here{arena::name(), there(block)};
        char end = 0;
        if (write(from[1], &here, sizeof here) != sizeof here || read(to[0], &end, 1) != 1) _exit(1);
        _exit(0);
    }
    ASSERT_EQ(read(from[0], &said, sizeof said), static_cast<ssize_t>(sizeof said));
    const auto peer = PeerArena::find(said.name);
    ASSERT_TRUE(peer);
    kill(owner, SIGKILL);
    waitpid(owner, nullptr, 0);
    std::byte* const here = peer->at(said.block, mebibyte);
    ASSERT_NE(here, nullptr);
    EXPECT_TRUE(is_all(here, mebibyte, 3));
    for (const int fd : {to[0], to[1], from[0], from[1]}) close(fd);
}

}  // namespace
}  // namespace fanlight
