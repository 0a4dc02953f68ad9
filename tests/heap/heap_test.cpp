// Run with libfanlight-heap.so preloaded; nothing of Fanlight is linked to it.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "memory/one_arena.h"

namespace fanlight {
namespace {

const OneArena& the_arena() {
    static const auto* const found = static_cast<const OneArena*>(dlsym(RTLD_DEFAULT, "fanlight_arena_0"));
    return *found;
}

bool is_shared(const volatile void* block) {
    return reinterpret_cast<std::uintptr_t>(block) - the_arena().base.load() < the_arena().bytes.load();
}

constexpr std::size_t small = 65535, large = 65536, mebibyte = std::size_t{1} << 20;

// The compiler must not see that a block is of no use.
template <class T>
T* kept(T* block) {
    asm volatile("" : "+r"(block) : : "memory");
    return block;
}

bool is_all(const void* block, std::size_t bytes, int with) {
    const auto* const p = static_cast<const unsigned char*>(block);
    return std::all_of(p, p + bytes, [with](unsigned char c) { return c == with; });
}

// Allocated before any library's constructor has run, and the environment is there.
void* before = nullptr;
void begin_early(int, char**, char**) { before = std::memset(std::malloc(300'000), 7, 300'000); }
[[gnu::section(".preinit_array"), gnu::used]] void (*const early)(int, char**, char**) = begin_early;

// Of this very program, with other settings and preloads.
int run_again(const std::string& test, const std::string& settings) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    const int status = system(("env " + settings + " " + self + " --gtest_also_run_disabled_tests --gtest_filter=" + test + " > /dev/null").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Heap, LongBlocksOfEveryFunctionAreShared) {
    void* aligned = nullptr;
    ASSERT_EQ(posix_memalign(&aligned, 1 << 20, large), 0);
    void* const blocks[] = {malloc(large), calloc(256, 256), realloc(nullptr, large), reallocarray(nullptr, 256, 256), aligned,
                            aligned_alloc(4096, large), memalign(64, large), valloc(large), pvalloc(large), operator new(large),
                            operator new(large, std::align_val_t{8192}), operator new[](large), strdup(std::string(large, 'x').c_str())};
    for (void* const block : blocks) {
        EXPECT_TRUE(is_shared(kept(block)));
        EXPECT_GE(malloc_usable_size(block), large);
    }
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % mebibyte, 0u);
    // Looked up, since older C libraries lack them.
    const auto free_sized = reinterpret_cast<void (*)(void*, std::size_t)>(dlsym(RTLD_DEFAULT, "free_sized"));
    const auto free_aligned_sized = reinterpret_cast<void (*)(void*, std::size_t, std::size_t)>(dlsym(RTLD_DEFAULT, "free_aligned_sized"));
    ASSERT_TRUE(free_sized && free_aligned_sized);
    free_sized(blocks[0], large);
    EXPECT_EQ(kept(malloc(large)), blocks[0]) << "it is used again";
    free_aligned_sized(blocks[0], 16, large);
    EXPECT_EQ(kept(malloc(large)), blocks[0]);
    for (void* const block : blocks) free(block);
    void* const others[] = {malloc(small), calloc(1, small), realloc(nullptr, small), memalign(4096, small), operator new(small), malloc(0)};
    for (void* const block : others) {
        EXPECT_FALSE(is_shared(kept(block)));
        free(block);
    }
    free(nullptr);
    std::vector<double> vector(100'000, 1.5);
    EXPECT_TRUE(is_shared(vector.data()));
    std::string text(200'000, 'a');
    EXPECT_TRUE(is_shared(text.data()));
}

TEST(Heap, EveryAlignmentHolds) {
    std::vector<void*> blocks;
    for (std::size_t alignment = 64; alignment <= 256 * mebibyte; alignment *= 2)
        for (int i = 0; i < 3; ++i) {
            ASSERT_EQ(posix_memalign(&blocks.emplace_back(), alignment, large), 0);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back()) % alignment, 0u) << alignment;
        }
    for (void* const block : blocks) free(block);
}

// The machine is asked for its free memory now and then, by files, which are points of cancellation.
TEST(Heap, NoThreadIsCancelledInMalloc) {
    std::atomic<bool> through = false;
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, nullptr, [](void* p) -> void* {
        static void* blocks[512];
        pthread_cancel(pthread_self());
        for (void*& block : blocks) block = kept(malloc(mebibyte));
        for (void* const block : blocks) free(block);
        *static_cast<std::atomic<bool>*>(p) = true;
        pthread_testcancel();
        return nullptr;
    }, &through), 0);
    void* result = nullptr;
    pthread_join(thread, &result);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    EXPECT_TRUE(through);
}

