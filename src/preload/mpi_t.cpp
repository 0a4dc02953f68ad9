#include "preload/mpi_t.h"

#include <algorithm>
#include <cstddef>

namespace fanlight::mpi_t {

void give(std::string_view text, char* out, int* length) {
    if (!length) return;
    if (out && *length > 0) out[text.copy(out, static_cast<std::size_t>(*length - 1))] = 0;
    *length = static_cast<int>(text.size()) + 1;
}

bool Numbering::is_known() {
    if (first_ >= 0) return true;
    int number = 0;
    if (!takes_waits() || library_.get()(&number) != MPI_SUCCESS) return false;
    int unknown = -1;
    first_.compare_exchange_strong(unknown, number);
    return true;
}

int Numbering::get_num(int* number) {
    const int error = library_.get()(number);
    // Where MPI_T was ended and initialized again, the library may have fewer.
    if (error == MPI_SUCCESS && number && is_known()) *number = std::max<int>(*number, first_) + ours_();
    return error;
}

int Numbering::own(int& index) {
    if (!is_known() || index < first_) return -1;
    const int number = index - first_;
    if (number < ours_()) return number;
    index -= ours_();
    return -1;
}

}  // namespace fanlight::mpi_t
