! Each loop has a comment with its depth.
module work
contains
  subroutine relax(a, n)
    integer :: n, i, j, k
    real(8) :: a(n, n)
    do k = 1, 10 ! LOOP 1
      do j = 2, n - 1 ! LOOP 2
        do i = 2, n - 1 ! LOOP 3
          a(i, j) = (a(i - 1, j) + a(i + 1, j)) * 0.5d0
        end do
      end do
      call show(a(1, 1))
    end do
  end subroutine
  subroutine show(x)
    real(8) :: x
    integer :: i
    i = 0
    do while (x > i) ! LOOP 1
      i = i + 1
      print *, x
    end do
  end subroutine
end module

program main
  use work
  real(8) :: a(50, 50)
  integer :: it
  a = 1 ! LOOP 1, and 2 of the other dimension
  outer: do it = 1, 5 ! LOOP 1
    call relax(a, 50)
    if (a(2, 2) > 100) cycle outer
    print *, sum(a) ! LOOP 2, and 3 of the other dimension
  end do outer
end program
