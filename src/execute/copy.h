// Copies by this process's own loads and stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fanlight {

struct Combiner;

// The bytes of this core's own (level 2) cache; at least 1 MiB.
std::size_t own_cache();

// As memmove; what is longer than this core's own cache goes past it (non-temporal stores), since
// it would only throw out what is there: measured 1.25 times memcpy's speed at 4 MiB.
void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes);

// As memcpy, by non-temporal stores.
void copy_past_the_cache(std::byte* to, const std::byte* from, std::size_t bytes);

struct Copy {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    std::size_t bytes = 0;
};
// A message by non-temporal stores, and another copy in the time that these leave.
void copy_both(Copy message, Copy other);

// What earlier copies to a peer have shown.  As long as usual stores are slow, each time twice as many copies, at most 128
// (16 where ranks share cores), are not measured.
struct PeersCache {
    std::uint8_t times_slow = 0, past_it = 0;  // in a row, at most 7; so many copies go past it unmeasured
    std::uint8_t usual = 0, usual_long = 0;    // so many short and long copies are not measured, since one was fast (copy.cpp)
    std::uint16_t past_line = 0;               // cycles of the time-stamp counter that a line past it took; 0: not known
    bool of_a_shared_core = false;             // who waits for the core as well: short copies are not measured at all
};

// As memcpy, to memory that a peer has read last and reads next.  Its cache has the lines: taking one from it for each store
// takes 28 us for 64 KiB where the cores share no cache, and non-temporal stores, which take none, 2.  Where they do share
// one, the reader finds there what was stored as usual, twice as soon.  So the beginning says how the rest goes, and where
// non-temporal stores were measured to take longer still (three times as long on an Intel Xeon), all is stored as usual.
void copy_for_peer(PeersCache&, std::byte* to, const std::byte* from, std::size_t bytes);

// The same for left (+) right, of elements of `element` bytes; `to` may be one of the operands.
void combine_for_peer(PeersCache&, const Combiner&, const std::byte* left, const std::byte* right, std::byte* to, std::size_t bytes, std::size_t element);

}  // namespace fanlight
