! Buffers that are MPI_BOTTOM and MPI_IN_PLACE of mpif.h, passed to the module `fanlight`.
program bottom
    use fanlight
    implicit none
    include 'mpif.h'
    integer, asynchronous :: told(4)
    integer :: rank, ranks, error, there, i
    integer(kind=MPI_ADDRESS_KIND) :: address(1)

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    call MPI_Get_address(told, address(1), error)
    call MPI_Type_create_hindexed(1, [4], address, MPI_INTEGER, there, error)
    call MPI_Type_commit(there, error)
    do i = 1, 40
        told = merge(i, -1, rank == 0)
        call fanlight_bcast(MPI_BOTTOM, 1, there, 0, MPI_COMM_WORLD, error)
        if (error /= MPI_SUCCESS .or. any(told /= i)) call MPI_Abort(MPI_COMM_WORLD, 1, error)
        call fanlight_allreduce(MPI_IN_PLACE, told, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
        if (error /= MPI_SUCCESS .or. any(told /= i * ranks)) call MPI_Abort(MPI_COMM_WORLD, 2, error)
    end do
    call MPI_Type_free(there, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    if (rank == 0) print '(a)', 'ok'
    call MPI_Finalize(error)
end program bottom
