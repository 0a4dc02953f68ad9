#include "execute/copy_speed.h"

#include <sys/uio.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace fanlight {

namespace {

constexpr std::size_t blocks_wanted = 5, block_bytes = 64 * 1024, touched_every = 4096;

template <class F>
double microseconds(F&& f) {
    const auto start = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> times) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

// Pages that this process has not used yet cost more than all copies.
void touch(const std::byte* memory, std::size_t bytes) {
    const auto* const m = reinterpret_cast<const volatile unsigned char*>(memory);
    for (std::size_t i = 0; i < bytes; i += touched_every) static_cast<void>(m[i]);
}

}  // namespace

CopySpeed::CopySpeed(const SharedSlots& slots, int rank)
    : shared_slots_(slots),
      count_(std::min<std::size_t>(blocks_wanted, slots.areas())),
      bytes_(std::min(block_bytes, slots.staging_bytes())),
      memory_(count_ * bytes_) {
    for (std::size_t i = 0; i < count_; ++i) {
        std::byte* const block = memory_.data() + i * bytes_;
        const auto stage = [&] { std::memcpy(staging(i, rank), block, bytes_); };
        stage();
        std::memset(block, static_cast<int>(i) + 1, bytes_);
        in_.push_back(microseconds(stage));
    }
}

bool CopySpeed::single_copy_is_faster(int peer, pid_t pid, std::uint64_t blocks) {
    std::vector<std::byte> here(bytes_);
    std::vector<double> out, once;
    for (std::size_t i = 0; i < count_; ++i) {
        touch(staging(i, peer), bytes_);
        out.push_back(microseconds([&] { std::memcpy(here.data(), staging(i, peer), bytes_); }));
        const iovec mine{here.data(), bytes_};
        const iovec theirs{reinterpret_cast<void*>(blocks + i * bytes_), bytes_};
        ssize_t n = 0;
        once.push_back(microseconds([&] { n = process_vm_readv(pid, &mine, 1, &theirs, 1, 0); }));
        if (n != static_cast<ssize_t>(bytes_)) return false;
    }
    return median(once) < median(in_) + median(out);
}

}  // namespace fanlight
