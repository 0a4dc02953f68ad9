#include "buffer.h"

namespace nb = nanobind;

namespace fanlight::python {

void Buffer::take(nb::handle object, bool writable, const char* function, const char* argument, const char* format) {
    format_ = format;
    const auto text = [&](const std::string& what) { return std::string(function) + ": `" + argument + "` " + what; };
    if (object.is_none()) throw nb::type_error(text("is missing").c_str());
    if (PyObject_GetBuffer(object.ptr(), &view_, format ? PyBUF_STRIDES : PyBUF_FULL_RO) != 0) {
        view_.obj = nullptr;
        PyErr_Clear();
        throw nb::type_error(text(std::string("is no array that MPI can take, but a ") + Py_TYPE(object.ptr())->tp_name +
                                  " without (or with a dtype without) the buffer protocol").c_str());
    }
    if (!PyBuffer_IsContiguous(&view_, 'C'))
        throw nb::value_error(text("of shape " + shape_text() + " is not C-contiguous: numpy.ascontiguousarray makes a copy that is").c_str());
    if (writable && view_.readonly) throw nb::value_error(text("is read-only").c_str());
}

void Buffer::take_new(nb::handle array) {
    if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_WRITABLE) != 0) {
        view_.obj = nullptr;
        throw nb::python_error();
    }
}

bool Buffer::has_objects() const {
    // Names of fields stand between colons.
    bool in_name = false;
    for (const char c : format()) {
        if (c == ':') in_name = !in_name;
        if (c == 'O' && !in_name) return true;
    }
    return false;
}

std::string Buffer::native_element() const {
    std::string_view f = format();
    if (f.size() > 1 && (f[0] == '@' || f[0] == '=' || f[0] == '<')) f.remove_prefix(1);
    char kind = 0;
    if (f.size() == 1) {
        if (std::string_view("bhilq").find(f[0]) != std::string_view::npos) kind = 'i';
        else if (std::string_view("BHILQ").find(f[0]) != std::string_view::npos) kind = 'u';
        else if (std::string_view("fdg").find(f[0]) != std::string_view::npos) kind = 'f';
        else if (f[0] == '?') kind = 'b';
    } else if (f == "Zf" || f == "Zd") {
        kind = 'c';
    }
    return kind ? kind + std::to_string(view_.itemsize) : std::string();
}

std::string Buffer::element() const {
    const std::string native = native_element();
    return native.empty() ? "'" + std::string(format()) + "'" : native;
}

std::string Buffer::text_of(const std::vector<Py_ssize_t>& shape) {
    std::string text;
    for (const Py_ssize_t n : shape) text += (text.empty() ? "" : ", ") + std::to_string(n);
    return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace fanlight::python
