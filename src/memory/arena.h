// Memory of this process that its peers on the node can map and load from: large blocks in one sparse file without a name
// (memfd), whose pages exist only where they are used.
//
// A process has one arena, whichever of Fanlight's libraries it has loaded (one_arena.h).  The first request for a block
// makes it.  A block has the same offset in the file as in the reserved addresses, so its address and ArenaName are all
// that a peer needs (peer_arena.h).
//
// A child of fork gets a copy of the file, as large as what is in use (arena_fork.cpp), and owns it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fanlight {

// How peers find it; it travels in shared memory.  All zero: there is none.
struct ArenaName {
    std::uint64_t pid = 0, pid_namespace = 0;  // whose, and in which namespace `pid` means it
    std::uint64_t fd = 0;                      // where that process has the file open
    std::uint64_t number = 0;                  // a random one, which the file carries as well
    std::uint64_t base = 0, bytes = 0;         // the reserved addresses
};

namespace arena {

// Whether all of it lies in the arena.  A few instructions, for every call and thread.
bool owns(const void* block, std::size_t bytes) noexcept;
// As aligned_alloc; null where the arena has no room, or the process may not have one (then why() says it).
// Blocks are whole pages; what is small belongs into malloc.
enum class Contents { zeroed, any };
void* allocate(std::size_t bytes, std::size_t alignment = 0, Contents = Contents::zeroed) noexcept;
// A block that allocate() returned; its pages go back to the kernel sooner or later.
void release(void* block) noexcept;
// As realloc, within the arena; null: no room, and the block is as it was.
void* resize(void* block, std::size_t bytes) noexcept;
// The bytes that a block has; 0: allocate() returned none such.
std::size_t size_of(const void* block) noexcept;
// Makes the arena, if there is none yet.
ArenaName name() noexcept;
// Why there is none; empty: there is, or nobody has asked.
const char* why() noexcept;

}  // namespace arena

// At the file's begin, in a page that has nothing else.
struct ArenaHeader {
    static constexpr std::uint64_t expected = 0x31'61'6e'65'72'61'66'6c;  // "lfarena1"
    std::uint64_t magic, number;
    std::uint64_t used;  // so many bytes of the file, and none behind, may be a block's; atomic, and only grows
    // Lines that the owner writes and its peers read now and then (execute/lending.h), and whether a peer has since.
    struct alignas(64) Line {
        std::uint64_t word;
    };
    Line was_read{};
    alignas(1024) Line lines[32]{};
};
static_assert(sizeof(ArenaHeader) <= 4096);

}  // namespace fanlight
