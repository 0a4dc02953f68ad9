// An array of Python's: what has the buffer protocol.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fanlight::python {

class Buffer {
public:
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    ~Buffer() {
        if (view_.obj) PyBuffer_Release(&view_);
    }

    // Throws, by the names of the function and its argument, where it is no array, not contiguous or not writable.
    // `format`: what is known to be its elements', outlives this.
    void take(nanobind::handle object, bool writable, const char* function, const char* argument, const char* format = nullptr);
    // A new array of our own, of which nothing is to be known but where it lies.
    void take_new(nanobind::handle array);
    bool taken() const { return view_.obj; }

    void* data() const { return view_.buf; }
    std::size_t bytes() const { return static_cast<std::size_t>(view_.len); }
    std::size_t element_bytes() const { return static_cast<std::size_t>(view_.itemsize); }
    std::size_t elements() const { return view_.itemsize ? bytes() / element_bytes() : 0; }
    int dimensions() const { return view_.ndim; }
    const Py_ssize_t* shape() const { return view_.shape; }
    bool has_shape(const std::vector<Py_ssize_t>& other) const { return std::vector(shape(), shape() + dimensions()) == other; }
    std::string_view format() const { return format_ ? format_ : view_.format ? view_.format : "B"; }
    bool has_objects() const;

    // As numpy names it: "f8", "i4"; empty for a structure or another byte order.
    std::string native_element() const;
    // For messages.
    std::string element() const;
    std::string shape_text() const { return text_of(std::vector(shape(), shape() + dimensions())); }
    static std::string text_of(const std::vector<Py_ssize_t>& shape);

private:
    Py_buffer view_{};
    const char* format_ = nullptr;
};

}  // namespace fanlight::python
