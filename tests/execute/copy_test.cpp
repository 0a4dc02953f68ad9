#include "execute/copy.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace fanlight {
namespace {

constexpr std::size_t room = 3 << 20;
constexpr std::byte untouched{0xa5};

// Where the first store to each page takes long, as to lines that another core has; or not.
enum class Pages { fresh, used };

void copies(void (*copy)(std::byte*, const std::byte*, std::size_t), Pages pages) {
    std::vector<std::byte> from(room);
    for (std::size_t i = 0; i < room; ++i) from[i] = static_cast<std::byte>(i * 31 >> 3);
    for (const std::size_t bytes : {0ul, 1ul, 63ul, 4096ul, 8191ul, 8192ul, 8193ul, 12289ul, 65537ul, 262144ul, (2ul << 20) + 77})
        for (const std::size_t shift : {0ul, 1ul, 63ul}) {
            void* const mapped = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            ASSERT_NE(mapped, MAP_FAILED);
            auto* const to = static_cast<std::byte*>(mapped);
            const std::byte beyond = pages == Pages::used ? untouched : std::byte{};
            if (pages == Pages::used) std::memset(to, static_cast<int>(untouched), room);
            copy(to + shift, from.data() + 7, bytes);
            EXPECT_TRUE(std::equal(to + shift, to + shift + bytes, from.data() + 7)) << bytes << " bytes at " << shift;
            EXPECT_TRUE(std::all_of(to, to + shift, [&](std::byte b) { return b == beyond; })) << bytes << " bytes at " << shift;
            EXPECT_TRUE(std::all_of(to + shift + bytes, to + room, [&](std::byte b) { return b == beyond; })) << bytes << " bytes at " << shift;
            munmap(mapped, room);
        }
}

TEST(Copy, ForAPeerCopiesAllAndNothingElse) {
    copies(copy_for_peer, Pages::used);
    copies(copy_for_peer, Pages::fresh);
}

TEST(Copy, PastTheCacheCopiesAllAndNothingElse) { copies(copy_bytes, Pages::used); }

}  // namespace
}  // namespace fanlight
