! The mean of each column of a matrix whose rows are spread over the ranks.
!
!   mpif90 $PREFIX/include/fanlight/fanlight.f90 columns.f90 -L$PREFIX/lib/fanlight -Wl,-rpath,$PREFIX/lib/fanlight -lfanlight-mpich
program columns
    use fanlight
    implicit none
    include 'mpif.h'
    integer, parameter :: rows = 100, width = 4
    real(kind=8), asynchronous :: matrix(rows, width)
    real(kind=8) :: means(width)
    integer :: rank, ranks, error, i, j, request

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    call fanlight_prepare(MPI_COMM_WORLD)

    do j = 1, width
        do i = 1, rows
            matrix(i, j) = j * (rank * rows + i)
        end do
    end do
    means = sum(matrix, dim=1) / (rows * ranks)
    call fanlight_allreduce(FANLIGHT_IN_PLACE, means, width, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)

    ! Rank 0's first column to all, while the means are printed.
    call fanlight_ibcast(matrix(:, 1), rows, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, request)
    if (rank == 0) print '(a, 4f10.2)', 'means', means
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call MPI_Finalize(error)
end program columns
