// MPI_T's categories: one more, "fanlight", with all of Fanlight's variables.
#include <algorithm>
#include <string_view>

#include "preload/mpi_t.h"

namespace fanlight::mpi_t {

constinit Numbering categories("MPI_T_category_get_num", [] { return 1; });

namespace {

constexpr std::string_view own_name = "fanlight";

// What a category has of variables, or of categories in it.
struct Contents {
    int controls = 0, performances = 0, categories = 0;
};
Contents of_library(int category) {
    FANLIGHT_NEXT(MPI_T_category_get_info);
    Contents has;
    char name[1], description[1];
    int name_length = 1, description_length = 1;
    if (next.get()(category, name, &name_length, description, &description_length, &has.controls, &has.performances, &has.categories) != MPI_SUCCESS)
        return {};
    return has;
}

// MPI_T_category_get_xxx: the numbers of what is in a category.
template <class Function>
int list(Function* next, int category, int length, int indices[], Numbering& of, int Contents::* number) {
    if (categories.own(category) >= 0) {
        const int ours = &of == &categories ? 0 : of.ours();
        for (int i = 0; i < std::min(length, ours); ++i) indices[i] = of.of_own(i);
        return MPI_SUCCESS;
    }
    const int error = next(category, length, indices);
    if (error == MPI_SUCCESS && of.is_known())
        for (int i = 0; i < std::min(length, of_library(category).*number); ++i) indices[i] = of.of_library(indices[i]);
    return error;
}

}  // namespace

}  // namespace fanlight::mpi_t

#pragma GCC visibility push(default)
extern "C" {

using namespace fanlight::mpi_t;

int MPI_T_category_get_num(int* number) { return categories.get_num(number); }

int MPI_T_category_get_info(int index, char* name, int* name_length, char* description, int* description_length, int* controls, int* performances,
                            int* inner) {
    FANLIGHT_NEXT(MPI_T_category_get_info);
    if (categories.own(index) < 0) return next.get()(index, name, name_length, description, description_length, controls, performances, inner);
    give(own_name, name, name_length);
    give("Fanlight's settings, and the calls of collective operations that it served or passed on", description, description_length);
    give(control.ours(), controls);
    give(performance.ours(), performances);
    give(0, inner);
    return MPI_SUCCESS;
}

int MPI_T_category_get_index(const char* name, int* index) {
    FANLIGHT_NEXT(MPI_T_category_get_index);
    return categories.get_index(name, index, [&](std::size_t) { return name == own_name; }, [&] { return next.get()(name, index); });
}

int MPI_T_category_get_cvars(int category, int length, int indices[]) {
    FANLIGHT_NEXT(MPI_T_category_get_cvars);
    return list(next.get(), category, length, indices, control, &Contents::controls);
}

int MPI_T_category_get_pvars(int category, int length, int indices[]) {
    FANLIGHT_NEXT(MPI_T_category_get_pvars);
    return list(next.get(), category, length, indices, performance, &Contents::performances);
}

int MPI_T_category_get_categories(int category, int length, int indices[]) {
    FANLIGHT_NEXT(MPI_T_category_get_categories);
    return list(next.get(), category, length, indices, categories, &Contents::categories);
}

// Of MPI-4, which a library may have although its header of the ABI has not.  Fanlight has no events.
int MPI_T_category_get_num_events(int category, int* number) {
    static constinit fanlight::Next<int (*)(int, int*)> next("MPI_T_category_get_num_events");
    if (categories.own(category) < 0) return next.get()(category, number);
    give(0, number);
    return MPI_SUCCESS;
}

int MPI_T_category_get_events(int category, int length, int indices[]) {
    static constinit fanlight::Next<int (*)(int, int, int[])> next("MPI_T_category_get_events");
    return categories.own(category) < 0 ? next.get()(category, length, indices) : MPI_SUCCESS;
}

}  // extern "C"
#pragma GCC visibility pop
