#include "collective/gathering.h"

#include <unistd.h>

#include <cstring>
#include <vector>

#include "collective/library.h"

namespace fanlight {

int writer_of(const std::string& file, MPI_Comm all) {
    int rank = 0, ranks = 0, writer = 0;
    mpi().Comm_rank(all, &rank);
    mpi().Comm_size(all, &ranks);
    const int candidate = file.empty() ? ranks : rank;
    mpi().Allreduce(&candidate, &writer, 1, MPI_INT, MPI_MIN, all);
    return writer < ranks ? writer : -1;
}

std::string gathered_text(const std::string& own, int writer, MPI_Comm all) {
    int rank = 0, ranks = 0;
    mpi().Comm_rank(all, &rank);
    mpi().Comm_size(all, &ranks);
    const int length = static_cast<int>(own.size());
    std::vector<int> lengths(static_cast<std::size_t>(ranks)), places(lengths.size());
    mpi().Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, writer, all);
    int total = 0;
    if (rank == writer)
        for (std::size_t r = 0; r < lengths.size(); ++r) {
            places[r] = total;
            total += lengths[r];
        }
    std::string text(static_cast<std::size_t>(total), ' ');
    mpi().Gatherv(own.data(), length, MPI_CHAR, text.data(), lengths.data(), places.data(), MPI_CHAR, writer, all);
    return text;
}

std::string library_version() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    mpi().Get_library_version(text, &length);
    std::string version(text, std::strcspn(text, "\n\t"));
    std::erase_if(version, [](char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; });
    return version;
}

std::string name_in_this_job(const std::string& file, MPI_Comm all) {
    if (file == "-") return file;
    MPI_Comm parent = MPI_COMM_NULL;
    mpi().Comm_get_parent(&parent);
    const std::string name = parent == MPI_COMM_NULL ? file : file + ".spawned-" + std::to_string(getpid());
    int rank = 0, ranks = 0;
    mpi().Comm_rank(MPI_COMM_WORLD, &rank);
    mpi().Comm_size(MPI_COMM_WORLD, &ranks);
    return all == MPI_COMM_WORLD || ranks == 1 ? name : name + ".rank-" + std::to_string(rank);
}

}  // namespace fanlight
