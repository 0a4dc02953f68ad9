// A communicator of the same ranks that the program does not see.
#pragma once

#include "collective/library.h"
#include "collective/mpi_header.h"

namespace fanlight {

class PrivateCommunicator {
public:
    // All ranks of `comm`.
    explicit PrivateCommunicator(MPI_Comm comm) {
        int rank = 0;
        mpi().Comm_rank(comm, &rank);
        // Not MPI_Comm_dup: it would call the copy functions of the program's attributes.
        mpi().Comm_split(comm, 0, rank, &comm_);
        mpi().Comm_set_errhandler(comm_, MPI_ERRORS_ARE_FATAL);
    }
    ~PrivateCommunicator() { mpi().Comm_free(&comm_); }
    PrivateCommunicator(const PrivateCommunicator&) = delete;
    PrivateCommunicator& operator=(const PrivateCommunicator&) = delete;

    operator MPI_Comm() const { return comm_; }

private:
    MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace fanlight
