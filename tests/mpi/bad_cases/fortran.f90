! Collectives from Fortran by mpif.h, MPI_IN_PLACE and a user's operator among them.
program fortran
    implicit none
    include 'mpif.h'
    integer :: rank, ranks, error, i, call_number, op
    integer :: values(100), sums(100)
    integer, allocatable :: all(:)
    double precision :: x(3)
    external :: keep_larger
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    allocate(all(2 * ranks))
    do call_number = 1, 50
        values = [(i * (rank + 1) + call_number, i = 1, 100)]
        sums = -1
        call MPI_Allreduce(values, sums, 100, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
        do i = 1, 100
            call check(sums(i) == i * ranks * (ranks + 1) / 2 + ranks * call_number, 'allreduce')
        end do
        call MPI_Allreduce(MPI_IN_PLACE, values, 100, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
        call check(all_equal(values, sums), 'allreduce in place')
        all = -1
        all(2 * rank + 1:2 * rank + 2) = [rank, call_number]
        call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 2, MPI_INTEGER, MPI_COMM_WORLD, error)
        do i = 1, ranks
            call check(all(2 * i - 1) == i - 1 .and. all(2 * i) == call_number, 'allgather in place')
        end do
        x = 0
        if (rank == mod(call_number, ranks)) x = [1.5d0, 2.5d0, dble(call_number)]
        call MPI_Bcast(x, 3, MPI_DOUBLE_PRECISION, mod(call_number, ranks), MPI_COMM_WORLD, error)
        call check(x(3) == call_number .and. error == MPI_SUCCESS, 'bcast')
        call MPI_Barrier(MPI_COMM_WORLD, error)
    end do
    call MPI_Op_create(keep_larger, .true., op, error)
    values = rank
    do call_number = 1, 20
        call MPI_Allreduce(values, sums, 100, MPI_INTEGER, op, MPI_COMM_WORLD, error)
        call check(sums(1) == ranks - 1 .and. sums(100) == ranks - 1, 'operator of the user')
    end do
    call MPI_Op_free(op, error)
    call blocks_of_their_own_lengths()
    call windows()
    if (rank == 0) print '(a)', 'ok'
    call MPI_Finalize(error)
contains
    ! Rank r has r + 1 numbers for each other one, r of which is from whom; and its neighbors on a ring.
    subroutine blocks_of_their_own_lengths()
        integer :: sent(100), taken(100), counts(10), places(10), their_counts(10), their_places(10)
        integer :: request, ring, copy, r, k, below, above
        integer :: types(2), one(2), types_of_all(10)
        integer(kind=MPI_ADDRESS_KIND) :: at(2)
        do r = 0, ranks - 1
            counts(r + 1) = rank + 1
            places(r + 1) = r * (rank + 1)
            their_counts(r + 1) = r + 1
            their_places(r + 1) = r * ranks
        end do
        do call_number = 1, 10
            sent = rank + 10 * call_number
            taken = -1
            call MPI_Ialltoallv(sent, counts, places, MPI_INTEGER, taken, their_counts, their_places, MPI_INTEGER, &
                                MPI_COMM_WORLD, request, error)
            call MPI_Wait(request, MPI_STATUS_IGNORE, error)
            call MPI_Barrier(MPI_COMM_WORLD, error)  ! after which non-blocking ones are served
            do r = 0, ranks - 1
                do k = 1, ranks
                    call check(taken(r * ranks + k) == merge(r + 10 * call_number, -1, k <= r + 1), 'ialltoallv')
                end do
            end do
            taken = -1
            call MPI_Igatherv(sent, rank + 1, MPI_INTEGER, taken, their_counts, their_places, MPI_INTEGER, 0, MPI_COMM_WORLD, &
                              request, error)
            call MPI_Wait(request, MPI_STATUS_IGNORE, error)
            if (rank == 0) call check(taken((ranks - 1) * ranks + ranks) == ranks - 1 + 10 * call_number, 'igatherv')
        end do
        call MPI_Comm_dup(MPI_COMM_WORLD, copy, error)
        types_of_all = MPI_INTEGER
        their_counts = 1
        their_places = [(4 * r, r = 0, 9)]
        do call_number = 1, 10
            sent(1:ranks) = [(100 * rank + r, r = 0, ranks - 1)]
            taken = -1
            call MPI_Alltoallw(sent, their_counts, their_places, types_of_all, taken, their_counts, their_places, &
                               types_of_all, copy, error)
            do r = 0, ranks - 1
                call check(taken(r + 1) == 100 * r + rank, 'alltoallw')
            end do
        end do
        call MPI_Comm_free(copy, error)
        call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.false.], .false., ring, error)
        call MPI_Cart_shift(ring, 0, 1, below, above, error)
        types = MPI_INTEGER
        one = 1
        at = [0, 4]
        do call_number = 1, 10
            sent(1:2) = [rank, rank + 100]
            taken = -1
            call MPI_Neighbor_alltoallw(sent, one, at, types, taken, one, at, types, ring, error)
            if (below /= MPI_PROC_NULL) call check(taken(1) == below + 100, 'neighbor_alltoallw from below')
            if (above /= MPI_PROC_NULL) call check(taken(2) == above, 'neighbor_alltoallw from above')
        end do
        call MPI_Comm_free(ring, error)
    end subroutine
    ! Their memory is known to others until they are freed.
    subroutine windows()
        use, intrinsic :: iso_c_binding, only: c_null_ptr, c_f_pointer
        integer, parameter :: n = 20000
        integer :: win
        integer(kind=MPI_ADDRESS_KIND) :: base
        integer, pointer :: part(:)
        do call_number = 1, 20
            call MPI_Win_allocate_shared(4_MPI_ADDRESS_KIND * n, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, error)
            call c_f_pointer(transfer(base, c_null_ptr), part, [n])
            part = rank + call_number
            call MPI_Bcast(part, n, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, error)
            call check(minval(part) == ranks - 1 + call_number .and. maxval(part) == ranks - 1 + call_number, 'bcast in a window')
            call MPI_Win_free(win, error)
            call check(win == MPI_WIN_NULL, 'a freed window')
        end do
    end subroutine
    logical function all_equal(a, b)
        integer, intent(in) :: a(:), b(:)
        all_equal = sum(abs(a - b)) == 0
    end function
    subroutine check(good, what)
        logical, intent(in) :: good
        character(*), intent(in) :: what
        integer :: ignored
        if (good) return
        print '(a,a,a,i0)', 'WRONG ', what, ', rank ', rank
        call MPI_Abort(MPI_COMM_WORLD, 1, ignored)
    end subroutine
end program

subroutine keep_larger(in, inout, n, type)
    implicit none
    integer :: n, type, in(n), inout(n)
    inout = max(in, inout)
end subroutine