TEST(Heap, CallocsBlocksAreZeroedWhateverWasThere) {
    std::mt19937 random(5);
    for (int i = 0; i < 100; ++i) {
        const std::size_t bytes = large + random() % (2 * mebibyte);
        void* const dirty = malloc(bytes);
        std::memset(kept(dirty), 0xff, bytes);
        free(dirty);
        void* const clean = kept(calloc(1, bytes - random() % 5000));
        ASSERT_TRUE(is_all(clean, bytes - 5000, 0));
        free(clean);
    }
}

TEST(Heap, ReallocMovesOverTheThresholdBothWays) {
    auto* block = static_cast<char*>(malloc(1000));
    std::memset(block, 3, 1000);
    std::size_t had = 1000;
    for (const std::size_t bytes : {large, std::size_t{2000}, 5 * mebibyte, small, 100 * mebibyte, std::size_t{1000}, std::size_t{300'000}, large}) {
        block = static_cast<char*>(realloc(block, bytes));
        ASSERT_NE(block, nullptr);
        EXPECT_EQ(is_shared(block), bytes >= large);
        ASSERT_TRUE(is_all(block, std::min(had, bytes), 3));
        std::memset(block, 3, bytes);
        had = bytes;
    }
    EXPECT_EQ(realloc(block, 0), nullptr);
}

TEST(Heap, WhatCannotBeIsRefusedAsTheCLibraryDoes) {
    volatile std::size_t most = SIZE_MAX, half = SIZE_MAX / 2;
    errno = 0;
    EXPECT_EQ(kept(calloc(half, 4)), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(kept(malloc(most)), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    void* const block = malloc(large);
    std::memset(block, 1, large);
    EXPECT_EQ(kept(realloc(block, half)), nullptr);
    EXPECT_EQ(kept(reallocarray(block, half, 4)), nullptr);
    EXPECT_TRUE(is_all(block, large, 1));
    void* none = nullptr;
    EXPECT_EQ(posix_memalign(&none, 24, large), EINVAL);
    EXPECT_EQ(none, nullptr);
    errno = 17;
    free(block);
    EXPECT_EQ(errno, 17);
}

TEST(Heap, BlocksFromBeforeAreFreedAndMoved) {
    EXPECT_FALSE(is_shared(before));
    before = realloc(before, 400'000);
    EXPECT_TRUE(is_all(before, 300'000, 7));
    free(before);
}

TEST(Heap, ThreadsFreeEachOthersBlocks) {
    struct Item {
        unsigned char* block;
        std::size_t bytes;
    };
    std::vector<Item> items;
    std::mutex mutex;
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random(static_cast<unsigned>(t));
            for (int i = 0; i < 3000; ++i) {
                const std::size_t bytes = 30'000 + random() % 200'000;
                Item item{static_cast<unsigned char*>(malloc(bytes)), bytes};
                item.block[0] = item.block[bytes - 1] = static_cast<unsigned char>(bytes);
                std::lock_guard lock(mutex);
                items.push_back(item);
                if (items.size() < 20) continue;
                std::swap(items[random() % items.size()], items.back());
                const Item other = items.back();
                items.pop_back();
                if (other.block[0] != static_cast<unsigned char>(other.bytes) || other.block[other.bytes - 1] != static_cast<unsigned char>(other.bytes)) ++wrong;
                free(other.block);
            }
        });
    for (auto& thread : threads) thread.join();
    for (const Item& item : items) free(item.block);
    EXPECT_EQ(wrong, 0);
}

TEST(Heap, WhereAddressesEndMallocSaysSo) {
    if (the_arena().bytes) GTEST_SKIP() << "there is an arena already; ctest runs each test by itself";
    const pid_t child = fork();
    if (child == 0) {
        const rlimit limit{std::size_t{1} << 30, std::size_t{1} << 30};
        setrlimit(RLIMIT_AS, &limit);
        std::size_t n = 0;
        while (auto* const block = static_cast<char*>(malloc(mebibyte))) block[0] = block[mebibyte - 1] = 1, ++n;
        _exit(errno == ENOMEM && n > 100 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

// Makes this process, a child, one that may have so much memory; false where that is not allowed.
bool limit_memory(std::size_t bytes, std::string& folder) {
    for (const auto& [root, limit] : {std::pair("/sys/fs/cgroup/memory/", "memory.limit_in_bytes"), std::pair("/sys/fs/cgroup/", "memory.max")}) {
        folder = root + ("fanlight-test-" + std::to_string(getpid()));
        std::error_code error;
        if (!std::filesystem::create_directory(folder, error)) continue;
        if ((std::ofstream(folder + "/" + limit) << bytes).flush() && (std::ofstream(folder + "/cgroup.procs") << getpid()).flush()) return true;
        std::filesystem::remove(folder, error);
    }
    return false;
}

// How a child ends that does this where it may have 100 MiB; `none`: there are no control groups here.
constexpr int none = 77 << 8;
int status_in_control_group(int (*act)()) {
    std::string folder;
    int tell[2];
    if (pipe(tell) != 0) return -1;
    const pid_t child = fork();
    if (child == 0) {
        const bool limited = limit_memory(100 * mebibyte, folder);
        if (write(tell[1], folder.data(), folder.size()) < 0 || !limited) _exit(77);
        _exit(act());
    }
    char name[200] = "";
    EXPECT_GT(read(tell[0], name, sizeof name - 1), 0);
    int status = 0;
    waitpid(child, &status, 0);
    for (int i = 0; i < 100 && rmdir(name) != 0 && errno == EBUSY; ++i) usleep(10'000);
    return status;
}

// What is kept of freed blocks must not end a program that has room for those in use.
TEST(Heap, InAControlGroupWithLittleMemory) {
    if (the_arena().bytes) GTEST_SKIP() << "there is an arena already; ctest runs each test by itself";
    const int status = status_in_control_group([] {
        std::mt19937 random(2);
        void* blocks[8] = {};
        int shared = 0;
        for (int i = 0; i < 100; ++i) {
            void*& block = blocks[random() % 8];
            free(block);
            const std::size_t bytes = large + random() % (7 * mebibyte);
            if (!(block = malloc(bytes))) return 1;
            std::memset(kept(block), i, bytes);
            shared += is_shared(block);
        }
        return shared > 50 ? 0 : 2;
    });
    if (status == none) GTEST_SKIP() << "no control group for memory";
    EXPECT_EQ(status, 0);
}

// Where a control group has no more, no block is the arena's, of which a page that cannot be had would be SIGBUS.
TEST(Heap, AtTheLimitOfAControlGroupNoBlockIsShared) {
    if (the_arena().bytes) GTEST_SKIP() << "there is an arena already; ctest runs each test by itself";
    const int status = status_in_control_group([] {
        int shared = 0;
        for (void* block; is_shared(block = malloc(2 * mebibyte)); ++shared) {
            if (shared == 60) return 1;
            std::memset(kept(block), 1, 2 * mebibyte);
        }
        return shared > 20 ? 0 : 2;
    });
    if (status == none) GTEST_SKIP() << "no control group for memory";
    EXPECT_EQ(status, 0);
}

// What run_again() runs.
TEST(HeapOtherwise, DISABLED_IsOff) {
    void* const block = malloc(large);
    EXPECT_FALSE(is_shared(kept(block)));
    EXPECT_NE(std::string(reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "fanlight_heap"))()), "");
    free(block);
}
TEST(HeapOtherwise, DISABLED_IsAnothers) {
    const auto* const blocks = static_cast<const int*>(dlsym(RTLD_DEFAULT, "others_blocks"));
    ASSERT_NE(blocks, nullptr);
    const int had = *blocks;
    void* block = kept(malloc(large));
    EXPECT_FALSE(is_shared(block));
    block = kept(realloc(block, 2 * large));
    EXPECT_GT(*blocks, had + 1);
    EXPECT_EQ(std::string(reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "fanlight_heap"))()).find("another"), 0u);
    free(block);
}
TEST(HeapOtherwise, DISABLED_BeginsAtOneMebibyte) {
    void* const shorter = malloc(mebibyte - 1);
    void* const longer = malloc(mebibyte);
    EXPECT_FALSE(is_shared(kept(shorter)));
    EXPECT_TRUE(is_shared(kept(longer)));
    free(shorter);
    free(longer);
}

TEST(Heap, IsOffWhereTheSettingSaysSo) {
    for (const char* off : {"off", "no", "0"}) EXPECT_EQ(run_again("*DISABLED_IsOff", std::string("FANLIGHT_HEAP=") + off), 0) << off;
    for (const char* shared : {"shared", "auto", ""}) EXPECT_NE(run_again("*DISABLED_IsOff", std::string("FANLIGHT_HEAP=") + shared), 0) << shared;
}

TEST(Heap, BeginsWhereTheSettingSays) { EXPECT_EQ(run_again("*DISABLED_BeginsAtOneMebibyte", "FANLIGHT_HEAP_FROM=1M"), 0); }

// The library's own blocks are not shared, or it would come from within itself.
TEST(Heap, StandsTheShortestBlocks) { EXPECT_EQ(run_again("Heap.Callocs*:Heap.Threads*:Heap.What*", "FANLIGHT_HEAP_FROM=1"), 0); }

TEST(Heap, StaysOutWhereAnotherMallocIs) {
    const std::string heap = std::getenv("LD_PRELOAD");
    EXPECT_EQ(run_again("*DISABLED_IsAnothers", "LD_PRELOAD=" + heap + ":" FANLIGHT_OTHER_MALLOC), 0);
    EXPECT_EQ(run_again("*DISABLED_IsAnothers", "LD_PRELOAD=" FANLIGHT_OTHER_MALLOC ":" + heap), 0);
}

}  // namespace
}  // namespace fanlight
