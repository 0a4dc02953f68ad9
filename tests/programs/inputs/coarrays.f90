! Coarrays and the collective subroutines of Fortran 2018: each result is known.
program coarrays
  implicit none
  integer :: me, n, step, i, m
  integer :: mine(1000)[*]
  real(8) :: x(500), big(100)
  real(8), allocatable :: given(:)[:]
  me = this_image()
  n = num_images()
  allocate(given(2000)[*])
  do step = 1, 40
    mine = me * step
    sync all
    if (any(mine(:)[mod(me, n) + 1] /= (mod(me, n) + 1) * step)) error stop "get"
    sync all
    given(:)[mod(me, n) + 1] = me
    sync all
    if (any(given /= mod(me + n - 2, n) + 1)) error stop "put"
    x = me + step
    call co_sum(x)
    if (any(x /= n * step + n * (n + 1) / 2)) error stop "co_sum"
    x = me
    call co_sum(x, result_image=mod(step, n) + 1)
    m = me
    call co_max(m)
    if (m /= n) error stop "co_max"
    m = me
    call co_min(m)
    if (m /= 1) error stop "co_min"
    m = me
    call co_reduce(m, times)
    if (m /= product([(i, i = 1, n)])) error stop "co_reduce"
    big = 0
    if (me == mod(step, n) + 1) big = step
    call co_broadcast(big, mod(step, n) + 1)
    if (any(big /= step)) error stop "co_broadcast"
  end do
  if (me == 1) print *, "all right"
contains
  pure function times(a, b) result(c)
    integer, intent(in) :: a, b
    integer :: c
    c = a * b
  end function
end program
