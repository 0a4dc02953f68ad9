#include "memory/segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "memory/shared_file.h"
#include "topology/free_memory.h"

// In place of the C library's: interrupted so many times by a signal.
static int interruptions = 0;
extern "C" int posix_fallocate(int file, off_t from, off_t bytes) {
    if (interruptions > 0) return --interruptions, EINTR;
    return syscall(SYS_fallocate, file, 0, from, bytes) == 0 ? 0 : errno;
}

namespace fanlight {
namespace {

// Whether an object of this name is in /dev/shm.
bool exists(const std::string& name) { return std::filesystem::exists("/dev/shm" + name); }

// What lies in a /dev/shm that only this process uses (see own_shared_memory).
int left_behind() {
    int n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/dev/shm")) ++n;
    return n;
}

// Gives this process, a child, a /dev/shm of its own; false where that is not allowed.
bool own_shared_memory(const char* options) {
    return geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount("tmpfs", "/dev/shm", "tmpfs", 0, options) == 0;
}

// Runs `body` in a child and returns its exit status, -1 for a signal.
template <class Body>
int in_child(Body&& body) {
    const pid_t child = fork();
    if (child == 0) _exit(body());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr int skip = 77;

Segment make_in_dev_shm(std::size_t bytes, std::error_code& error, Segment::Pages pages = Segment::Pages::ordinary) {
    return Segment::create(bytes, error, pages, Segment::Place::dev_shm);
}

TEST(Segment, IsZeroedAlignedAndAsLongAsAskedFor) {
    std::error_code error;
    Segment s = make_in_dev_shm(100'001, error);
    ASSERT_TRUE(s) << error.message();
    ASSERT_EQ(s.bytes().size(), 100'001u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(s.bytes().data()) % 4096, 0u);
    EXPECT_TRUE(std::all_of(s.bytes().begin(), s.bytes().end(),
                            [](std::byte b) { return b == std::byte{0}; }));
    EXPECT_TRUE(exists(s.name()));
    EXPECT_EQ(std::filesystem::status("/dev/shm" + s.name()).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

// A profiler's timer.
TEST(Segment, IsMadeWhereSignalsInterruptIt) {
    std::error_code error;
    interruptions = 3;
    const Segment made = make_in_dev_shm(100'000, error);
    EXPECT_FALSE(error) << error.message();
    EXPECT_EQ(interruptions, 0);
    ASSERT_EQ(made.bytes().size(), 100'000u);
    std::memset(made.bytes().data(), 1, 100'000);
}

// Those before 6.3.
TEST(Segment, HasNoNameUnderKernelsThatDoNotKnowTheFlag) {
    const int result = in_child([] {
        constexpr unsigned flag = 8;  // MFD_NOEXEC_SEAL
        sock_filter filter[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 3),
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])),    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flag, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),                  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
        const sock_fprog program{6, filter};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return skip;
        if (memfd_create("x", MFD_CLOEXEC | flag) >= 0 || errno != EINVAL) return 2;
        std::error_code error;
        return make_shared_file(false, error).name.starts_with("memfd:") ? 0 : 3;
    });
    if (result == skip) GTEST_SKIP() << "no seccomp here";
    EXPECT_EQ(result, 0);
}

TEST(Segment, AnotherProcessSeesTheSameBytes) {
    for (const auto place : {Segment::Place::anywhere, Segment::Place::dev_shm}) {
        std::error_code error;
        Segment s = Segment::create(8192, error, Segment::Pages::ordinary, place);
        ASSERT_TRUE(s);
        const bool named = place == Segment::Place::dev_shm;
        EXPECT_EQ(exists(s.name()), named);
        s.bytes()[8191] = std::byte{42};
        EXPECT_EQ(in_child([&] {
            std::error_code e;
            Segment other = Segment::open(s.name(), e);
            if (!other || other.bytes().size() != 8192 || other.bytes()[8191] != std::byte{42}) return 1;
            other.bytes()[0] = std::byte{43};
            return 0;
        }), 0);
        EXPECT_EQ(s.bytes()[0], std::byte{43});
        EXPECT_TRUE(Segment::open(s.name(), error)) << "who opens a segment does not remove it";
        s.unlink();
        EXPECT_FALSE(exists(s.name()));
        s.bytes()[1] = std::byte{44};  // still mapped
        EXPECT_FALSE(Segment::open(s.name(), error));
        EXPECT_EQ(error, named ? std::errc::no_such_file_or_directory : std::errc::cross_device_link);
    }
}

// What others find one without a name by: its maker's process, its descriptor, its number.
TEST(Segment, OneWithoutANameIsReachedInItsOwnNamespacesAlone) {
    std::error_code error;
    const Segment s = Segment::create(4096, error);
    ASSERT_TRUE(s);
    const auto opened = [&](int namespaces, bool has_child) {
        return in_child([&] {
            if (geteuid() != 0 || unshare(namespaces) != 0) return skip;
            const auto look = [&] {
                std::error_code e;
                if (Segment::open(s.name(), e)) return 1;
                return e == std::errc::cross_device_link ? 0 : 2;
            };
            if (!has_child) return look();
            // /proc shows the ids of the namespace in which it was mounted.
            return in_child([&] {
                if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 || mount("proc", "/proc", "proc", 0, nullptr) != 0) return skip;
                return look();
            });
        });
    };
    if (const int result = opened(CLONE_NEWIPC, false); result != skip) EXPECT_EQ(result, 0);
    if (const int result = opened(CLONE_NEWPID | CLONE_NEWNS, true); result != skip) EXPECT_EQ(result, 0);
    // Another one's that has the same place: a process id of another host.
    std::string other = s.name();
    other.back() = other.back() == '0' ? '1' : '0';
    EXPECT_FALSE(Segment::open(other, error));
    EXPECT_EQ(error, std::errc::cross_device_link);
    EXPECT_FALSE(Segment::open("memfd:1:0:0123456789abcdef", error));
    EXPECT_EQ(error, std::errc::cross_device_link);
}

TEST(Segment, TheNameGoesWithItsMaker) {
    std::error_code error;
    std::string name;
    {
        Segment a = make_in_dev_shm(1, error);
        name = a.name();
        Segment b = std::move(a);
        EXPECT_FALSE(a);  // NOLINT: that is what is tested
        EXPECT_TRUE(a.bytes().empty());
        EXPECT_TRUE(b);
        EXPECT_EQ(b.name(), name);
        Segment c;
        c = std::move(b);
        EXPECT_TRUE(exists(name));
        c = Segment{};
        EXPECT_FALSE(c);
    }
    EXPECT_FALSE(exists(name));
}

TEST(Segment, WhatAKilledProcessLeftIsRemovedAndNothingElse) {
    struct Maker {
        pid_t pid;
        std::string name;
    };
    // A process that has made a segment two minutes ago, and waits to be killed.
    const auto maker = [] {
        int name[2];
        EXPECT_EQ(pipe(name), 0);
        const pid_t child = fork();
        if (child == 0) {
            std::error_code error;
            const Segment s = make_in_dev_shm(5000, error);
            const auto past = std::filesystem::file_time_type::clock::now() - std::chrono::minutes(2);
            std::filesystem::last_write_time("/dev/shm" + s.name(), past, error);
            if (write(name[1], s.name().data(), s.name().size()) < 0) _exit(1);
            for (;;) pause();
        }
        char text[100] = "";
        EXPECT_GT(read(name[0], text, sizeof text - 1), 0);
        close(name[0]);
        close(name[1]);
        return Maker{child, text};
    };
    const auto end = [](const Maker& m) {
        kill(m.pid, SIGKILL);
        waitpid(m.pid, nullptr, 0);
    };
    const Maker alive = maker(), dead = maker();
    end(dead);
    ASSERT_TRUE(exists(dead.name));
    ASSERT_TRUE(exists(alive.name));
    EXPECT_EQ(in_child([&] {
        std::error_code error;
        const Segment s = make_in_dev_shm(5000, error);
        return s ? 0 : 1;
    }), 0);
    EXPECT_FALSE(exists(dead.name));
    EXPECT_TRUE(exists(alive.name));
    end(alive);
    shm_unlink(alive.name.c_str());
}

TEST(Segment, NamesDiffer) {
    std::error_code error;
    const Segment a = Segment::create(1, error), b = Segment::create(1, error);
    EXPECT_NE(a.name(), b.name());
}

TEST(SegmentRed, NamesThatAreNotOurs) {
    std::error_code error;
    for (const char* name : {"", "/", "fanlight-0-0123456789abcdef", "/fanlight-0-123",
                             "/fanlight-0-0123456789abcdeg", "/fanlight-0/0123456789abcdef",
                             "/psm-0-0123456789abcdef", "memfd:", "memfd:1:2", "memfd:1:2:0123"}) {
        EXPECT_FALSE(Segment::open(name, error)) << name;
        EXPECT_EQ(error, std::errc::invalid_argument) << name;
    }
}

// Makes an object that has a right name, with `bytes` bytes copied from `model`, and `change`
// applied to them; returns why open refuses it.
template <class Change>
std::error_code forged(const std::string& name, const Segment& model, std::size_t bytes,
                       Change&& change) {
    const int fd = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
    EXPECT_EQ(ftruncate(fd, static_cast<off_t>(bytes)), 0);
    if (bytes >= 4096) {
        void* to = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        std::memcpy(to, model.bytes().data() - 4096, 4096);
        change(fd, static_cast<std::uint64_t*>(to));
        munmap(to, bytes);
    }
    close(fd);
    std::error_code error;
    const Segment s = Segment::open(name, error);
    EXPECT_EQ(static_cast<bool>(s), !error);
    shm_unlink(name.c_str());
    return error;
}

TEST(SegmentRed, AForgedSegmentIsRefused) {
    std::error_code error;
    Segment model = make_in_dev_shm(4096, error);
    ASSERT_TRUE(model);
    model.unlink();
    const std::string same = model.name();
    std::string other = same;
    other.back() = other.back() == '0' ? '1' : '0';
    const auto nothing = [](int, std::uint64_t*) {};
    // What is not changed is accepted: the checks below fail for their own reason.
    EXPECT_FALSE(forged(same, model, 8192, nothing));
    // Another host's segment, which has the name of ours but not its number.
    EXPECT_EQ(forged(other, model, 8192, nothing), std::errc::bad_message);
    EXPECT_EQ(forged(same, model, 8192, [](int, std::uint64_t* h) { ++h[0]; }), std::errc::bad_message);
    EXPECT_EQ(forged(same, model, 8192, [](int, std::uint64_t* h) { ++h[1]; }), std::errc::bad_message);
    EXPECT_EQ(forged(same, model, 8192, [](int, std::uint64_t* h) { ++h[2]; }), std::errc::bad_message);
    EXPECT_EQ(forged(same, model, 12288, nothing), std::errc::bad_message);
    EXPECT_EQ(forged(same, model, 4096, nothing), std::errc::bad_message);
    EXPECT_EQ(forged(same, model, 100, nothing), std::errc::bad_message);
    EXPECT_EQ(forged(same, model, 0, nothing), std::errc::bad_message);
    if (geteuid() == 0) {
        EXPECT_EQ(forged(same, model, 8192, [](int fd, std::uint64_t*) {
            EXPECT_EQ(fchown(fd, 1, 1), 0);
        }), std::errc::permission_denied);
    }
}

// An emulator's own memory is in the way of this limit.
[[maybe_unused]] bool addresses_are_limited() {
    return in_child([] {
        const rlimit little{1, RLIM_INFINITY};
        return setrlimit(RLIMIT_AS, &little) == 0 && mmap(nullptr, 16 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? 0 : 1;
    }) == 0;
}

TEST(SegmentRed, LimitsOfTheProcessLeaveNothingBehind) {
    const auto fails = [](int resource, rlim_t limit, std::size_t bytes, std::errc expected) {
        return in_child([=] {
            const bool own = own_shared_memory("size=64M");
            rlimit r{};
            getrlimit(resource, &r);
            r.rlim_cur = limit;
            void* volatile room = std::malloc(100 << 10);  // for names and files, whatever the heap has left
            std::free(room);
            if (setrlimit(resource, &r) != 0) return 1;
            for (const auto place : {Segment::Place::anywhere, Segment::Place::dev_shm}) {
                std::error_code error;
                const Segment s = Segment::create(bytes, error, Segment::Pages::ordinary, place);
                if (s || !s.name().empty() || error != expected) return 2;
            }
            r.rlim_cur = r.rlim_max;
            setrlimit(resource, &r);
            return own && left_behind() != 0 ? 3 : 0;
        });
    };
    EXPECT_EQ(fails(RLIMIT_NOFILE, 0, 4096, std::errc::too_many_files_open), 0);
    EXPECT_EQ(fails(RLIMIT_FSIZE, 65536, 1 << 20, std::errc::file_too_large), 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    if (addresses_are_limited()) {
        EXPECT_EQ(fails(RLIMIT_AS, 1, 16 << 20, std::errc::not_enough_memory), 0);
    }
#endif
    std::error_code error;
    EXPECT_FALSE(Segment::create(SIZE_MAX - 100, error));
    EXPECT_EQ(error, std::errc::file_too_large);
}

TEST(SegmentRed, ASmallSharedMemoryIsAnErrorAndNoSigbus) {
    const int result = in_child([] {
        if (!own_shared_memory("size=1M")) return skip;
        std::error_code error;
        for (int i = 0; i < 3; ++i) {
            if (make_in_dev_shm(std::size_t{4} << 20, error)) return 1;
            if (error != std::errc::no_space_on_device) return 2;
            if (left_behind() != 0) return 3;
        }
        // What fits is served, down to its last byte; then the rest does not fit any more.
        const Segment s = make_in_dev_shm(768 << 10, error);
        if (!s || error) return 4;
        std::memset(s.bytes().data(), 1, s.bytes().size());
        if (make_in_dev_shm(768 << 10, error) || left_behind() != 1) return 5;
        // What has no name does not come from there.
        const Segment other = Segment::create(std::size_t{4} << 20, error);
        if (!other || left_behind() != 1) return 6;
        std::memset(other.bytes().data(), 1, other.bytes().size());
        return 0;
    });
    if (result == skip) GTEST_SKIP() << "needs root and a mount namespace";
    EXPECT_EQ(result, 0);
}

// For what it cannot give the kernel would end somebody.
TEST(SegmentRed, MoreThanIsFreeIsNotAskedFor) {
    const std::size_t free = free_memory();
    if (free > std::size_t{1} << 50) GTEST_SKIP() << "nothing says how much is free";
    for (const auto place : {Segment::Place::anywhere, Segment::Place::dev_shm}) {
        std::error_code error;
        EXPECT_FALSE(Segment::create(free + (std::size_t{1} << 30), error, Segment::Pages::ordinary, place));
        EXPECT_EQ(error, std::errc::not_enough_memory);
        Segment later = Segment::create(free * 2, error, Segment::Pages::later, place);
        ASSERT_TRUE(later);
        EXPECT_FALSE(later.reserve(0, 1 << 20));
        EXPECT_EQ(later.reserve(0, free + (std::size_t{1} << 30)), std::errc::not_enough_memory);
    }
}

TEST(SegmentGreen, WhatIsReservedLaterIsSharedAndTakesNoMemoryBefore) {
    const int result = in_child([] {
        if (!own_shared_memory("size=1M")) return skip;
        std::error_code error;
        Segment s = make_in_dev_shm(std::size_t{16} << 20, error, Segment::Pages::later);
        if (!s || error) return 1;
        const Segment other = Segment::open(s.name(), error);
        if (!other || error) return 2;
        if (s.reserve(0, 512 << 10) || s.reserve(0, 512 << 10)) return 3;
        std::memset(s.bytes().data(), 7, 512 << 10);
        if (other.bytes()[(512 << 10) - 1] != std::byte{7}) return 4;
        return s.reserve(0, 8 << 20) == std::errc::no_space_on_device ? 0 : 5;
    });
    if (result == skip) GTEST_SKIP() << "needs root and a mount namespace";
    EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace fanlight
