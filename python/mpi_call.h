// One call of a collective: its arrays, checked, and what the library's function gets.
#pragma once

#include "mpi_library.h"

namespace fanlight::python {

struct Call {
    const Operation* operation = nullptr;
    Comm comm;
    Buffer input, output;
    nanobind::object result = nanobind::none();
    const void* send = nullptr;
    void* receive = nullptr;
    int count = 0;  // of one block
    Word type = 0, op = 0;
    int root = 0;
    Signature signature;

    [[noreturn]] void wrong(const std::string& what) const { throw nanobind::value_error((operation->name + (": " + what)).c_str()); }

    template <class... Arguments>
    static int call(void* function, Word* request, Arguments... arguments) {
        if (request) return reinterpret_cast<int (*)(Arguments..., Word*)>(function)(arguments..., request);
        return reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
    }
    int start(Word* request) const {
        void* const f = request ? operation->nonblocking : operation->blocking;
        switch (operation->kind) {
            case Kind::barrier: return call(f, request, comm.handle);
            case Kind::bcast: return call(f, request, receive, count, type, root, comm.handle);
            case Kind::reduce: return call(f, request, send, receive, count, type, op, root, comm.handle);
            case Kind::allreduce: return call(f, request, send, receive, count, type, op, comm.handle);
            case Kind::movement: return call(f, request, send, count, type, receive, count, type, comm.handle);
            case Kind::rooted_movement: return call(f, request, send, count, type, receive, count, type, root, comm.handle);
        }
        return 0;
    }

    void prepare(nanobind::handle x, nanobind::handle out, nanobind::handle with, int with_root);

private:
    bool at_root() const { return comm.rank == root; }
    void take_input(nanobind::handle x) { input.take(x, false, operation->name, "x"); }
    // What the caller gave for it, or a new array; of the input's elements.
    void take_output(nanobind::handle out, nanobind::handle x, std::vector<Py_ssize_t> shape);
    void moved(const Buffer& block, std::size_t bytes);
    void reduced(const Buffer& vector, std::size_t elements, nanobind::handle with);
    void in_place_or_in_library(bool may_be_in_place);
};

}  // namespace fanlight::python
