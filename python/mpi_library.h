// What fanlight._mpi calls: Fanlight's library and the MPI library that the process has loaded, known since use().
//
// One build for all MPIs: a handle, whatever its size, is passed as a machine word (an int is the word's lower half, in
// registers and on the stack of a little-endian machine).
#pragma once

#include <nanobind/nanobind.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "buffer.h"

namespace fanlight::python {

static_assert(std::endian::native == std::endian::little);

using Word = std::uintptr_t;

// What is known since use().
struct Library {
    void* collectives = nullptr;
    void* (*handle_of_comm)(PyObject*) = nullptr;
    void* (*handle_of_op)(PyObject*) = nullptr;
    std::size_t handle_bytes = 0;
    Word comm_null = 0, in_place = 0, byte = 0, unsigned64 = 0, max = 0;
    std::vector<std::pair<std::string, Word>> elements;  // "f8" and so on
    std::vector<Word> operators;                         // MPI's own
    nanobind::object empty, as_array, exception, intercomm;
    nanobind::object dtype;       // its name, made once
    nanobind::object last_dtype;  // of allgatherv_any, with what its buffer said of it, which takes numpy as long as all the rest
    std::shared_ptr<const std::string> last_format;  // other threads may replace it during a call
    int truncated = 0;
    bool checks = true, initialized = false;

    int (*comm_size)(Word, int*) = nullptr;
    int (*comm_rank)(Word, int*) = nullptr;
    int (*is_initialized)(int*) = nullptr;
    int (*is_finalized)(int*) = nullptr;
    int (*error_class)(int, int*) = nullptr;
    int (*wait)(Word*, void*) = nullptr;
    int (*test)(Word*, int*, void*) = nullptr;
    int (*allreduce)(const void*, void*, int, Word, Word, Word) = nullptr;
    int (*allgatherv_any)(const void*, int, Word, void*, int, int*, int*, Word, Word) = nullptr;
    int (*allgatherv)(const void*, int, Word, void*, const int*, const int*, Word, Word) = nullptr;
    int (*prepare)(Word) = nullptr;
    int (*write_report)(const char*) = nullptr;
    int (*set_algorithm)(Word, const char*) = nullptr;
    int (*get_algorithm)(Word, const char*, long long, char*, int) = nullptr;
};
extern Library& library;

enum class Kind { barrier, bcast, reduce, allreduce, movement, rooted_movement };
struct Operation {
    const char* name;
    Kind kind;
    void* blocking = nullptr;
    void* nonblocking = nullptr;
};
enum Index { barrier, bcast, reduce, allreduce, scan, exscan, reduce_scatter_block, allgather, alltoall, gather, scatter };
extern Operation operations[11];

struct Comm {
    Word handle = 0;
    int size = 0, rank = 0;
};

// These raise by the name of the function that the program called.
void must_be_up(const char* name);
Comm comm_of(const char* name, nanobind::handle object);
Word op_of(const char* name, nanobind::handle object);
[[noreturn]] void raise_mpi(int code);

// What the ranks must agree on.
struct Signature {
    std::uint64_t hash = 0xcbf29ce484222325u;
    void add(std::string_view text) {
        for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    }
    void add(std::uint64_t number) {
        hash = (hash ^ number) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    void add(const Buffer& b, int first_axis = 0) {
        add(b.format());
        for (int i = first_axis; i < b.dimensions(); ++i) add(static_cast<std::uint64_t>(b.shape()[i]));
        add(static_cast<std::uint64_t>(b.dimensions()));
    }
};

// By all ranks: whether they gave the same.  Who has an error says so in place of it (null), so that nobody waits for it.
bool all_match(const Comm& comm, const Signature* own, int& code);
inline bool checked(const Comm& comm, bool blocking) { return blocking && library.checks && comm.size > 1; }

// `collectives`: the file of Fanlight's library, none where it is preloaded; `mpi4py`: mpi4py.MPI.
void use(const std::string& collectives, nanobind::object mpi4py);
bool preloaded();

}  // namespace fanlight::python
