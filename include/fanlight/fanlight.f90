! MPI's collective operations by Fanlight, for Fortran: fanlight_allreduce has MPI_Allreduce's
! arguments (see collectives.h).
!
! Handles are the integers of mpif.h and `use mpi`; with mpi_f08 pass comm%MPI_VAL.  Buffers may be
! of any type and rank and must be contiguous; FANLIGHT_IN_PLACE stands for MPI_IN_PLACE, whichever
! module the program has MPI from.  ierror is optional.
!
! Compile it with the program's compiler, as .mod files need, and link
! libfanlight-<abi>.so before the MPI library.
module fanlight
    use, intrinsic :: iso_c_binding, only: c_int, c_char, c_long_long, c_null_char, c_ptr, c_size_t
    implicit none
    private :: c_int, c_char, c_long_long, c_null_char, c_ptr, c_size_t

    integer(c_int), bind(C, name='fanlight_fortran_in_place'), target :: FANLIGHT_IN_PLACE

    interface
        ! Collective: sets up what serves this communicator at once.
        subroutine fanlight_prepare(comm, ierror) bind(C, name='fanlight_prepare_f')
            import :: c_int
            integer(c_int), value :: comm
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_prepare
        ! Local: memory that the other ranks of the node can load from, for c_f_pointer.
        type(c_ptr) function fanlight_alloc_mem(bytes) bind(C, name='fanlight_alloc_mem')
            import :: c_ptr, c_size_t
            integer(c_size_t), value :: bytes
        end function fanlight_alloc_mem
        subroutine fanlight_free_mem(block) bind(C, name='fanlight_free_mem')
            import :: c_ptr
            type(c_ptr), value :: block
        end subroutine fanlight_free_mem
        ! What fanlight_set_algorithm and fanlight_get_algorithm call.
        subroutine fanlight_set_algorithm_of(comm, algorithms, ierror) bind(C, name='fanlight_set_algorithm_f')
            import :: c_int, c_char
            integer(c_int), value :: comm
            character(kind=c_char), intent(in) :: algorithms(*)
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_set_algorithm_of
        subroutine fanlight_get_algorithm_of(comm, operation, bytes, text, length, ierror) &
                bind(C, name='fanlight_get_algorithm_f')
            import :: c_int, c_char, c_long_long
            integer(c_int), value :: comm
            character(kind=c_char), intent(in) :: operation(*)
            integer(c_long_long), value :: bytes
            character(kind=c_char), intent(out) :: text(*)
            integer(c_int), value :: length
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_get_algorithm_of

        subroutine fanlight_barrier(comm, ierror) bind(C, name='fanlight_barrier_f')
            import :: c_int
            integer(c_int), value :: comm
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_barrier
        subroutine fanlight_bcast(buffer, count, datatype, root, comm, ierror) &
            bind(C, name='fanlight_bcast_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: buffer
            !DIR$ ignore_tkr buffer
            type(*), dimension(*) :: buffer
            integer(c_int), value :: count
            integer(c_int), value :: datatype
            integer(c_int), value :: root
            integer(c_int), value :: comm
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_bcast
        subroutine fanlight_reduce(sendbuf, recvbuf, count, datatype, op, root, comm, ierror) &
            bind(C, name='fanlight_reduce_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in) :: sendbuf
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*) :: recvbuf
            integer(c_int), value :: count
            integer(c_int), value :: datatype
            integer(c_int), value :: op
            integer(c_int), value :: root
            integer(c_int), value :: comm
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_reduce
        subroutine fanlight_allreduce(sendbuf, recvbuf, count, datatype, op, comm, ierror) &
            bind(C, name='fanlight_allreduce_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in) :: sendbuf
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*) :: recvbuf
            integer(c_int), value :: count
            integer(c_int), value :: datatype
            integer(c_int), value :: op
            integer(c_int), value :: comm
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_allreduce
        subroutine fanlight_scan(sendbuf, recvbuf, count, datatype, op, comm, ierror) &
            bind(C, name='fanlight_scan_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in) :: sendbuf
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*) :: recvbuf
            integer(c_int), value :: count
            integer(c_int), value :: datatype
            integer(c_int), value :: op
            integer(c_int), value :: comm
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_scan
        subroutine fanlight_exscan(sendbuf, recvbuf, count, datatype, op, comm, ierror) &
            bind(C, name='fanlight_exscan_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in) :: sendbuf
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*) :: recvbuf
            integer(c_int), value :: count
            integer(c_int), value :: datatype
            integer(c_int), value :: op
            integer(c_int), value :: comm
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_exscan
        subroutine fanlight_reduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, &
            comm, ierror) bind(C, name='fanlight_reduce_scatter_block_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in) :: sendbuf
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*) :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: datatype
            integer(c_int), value :: op
            integer(c_int), value :: comm
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_reduce_scatter_block
        subroutine fanlight_reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm, &
            ierror) bind(C, name='fanlight_reduce_scatter_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in) :: sendbuf
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*) :: recvbuf
            integer(c_int), intent(in) :: recvcounts(*)
            integer(c_int), value :: datatype
            integer(c_int), value :: op
            integer(c_int), value :: comm
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_reduce_scatter
        subroutine fanlight_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
            recvtype, comm, ierror) bind(C, name='fanlight_allgather_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in) :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*) :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_allgather
        subroutine fanlight_allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, &
            displs, recvtype, comm, ierror) bind(C, name='fanlight_allgatherv_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in) :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*) :: recvbuf
            integer(c_int), intent(in) :: recvcounts(*)
            integer(c_int), intent(in) :: displs(*)
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_allgatherv
        subroutine fanlight_gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
            recvtype, root, comm, ierror) bind(C, name='fanlight_gather_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in) :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*) :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: recvtype
            integer(c_int), value :: root
            integer(c_int), value :: comm
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_gather
        subroutine fanlight_gatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, &
            displs, recvtype, root, comm, ierror) bind(C, name='fanlight_gatherv_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in) :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*) :: recvbuf
            integer(c_int), intent(in) :: recvcounts(*)
            integer(c_int), intent(in) :: displs(*)
            integer(c_int), value :: recvtype
            integer(c_int), value :: root
            integer(c_int), value :: comm
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_gatherv
        subroutine fanlight_scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
            recvtype, root, comm, ierror) bind(C, name='fanlight_scatter_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in) :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*) :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: recvtype
            integer(c_int), value :: root
            integer(c_int), value :: comm
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_scatter
        subroutine fanlight_scatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, &
            recvcount, recvtype, root, comm, ierror) bind(C, name='fanlight_scatterv_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in) :: sendbuf
            integer(c_int), intent(in) :: sendcounts(*)
            integer(c_int), intent(in) :: displs(*)
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*) :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: recvtype
            integer(c_int), value :: root
            integer(c_int), value :: comm
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_scatterv
        subroutine fanlight_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
            recvtype, comm, ierror) bind(C, name='fanlight_alltoall_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in) :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*) :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_alltoall
        subroutine fanlight_alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, &
            recvcounts, rdispls, recvtype, comm, ierror) bind(C, name='fanlight_alltoallv_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in) :: sendbuf
            integer(c_int), intent(in) :: sendcounts(*)
            integer(c_int), intent(in) :: sdispls(*)
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*) :: recvbuf
            integer(c_int), intent(in) :: recvcounts(*)
            integer(c_int), intent(in) :: rdispls(*)
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_alltoallv
        subroutine fanlight_alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, &
            recvcounts, rdispls, recvtypes, comm, ierror) &
            bind(C, name='fanlight_alltoallw_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in) :: sendbuf
            integer(c_int), intent(in) :: sendcounts(*)
            integer(c_int), intent(in) :: sdispls(*)
            integer(c_int), intent(in) :: sendtypes(*)
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*) :: recvbuf
            integer(c_int), intent(in) :: recvcounts(*)
            integer(c_int), intent(in) :: rdispls(*)
            integer(c_int), intent(in) :: recvtypes(*)
            integer(c_int), value :: comm
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_alltoallw
        subroutine fanlight_neighbor_allgather(sendbuf, sendcount, sendtype, recvbuf, &
            recvcount, recvtype, comm, ierror) bind(C, name='fanlight_neighbor_allgather_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in) :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*) :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_neighbor_allgather
        subroutine fanlight_neighbor_allgatherv(sendbuf, sendcount, sendtype, recvbuf, &
            recvcounts, displs, recvtype, comm, ierror) &
            bind(C, name='fanlight_neighbor_allgatherv_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in) :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*) :: recvbuf
            integer(c_int), intent(in) :: recvcounts(*)
            integer(c_int), intent(in) :: displs(*)
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_neighbor_allgatherv
        subroutine fanlight_neighbor_alltoall(sendbuf, sendcount, sendtype, recvbuf, &
            recvcount, recvtype, comm, ierror) bind(C, name='fanlight_neighbor_alltoall_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in) :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*) :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_neighbor_alltoall
        subroutine fanlight_neighbor_alltoallv(sendbuf, sendcounts, sdispls, sendtype, &
            recvbuf, recvcounts, rdispls, recvtype, comm, ierror) &
            bind(C, name='fanlight_neighbor_alltoallv_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in) :: sendbuf
            integer(c_int), intent(in) :: sendcounts(*)
            integer(c_int), intent(in) :: sdispls(*)
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*) :: recvbuf
            integer(c_int), intent(in) :: recvcounts(*)
            integer(c_int), intent(in) :: rdispls(*)
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_neighbor_alltoallv
        subroutine fanlight_ibarrier(comm, request, ierror) &
            bind(C, name='fanlight_ibarrier_f')
            import :: c_int
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_ibarrier
        subroutine fanlight_ibcast(buffer, count, datatype, root, comm, request, ierror) &
            bind(C, name='fanlight_ibcast_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: buffer
            !DIR$ ignore_tkr buffer
            type(*), dimension(*), asynchronous, target :: buffer
            integer(c_int), value :: count
            integer(c_int), value :: datatype
            integer(c_int), value :: root
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_ibcast
        subroutine fanlight_ireduce(sendbuf, recvbuf, count, datatype, op, root, comm, &
            request, ierror) bind(C, name='fanlight_ireduce_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: count
            integer(c_int), value :: datatype
            integer(c_int), value :: op
            integer(c_int), value :: root
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_ireduce
        subroutine fanlight_iallreduce(sendbuf, recvbuf, count, datatype, op, comm, request, &
            ierror) bind(C, name='fanlight_iallreduce_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: count
            integer(c_int), value :: datatype
            integer(c_int), value :: op
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_iallreduce
        subroutine fanlight_iscan(sendbuf, recvbuf, count, datatype, op, comm, request, &
            ierror) bind(C, name='fanlight_iscan_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: count
            integer(c_int), value :: datatype
            integer(c_int), value :: op
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_iscan
        subroutine fanlight_iexscan(sendbuf, recvbuf, count, datatype, op, comm, request, &
            ierror) bind(C, name='fanlight_iexscan_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: count
            integer(c_int), value :: datatype
            integer(c_int), value :: op
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_iexscan
        subroutine fanlight_ireduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, &
            comm, request, ierror) bind(C, name='fanlight_ireduce_scatter_block_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: datatype
            integer(c_int), value :: op
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_ireduce_scatter_block
        subroutine fanlight_ireduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm, &
            request, ierror) bind(C, name='fanlight_ireduce_scatter_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), intent(in) :: recvcounts(*)
            integer(c_int), value :: datatype
            integer(c_int), value :: op
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_ireduce_scatter
        subroutine fanlight_iallgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
            recvtype, comm, request, ierror) bind(C, name='fanlight_iallgather_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_iallgather
        subroutine fanlight_iallgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, &
            displs, recvtype, comm, request, ierror) bind(C, name='fanlight_iallgatherv_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), intent(in) :: recvcounts(*)
            integer(c_int), intent(in) :: displs(*)
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_iallgatherv
        subroutine fanlight_igather(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
            recvtype, root, comm, request, ierror) bind(C, name='fanlight_igather_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: recvtype
            integer(c_int), value :: root
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_igather
        subroutine fanlight_igatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, &
            displs, recvtype, root, comm, request, ierror) &
            bind(C, name='fanlight_igatherv_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), intent(in) :: recvcounts(*)
            integer(c_int), intent(in) :: displs(*)
            integer(c_int), value :: recvtype
            integer(c_int), value :: root
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_igatherv
        subroutine fanlight_iscatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
            recvtype, root, comm, request, ierror) bind(C, name='fanlight_iscatter_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: recvtype
            integer(c_int), value :: root
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_iscatter
        subroutine fanlight_iscatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, &
            recvcount, recvtype, root, comm, request, ierror) &
            bind(C, name='fanlight_iscatterv_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), intent(in) :: sendcounts(*)
            integer(c_int), intent(in) :: displs(*)
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: recvtype
            integer(c_int), value :: root
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_iscatterv
        subroutine fanlight_ialltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
            recvtype, comm, request, ierror) bind(C, name='fanlight_ialltoall_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_ialltoall
        subroutine fanlight_ialltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, &
            recvcounts, rdispls, recvtype, comm, request, ierror) &
            bind(C, name='fanlight_ialltoallv_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), intent(in) :: sendcounts(*)
            integer(c_int), intent(in) :: sdispls(*)
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), intent(in) :: recvcounts(*)
            integer(c_int), intent(in) :: rdispls(*)
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_ialltoallv
        subroutine fanlight_ialltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, &
            recvcounts, rdispls, recvtypes, comm, request, ierror) &
            bind(C, name='fanlight_ialltoallw_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), intent(in) :: sendcounts(*)
            integer(c_int), intent(in) :: sdispls(*)
            integer(c_int), intent(in) :: sendtypes(*)
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), intent(in) :: recvcounts(*)
            integer(c_int), intent(in) :: rdispls(*)
            integer(c_int), intent(in) :: recvtypes(*)
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_ialltoallw
        subroutine fanlight_ineighbor_allgather(sendbuf, sendcount, sendtype, recvbuf, &
            recvcount, recvtype, comm, request, ierror) &
            bind(C, name='fanlight_ineighbor_allgather_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_ineighbor_allgather
        subroutine fanlight_ineighbor_allgatherv(sendbuf, sendcount, sendtype, recvbuf, &
            recvcounts, displs, recvtype, comm, request, ierror) &
            bind(C, name='fanlight_ineighbor_allgatherv_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), intent(in) :: recvcounts(*)
            integer(c_int), intent(in) :: displs(*)
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_ineighbor_allgatherv
        subroutine fanlight_ineighbor_alltoall(sendbuf, sendcount, sendtype, recvbuf, &
            recvcount, recvtype, comm, request, ierror) &
            bind(C, name='fanlight_ineighbor_alltoall_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_ineighbor_alltoall
        subroutine fanlight_ineighbor_alltoallv(sendbuf, sendcounts, sdispls, sendtype, &
            recvbuf, recvcounts, rdispls, recvtype, comm, request, ierror) &
            bind(C, name='fanlight_ineighbor_alltoallv_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), intent(in) :: sendcounts(*)
            integer(c_int), intent(in) :: sdispls(*)
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), intent(in) :: recvcounts(*)
            integer(c_int), intent(in) :: rdispls(*)
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_ineighbor_alltoallv
        subroutine fanlight_barrier_init(comm, info, request, ierror) &
            bind(C, name='fanlight_barrier_init_f')
            import :: c_int
            integer(c_int), value :: comm
            integer(c_int), value :: info
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_barrier_init
        subroutine fanlight_bcast_init(buffer, count, datatype, root, comm, info, request, &
            ierror) bind(C, name='fanlight_bcast_init_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: buffer
            !DIR$ ignore_tkr buffer
            type(*), dimension(*), asynchronous, target :: buffer
            integer(c_int), value :: count
            integer(c_int), value :: datatype
            integer(c_int), value :: root
            integer(c_int), value :: comm
            integer(c_int), value :: info
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_bcast_init
        subroutine fanlight_reduce_init(sendbuf, recvbuf, count, datatype, op, root, comm, &
            info, request, ierror) bind(C, name='fanlight_reduce_init_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: count
            integer(c_int), value :: datatype
            integer(c_int), value :: op
            integer(c_int), value :: root
            integer(c_int), value :: comm
            integer(c_int), value :: info
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_reduce_init
        subroutine fanlight_allreduce_init(sendbuf, recvbuf, count, datatype, op, comm, info, &
            request, ierror) bind(C, name='fanlight_allreduce_init_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: count
            integer(c_int), value :: datatype
            integer(c_int), value :: op
            integer(c_int), value :: comm
            integer(c_int), value :: info
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_allreduce_init
        subroutine fanlight_scan_init(sendbuf, recvbuf, count, datatype, op, comm, info, &
            request, ierror) bind(C, name='fanlight_scan_init_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: count
            integer(c_int), value :: datatype
            integer(c_int), value :: op
            integer(c_int), value :: comm
            integer(c_int), value :: info
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_scan_init
        subroutine fanlight_exscan_init(sendbuf, recvbuf, count, datatype, op, comm, info, &
            request, ierror) bind(C, name='fanlight_exscan_init_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: count
            integer(c_int), value :: datatype
            integer(c_int), value :: op
            integer(c_int), value :: comm
            integer(c_int), value :: info
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_exscan_init
        subroutine fanlight_reduce_scatter_block_init(sendbuf, recvbuf, recvcount, datatype, &
            op, comm, info, request, ierror) &
            bind(C, name='fanlight_reduce_scatter_block_init_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: datatype
            integer(c_int), value :: op
            integer(c_int), value :: comm
            integer(c_int), value :: info
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_reduce_scatter_block_init
        subroutine fanlight_reduce_scatter_init(sendbuf, recvbuf, recvcounts, datatype, op, &
            comm, info, request, ierror) bind(C, name='fanlight_reduce_scatter_init_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), intent(in) :: recvcounts(*)
            integer(c_int), value :: datatype
            integer(c_int), value :: op
            integer(c_int), value :: comm
            integer(c_int), value :: info
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_reduce_scatter_init
        subroutine fanlight_allgather_init(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
            recvtype, comm, info, request, ierror) bind(C, name='fanlight_allgather_init_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), value :: info
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_allgather_init
        subroutine fanlight_allgatherv_init(sendbuf, sendcount, sendtype, recvbuf, &
            recvcounts, displs, recvtype, comm, info, request, ierror) &
            bind(C, name='fanlight_allgatherv_init_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), intent(in) :: recvcounts(*)
            integer(c_int), intent(in) :: displs(*)
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), value :: info
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_allgatherv_init
        subroutine fanlight_gather_init(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
            recvtype, root, comm, info, request, ierror) &
            bind(C, name='fanlight_gather_init_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: recvtype
            integer(c_int), value :: root
            integer(c_int), value :: comm
            integer(c_int), value :: info
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_gather_init
        subroutine fanlight_gatherv_init(sendbuf, sendcount, sendtype, recvbuf, recvcounts, &
            displs, recvtype, root, comm, info, request, ierror) &
            bind(C, name='fanlight_gatherv_init_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), intent(in) :: recvcounts(*)
            integer(c_int), intent(in) :: displs(*)
            integer(c_int), value :: recvtype
            integer(c_int), value :: root
            integer(c_int), value :: comm
            integer(c_int), value :: info
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_gatherv_init
        subroutine fanlight_scatter_init(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
            recvtype, root, comm, info, request, ierror) &
            bind(C, name='fanlight_scatter_init_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: recvtype
            integer(c_int), value :: root
            integer(c_int), value :: comm
            integer(c_int), value :: info
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_scatter_init
        subroutine fanlight_scatterv_init(sendbuf, sendcounts, displs, sendtype, recvbuf, &
            recvcount, recvtype, root, comm, info, request, ierror) &
            bind(C, name='fanlight_scatterv_init_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), intent(in) :: sendcounts(*)
            integer(c_int), intent(in) :: displs(*)
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: recvtype
            integer(c_int), value :: root
            integer(c_int), value :: comm
            integer(c_int), value :: info
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_scatterv_init
        subroutine fanlight_alltoall_init(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
            recvtype, comm, info, request, ierror) bind(C, name='fanlight_alltoall_init_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), value :: info
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_alltoall_init
        subroutine fanlight_alltoallv_init(sendbuf, sendcounts, sdispls, sendtype, recvbuf, &
            recvcounts, rdispls, recvtype, comm, info, request, ierror) &
            bind(C, name='fanlight_alltoallv_init_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), intent(in) :: sendcounts(*)
            integer(c_int), intent(in) :: sdispls(*)
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), intent(in) :: recvcounts(*)
            integer(c_int), intent(in) :: rdispls(*)
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), value :: info
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_alltoallv_init
        subroutine fanlight_alltoallw_init(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, &
            recvcounts, rdispls, recvtypes, comm, info, request, ierror) &
            bind(C, name='fanlight_alltoallw_init_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), intent(in) :: sendcounts(*)
            integer(c_int), intent(in) :: sdispls(*)
            integer(c_int), intent(in) :: sendtypes(*)
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), intent(in) :: recvcounts(*)
            integer(c_int), intent(in) :: rdispls(*)
            integer(c_int), intent(in) :: recvtypes(*)
            integer(c_int), value :: comm
            integer(c_int), value :: info
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_alltoallw_init
        subroutine fanlight_neighbor_allgather_init(sendbuf, sendcount, sendtype, recvbuf, &
            recvcount, recvtype, comm, info, request, ierror) &
            bind(C, name='fanlight_neighbor_allgather_init_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), value :: info
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_neighbor_allgather_init
        subroutine fanlight_neighbor_allgatherv_init(sendbuf, sendcount, sendtype, recvbuf, &
            recvcounts, displs, recvtype, comm, info, request, ierror) &
            bind(C, name='fanlight_neighbor_allgatherv_init_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), intent(in) :: recvcounts(*)
            integer(c_int), intent(in) :: displs(*)
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), value :: info
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_neighbor_allgatherv_init
        subroutine fanlight_neighbor_alltoall_init(sendbuf, sendcount, sendtype, recvbuf, &
            recvcount, recvtype, comm, info, request, ierror) &
            bind(C, name='fanlight_neighbor_alltoall_init_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), value :: sendcount
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), value :: recvcount
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), value :: info
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_neighbor_alltoall_init
        subroutine fanlight_neighbor_alltoallv_init(sendbuf, sendcounts, sdispls, sendtype, &
            recvbuf, recvcounts, rdispls, recvtype, comm, info, request, ierror) &
            bind(C, name='fanlight_neighbor_alltoallv_init_f')
            import :: c_int
            !GCC$ attributes no_arg_check :: sendbuf
            !DIR$ ignore_tkr sendbuf
            type(*), dimension(*), intent(in), asynchronous, target :: sendbuf
            integer(c_int), intent(in) :: sendcounts(*)
            integer(c_int), intent(in) :: sdispls(*)
            integer(c_int), value :: sendtype
            !GCC$ attributes no_arg_check :: recvbuf
            !DIR$ ignore_tkr recvbuf
            type(*), dimension(*), asynchronous, target :: recvbuf
            integer(c_int), intent(in) :: recvcounts(*)
            integer(c_int), intent(in) :: rdispls(*)
            integer(c_int), value :: recvtype
            integer(c_int), value :: comm
            integer(c_int), value :: info
            integer(c_int), intent(out) :: request
            integer(c_int), optional, intent(out) :: ierror
        end subroutine fanlight_neighbor_alltoallv_init
    end interface

contains

    ! Collective, with the same text on all ranks: call fanlight_set_algorithm(comm, 'bcast:tree(degree=4)').
    subroutine fanlight_set_algorithm(comm, algorithms, ierror)
        integer(c_int), intent(in) :: comm
        character(len=*), intent(in) :: algorithms
        integer(c_int), optional, intent(out) :: ierror
        call fanlight_set_algorithm_of(comm, algorithms // c_null_char, ierror)
    end subroutine fanlight_set_algorithm

    ! Local: which algorithm would serve a call, and why; padded with blanks.
    subroutine fanlight_get_algorithm(comm, operation, bytes, text, ierror)
        integer(c_int), intent(in) :: comm
        character(len=*), intent(in) :: operation
        integer(c_long_long), intent(in) :: bytes
        character(len=*), intent(out) :: text
        integer(c_int), optional, intent(out) :: ierror
        character(kind=c_char) :: answer(len(text) + 1)
        integer :: i
        answer = c_null_char
        call fanlight_get_algorithm_of(comm, operation // c_null_char, bytes, answer, size(answer), ierror)
        text = ' '
        do i = 1, len(text)
            if (answer(i) == c_null_char) exit
            text(i:i) = answer(i)
        end do
    end subroutine fanlight_get_algorithm

end module fanlight
