#include "collective/buffers.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace fanlight {

namespace {

// From the first byte of the elements to behind the last one's, in the host's memory.
class HostCopy {
public:
    explicit HostCopy(const Elements& e)
        : first_(static_cast<const std::byte*>(e.memory) + std::min<std::ptrdiff_t>(e.datatype->true_lb, e.datatype->true_lb + last(e))),
          bytes_(static_cast<std::size_t>(std::abs(last(e))) + e.datatype->true_extent),
          copy_(bytes_),
          shift_(copy_.data() - first_) {
        device_memory::copy(copy_.data(), first_, bytes_);
    }
    std::byte* place(const void* memory) { return static_cast<std::byte*>(const_cast<void*>(memory)) + shift_; }
    void bring_back() const { device_memory::copy(const_cast<std::byte*>(first_), copy_.data(), bytes_); }

private:
    static std::ptrdiff_t last(const Elements& e) { return (e.count - 1) * e.datatype->extent; }
    const std::byte* first_;
    std::size_t bytes_;
    std::vector<std::byte> copy_;
    std::ptrdiff_t shift_;
};

}  // namespace

void Elements::pack(std::byte* packed) const {
    const auto n = static_cast<std::size_t>(count);
    if (bytes() == 0) return;
    if (datatype->contiguous) device_memory::copy(packed, memory, bytes());
    else if (on_device) fanlight::pack(*datatype, HostCopy(*this).place(memory), n, packed);
    else fanlight::pack(*datatype, memory, n, packed);
}

void Elements::unpack(const std::byte* packed) const {
    const auto n = static_cast<std::size_t>(count);
    void* const to = const_cast<void*>(memory);
    if (bytes() == 0) return;
    if (datatype->contiguous) return device_memory::copy(to, packed, bytes());
    if (!on_device) return fanlight::unpack(*datatype, packed, to, n);
    HostCopy copy(*this);  // with what lies between the elements
    fanlight::unpack(*datatype, packed, copy.place(to), n);
    copy.bring_back();
}

}  // namespace fanlight
