#include "execute/copy_speed.h"

#include <sys/uio.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "execute/copy.h"

namespace fanlight {

namespace {

constexpr std::size_t blocks_wanted = 5, block_bytes = 64 * 1024, each_page = 4096, each_line = 64, short_is = 4;
// Two copies take more than this shows: flags, pieces, and room in the caches.  Measured between two threads of one core, of
// 64 KiB: 3.5 us for both copies and 8 for the one of the kernel; but a broadcast took 7.6 us by two copies and 6.1 by one.
constexpr double most = 3;
// One copy must take less than so much of the time of two, whose pieces overlap where one rank sends to another.  And so few
// measurements are not exact: without it 7 of 50 launches found one copy faster where it takes 1.2 to 2 times as long, and a
// bcast of 1 MiB took twice as long in them.
constexpr double clearly = 0.8;

template <class F>
double microseconds(F&& f) {
    const auto start = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

// What nothing disturbed.
double least(const std::vector<double>& times) { return *std::min_element(times.begin(), times.end()); }

void touch(const std::byte* memory, std::size_t bytes, std::size_t every) {
    const auto* const m = reinterpret_cast<const volatile unsigned char*>(memory);
    for (std::size_t i = 0; i < bytes; i += every) static_cast<void>(m[i]);
}

}  // namespace

CopySpeed::CopySpeed(const SharedSlots& slots, int rank)
    : shared_slots_(slots),
      rank_(rank),
      count_(std::min<std::size_t>(blocks_wanted, slots.areas())),
      bytes_(std::min(block_bytes, slots.staging_bytes())),
      memory_(std::max(count_ * (bytes_ + bytes_ / short_is), own_cache())) {
    for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = static_cast<std::byte>(i);
    for (std::size_t i = 0; i < count_; ++i) std::memcpy(staging(i, rank), memory_.data(), bytes_);
}

bool CopySpeed::read(int peer, pid_t pid, std::uint64_t blocks) {
    std::vector<std::byte> here(bytes_);
    const std::size_t short_bytes = bytes_ / short_is;
    const auto by_the_kernel = [&](std::uint64_t address, std::size_t bytes, std::vector<double>& times) {
        const iovec mine{here.data(), bytes}, theirs{reinterpret_cast<void*>(address), bytes};
        ssize_t n = 0;
        times.push_back(microseconds([&] { n = process_vm_readv(pid, &mine, 1, &theirs, 1, 0); }));
        return n == static_cast<ssize_t>(bytes);
    };
    for (std::size_t i = 0; i < count_; ++i) {
        touch(staging(i, peer), bytes_, each_page);  // its first use costs more than all copies
        out_.push_back(microseconds([&] { std::memcpy(here.data(), staging(i, peer), bytes_); }));
        const std::uint64_t block = blocks + i * (bytes_ + short_bytes);
        if (!by_the_kernel(block, bytes_, once_) || !by_the_kernel(block + bytes_, short_bytes, once_short_)) return false;
    }
    // As other messages do before a place in the staging is used again.
    touch(memory_.data(), memory_.size(), each_line);
    return true;
}

std::size_t CopySpeed::copied_once_from() {
    std::vector<double> in;
    PeersCache cache;
    // Each second one past the caches: later on, when a rank goes round in all areas, it takes no longer than that.
    for (std::size_t i = 0; i < count_; ++i) {
        std::byte *const to = staging(i, rank_), *const from = memory_.data() + i * bytes_;
        in.push_back(microseconds([&] { i % 2 == 0 ? copy_for_peer(cache, to, from, bytes_) : copy_past_the_cache(to, from, bytes_); }));
    }
    return from_times(bytes_, least(in) + least(out_), least(once_), least(once_short_));
}

std::size_t CopySpeed::from_times(std::size_t bytes, double twice, double once, double once_short) {
    if (once > most * twice) return 0;
    const auto whole = static_cast<double>(bytes);
    // Where the line through both of its times meets that of the two copies.
    const double each = (once - once_short) / (whole - whole / short_is), begin = once - each * whole, gain = clearly * twice / whole - each;
    return gain > 0 ? static_cast<std::size_t>(std::clamp(begin / gain, double{earliest}, double{never})) : never;
}

}  // namespace fanlight
