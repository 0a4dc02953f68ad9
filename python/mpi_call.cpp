#include "mpi_call.h"

#include <climits>

namespace nb = nanobind;

namespace fanlight::python {

void Call::take_output(nb::handle out, nb::handle x, std::vector<Py_ssize_t> shape) {
    if (out.is_none()) {
        nb::list lengths;
        for (const Py_ssize_t n : shape) lengths.append(n);
        result = library.empty(nb::tuple(lengths), nb::getattr(x, "dtype"));
    } else {
        result = nb::borrow(out);
    }
    output.take(result, true, operation->name, "out");
    if (output.format() != input.format())
        wrong("`out` has elements " + output.element() + ", `x` has " + input.element());
    if (!output.has_shape(shape)) wrong("`out` has shape " + output.shape_text() + ", needed is " + Buffer::text_of(shape));
}

void Call::moved(const Buffer& block, std::size_t bytes) {
    if (block.has_objects()) wrong("Python objects cannot be sent as an array; mpi4py's comm." + std::string(operation->name) + "() pickles them");
    const std::size_t unit = bytes % 8 == 0 ? 8 : 1;
    if (bytes / unit > INT_MAX) wrong("blocks of " + std::to_string(bytes) + " bytes are too long for MPI");
    type = unit == 8 ? library.unsigned64 : library.byte;
    count = static_cast<int>(bytes / unit);
}

void Call::reduced(const Buffer& vector, std::size_t elements, nb::handle with) {
    if (elements > INT_MAX) wrong(std::to_string(elements) + " elements are too many for MPI");
    count = static_cast<int>(elements);
    const std::string element = vector.native_element();
    for (const auto& [name, handle] : library.elements)
        if (name == element) type = handle;
    if (!type) wrong("MPI has no reduction of elements " + vector.element());
    op = op_of(operation->name, with);
    std::uint64_t number = 0;
    for (const Word known : library.operators) {
        ++number;
        if (known == op) break;
    }
    signature.add(number);
}

void Call::in_place_or_in_library(bool may_be_in_place) {
    const auto* const a = static_cast<const char*>(input.data());
    const auto* const b = static_cast<const char*>(output.data());
    if (!input.bytes() || !output.bytes() || a + input.bytes() <= b || b + output.bytes() <= a) return;
    if (!may_be_in_place || a != b || input.bytes() != output.bytes()) wrong("`x` and `out` overlap");
    send = reinterpret_cast<const void*>(library.in_place);
}

void Call::prepare(nb::handle x, nb::handle out, nb::handle with, int with_root) {
    root = with_root;
    signature.add(std::string_view(operation->name));
    signature.add(static_cast<std::uint64_t>(root));
    const auto blocks = [&](const Buffer& b) {
        if (b.dimensions() < 1 || b.shape()[0] != comm.size)
            wrong("`x` has shape " + b.shape_text() + ", but its first axis must have one block for each of the " + std::to_string(comm.size) + " ranks");
        return std::vector<Py_ssize_t>(b.shape() + 1, b.shape() + b.dimensions());
    };
    switch (operation - operations) {
        case barrier: return;
        case bcast:
            output.take(x, !at_root(), operation->name, "x");
            result = nb::borrow(x);
            signature.add(output);
            moved(output, output.bytes());
            break;
        case scatter:
            output.take(out, true, operation->name, "out");
            result = nb::borrow(out);
            signature.add(output);
            moved(output, output.bytes());
            if (!at_root()) break;
            take_input(x);
            if (input.format() != output.format()) wrong("`out` has elements " + output.element() + ", `x` has " + input.element());
            if (!output.has_shape(blocks(input))) wrong("`out` has shape " + output.shape_text() + ", a block of `x` has " + Buffer::text_of(blocks(input)));
            send = input.data();
            in_place_or_in_library(false);
            break;
        default: {
            take_input(x);
            send = input.data();
            signature.add(input);
            std::vector<Py_ssize_t> shape(input.shape(), input.shape() + input.dimensions());
            const bool reduces = operation->kind == Kind::reduce || operation->kind == Kind::allreduce;
            const bool root_only = operation->kind == Kind::reduce || operation->kind == Kind::rooted_movement;
            if (operation - operations == allgather || operation - operations == gather) {
                shape.insert(shape.begin(), comm.size);
                moved(input, input.bytes());
            } else if (operation - operations == alltoall) {
                blocks(input);
                moved(input, input.bytes() / static_cast<std::size_t>(comm.size));
            } else if (operation - operations == reduce_scatter_block) {
                shape = blocks(input);
                reduced(input, input.elements() / static_cast<std::size_t>(comm.size), with);
            } else {
                reduced(input, input.elements(), with);
            }
            if (root_only && !at_root()) break;
            take_output(out, x, std::move(shape));
            in_place_or_in_library(reduces && operation - operations != reduce_scatter_block);
        }
    }
    receive = output.data();
}

}  // namespace fanlight::python
