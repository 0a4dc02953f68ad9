! The module `fanlight`: called by procedures.c, so that no module of the MPI library's is needed.
module procedures
    use, intrinsic :: iso_c_binding
    use fanlight
    implicit none

    interface
        subroutine require(condition, line) bind(C, name='require')
            import :: c_int
            integer(c_int), value :: condition, line
        end subroutine require
        ! MPI_Start, where it is persistent, and MPI_Wait.
        subroutine run(request, persistent) bind(C, name='run')
            import :: c_int
            integer(c_int) :: request
            integer(c_int), value :: persistent
        end subroutine run
    end interface

contains

    subroutine must(condition, line)
        logical, intent(in) :: condition
        integer, intent(in) :: line
        call require(merge(1, 0, condition), line)
    end subroutine must

    subroutine test(comm, int, real8, sum_op, info, persistent) bind(C, name='test_procedures')
        integer(c_int), value :: comm, int, real8, sum_op, info, persistent
        integer :: rank, ranks, error, i, request
        integer :: one(1), told(4), counts(64), places(64), types(64), bytes(64)
        integer, allocatable :: all(:, :), swapped(:, :), prefix(:)
        real(c_double), asynchronous :: x(3, 2), y(3, 2)
        character(len=100) :: text

        ! Who am I: the API alone tells.
        call fanlight_prepare(comm, error)
        call must(error == 0, __LINE__)
        one = 1
        call fanlight_allreduce(one, told, 1, int, sum_op, comm, error)
        ranks = told(1)
        call fanlight_exscan(one, told, 1, int, sum_op, comm)
        call fanlight_scan(one, told(2), 1, int, sum_op, comm)
        rank = told(2) - 1
        call must(error == 0 .and. (rank == 0 .or. told(1) == rank), __LINE__)
        allocate(all(2, ranks), swapped(2, ranks), prefix(2))

        call fanlight_barrier(comm)
        x = merge(2.5d0, -1d0, rank == ranks - 1)
        call fanlight_bcast(x, 6, real8, ranks - 1, comm)
        call must(all_of(x, 2.5d0), __LINE__)
        call fanlight_reduce(x, y, 6, real8, sum_op, 0, comm, error)
        if (rank == 0) call must(all_of(y, 2.5d0 * ranks), __LINE__)
        call fanlight_allreduce(FANLIGHT_IN_PLACE, x, 6, real8, sum_op, comm, error)
        call must(error == 0 .and. all_of(x, 2.5d0 * ranks), __LINE__)

        told(1:2) = [rank, -rank]
        call fanlight_allgather(told, 2, int, all, 2, int, comm, error)
        call must(error == 0 .and. all(1, ranks) == ranks - 1 .and. all(2, 1) == 0, __LINE__)
        all = -7
        all(:, rank + 1) = [rank, 3 * rank]
        call fanlight_allgather(FANLIGHT_IN_PLACE, 0, int, all, 2, int, comm)
        do i = 1, ranks
            call must(all(1, i) == i - 1 .and. all(2, i) == 3 * (i - 1), __LINE__)
        end do
        do i = 1, ranks
            all(:, i) = [100 * rank + i, rank]
        end do
        call fanlight_alltoall(all, 2, int, swapped, 2, int, comm)
        do i = 1, ranks
            call must(swapped(1, i) == 100 * (i - 1) + rank + 1 .and. swapped(2, i) == i - 1, __LINE__)
        end do
        call fanlight_scatter(all, 2, int, prefix, 2, int, 0, comm)
        call must(prefix(1) == rank + 1, __LINE__)
        call fanlight_gather(told, 2, int, swapped, 2, int, 0, comm)
        if (rank == 0) call must(swapped(2, ranks) == 1 - ranks, __LINE__)
        call fanlight_reduce_scatter_block(all, prefix, 2, int, sum_op, comm)
        call must(prefix(1) == 50 * ranks * (ranks - 1) + ranks * (rank + 1), __LINE__)

        counts(1:ranks) = 2
        places(1:ranks) = [(2 * (ranks - i), i = 1, ranks)]  ! backwards
        call fanlight_reduce_scatter(all, prefix, counts, int, sum_op, comm)
        call must(prefix(1) == 50 * ranks * (ranks - 1) + ranks * (rank + 1), __LINE__)
        call fanlight_allgatherv(told, 2, int, swapped, counts, places, int, comm)
        do i = 1, ranks
            call must(swapped(1, ranks + 1 - i) == i - 1, __LINE__)
        end do
        call fanlight_scatterv(swapped, counts, places, int, prefix, 2, int, 0, comm)
        call must(prefix(1) == rank, __LINE__)
        swapped = -1
        call fanlight_gatherv(told, 2, int, swapped, counts, places, int, 0, comm)
        if (rank == 0) call must(swapped(1, 1) == ranks - 1, __LINE__)
        swapped = -1
        call fanlight_alltoallv(all, counts, places, int, swapped, counts, places, int, comm)
        do i = 1, ranks
            call must(swapped(1, ranks + 1 - i) == 100 * (i - 1) + ranks - rank, __LINE__)
        end do
        types(1:ranks) = int
        bytes(1:ranks) = 4 * places(1:ranks)
        swapped = -1
        call fanlight_alltoallw(all, counts, bytes, types, swapped, counts, bytes, types, comm)
        do i = 1, ranks
            call must(swapped(1, ranks + 1 - i) == 100 * (i - 1) + ranks - rank, __LINE__)
        end do

        x = rank
        call fanlight_iallreduce(x, y, 6, real8, sum_op, comm, request, error)
        call run(request, 0)
        call must(error == 0 .and. all_of(y, ranks * (ranks - 1) / 2d0), __LINE__)
        if (persistent /= 0) then
            call fanlight_allreduce_init(x, y, 6, real8, sum_op, comm, info, request)
            do i = 1, 5
                x = i
                call run(request, 1)
                call must(all_of(y, dble(i * ranks)), __LINE__)
            end do
            call run(request, 2)
        end if

        call fanlight_set_algorithm(comm, 'bcast:linear', error)
        call fanlight_get_algorithm(comm, 'bcast', 100_c_long_long, text)
        call must(error == 0, __LINE__)
        if (ranks > 1) call must(text(1:10) == 'linear by ', __LINE__)
        call fanlight_get_algorithm(comm, 'sing', 100_c_long_long, text, error)
        call must(error /= 0 .and. text == ' ', __LINE__)
        call fanlight_set_algorithm(comm, '')
    end subroutine test

    pure logical function all_of(x, value)
        real(c_double), intent(in) :: x(:, :), value
        all_of = maxval(abs(x - value)) <= 0
    end function all_of

end module procedures
