// What the functions of MPI_T share: mpi_t_performance.cpp, mpi_t_control.cpp, mpi_t_categories.cpp.
//
// MPI has no function that adds a variable to a library's own, so the preload stands in for those that list and use them.
// A tool sees Fanlight's behind the MPI library's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include "collective/interposition.h"
#include "collective/mpi_header.h"
#include "preload/next.h"

namespace fanlight::mpi_t {

// The report's names of all collective functions (generated).
std::span<const char* const> collective_functions();

// `next`: the MPI library's function.
#define FANLIGHT_NEXT(function) static constinit ::fanlight::Next<decltype(&::function)> next(#function)

// As MPI_T gives out a text: cut to *length characters with the 0 at its end; *length becomes what all of it needs.
void give(std::string_view text, char* out, int* length);
template <class Value>
void give(Value value, Value* out) {
    if (out) *out = value;
}

// A variable's value in a tool's buffer.
template <class Value>
void put(void* buffer, Value value) {
    std::memcpy(buffer, &value, sizeof value);
}
template <class Value>
Value get(const void* buffer) {
    Value value;
    std::memcpy(&value, buffer, sizeof value);
    return value;
}

// The numbers that a tool uses.  A number means the same variable for ever, and the MPI library may get more variables later
// (Open MPI does, in MPI_Init).  So ours follow those that it has when it is first asked, and its later ones follow ours.
class Numbering {
public:
    constexpr Numbering(const char* get_num, int (*ours)()) : library_(get_num), ours_(ours) {}

    // MPI_T_xxx_get_num.
    int get_num(int* number);
    // MPI_T_xxx_get_index: `is_it(i)` for Fanlight's i-th; else ask_library(), which sets `index`.
    template <class IsIt, class AskLibrary>
    int get_index(const char* name, int* index, IsIt&& is_it, AskLibrary&& ask_library) {
        for (int i = 0; name && index && is_known() && i < ours_(); ++i)
            if (is_it(static_cast<std::size_t>(i))) return *index = of_own(i), MPI_SUCCESS;
        const int error = ask_library();
        if (error == MPI_SUCCESS) *index = of_library(*index);
        return error;
    }
    // Which of Fanlight's it is, from 0; -1: the library's, of which `index` becomes the library's own number.
    int own(int& index);
    int of_own(int number) { return first_ + number; }
    int ours() const { return ours_(); }
    int of_library(int number) { return is_known() && number >= first_ ? number + ours_() : number; }
    bool is_known();  // false: MPI_T is not initialized, or Fanlight stays out of this program

private:
    Next<int (*)(int*)> library_;
    int (*ours_)();
    std::atomic<int> first_{-1};
};
extern Numbering performance, control, categories;

}  // namespace fanlight::mpi_t
