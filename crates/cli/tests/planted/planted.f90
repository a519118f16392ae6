! A loop with a known count in a module procedure.
module solver
  implicit none
  integer, parameter :: n = 1024
  real(8) :: u(n) = 1.0d0
contains
  subroutine relax(until)
    real(8), intent(in) :: until
    integer :: i, k
    do while (seconds() < until)
      do k = 1, 100
        do i = 2, n - 1
          u(i) = 0.3d0 * (u(i-1) + u(i) + u(i+1))
        end do
      end do
    end do
  end subroutine

  subroutine residual(until)
    real(8), intent(in) :: until
    integer :: i, k
    do while (seconds() < until)
      do k = 1, 100
        do i = 2, n - 1
          u(i) = 0.999d0 * u(i) + 1d-4 * u(i-1)
        end do
      end do
    end do
  end subroutine

  real(8) function seconds()
    call cpu_time(seconds)
  end function
end module

program planted
  use solver
  implicit none
  integer :: step
  real(8) :: begin
  do step = 1, 18 ! PLANTED 18
    begin = seconds()
    call relax(begin + 0.05d0)
    call residual(begin + 0.085d0)
  end do
  print '(l1)', u(n / 2) < 1d9
end program
