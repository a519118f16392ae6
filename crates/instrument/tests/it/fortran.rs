//! Fortran.

use crate::harness::{check, instrumented};

const FORTRAN: &str = "\
module m
  implicit none
  integer :: total = 0
contains
  recursive integer function fact(n) result(r)
    integer, intent(in) :: n
    if (n <= 1) then
      r = 1; return
    end if
    r = n * fact(n-1)
  end function
  pure elemental real function sq(x)
    real, intent(in) :: x
    sq = x*x
  end function sq
  subroutine s(a, &
     n) ! with a comment
    use iso_c_binding, only: c_int
    integer :: a(:), n, i, j
    interface
      subroutine q(x)
        integer x
      end subroutine
    end interface
    if (n < 0) return ! early
    if (n > 100) &
      & return
    outer: do i = 1, n
      do j = 1, n
        if (a(i) == j) cycle outer
        if (j > 5) exit outer
        if (total > 1000) return
      end do
    end do outer
    do while (i > 0)
      i = i - 1
      if (i == 1 .and. n == 3) return
    end do
    do 10 i = 1, n
      if (i == 1) goto 10
      a(i) = 1
 10 continue
    !$omp parallel do &
    !$omp& private(j)
    do i = 1, 2
      a(i) = 2
    end do
    !$omp end parallel do
    do concurrent (i = 1:2)
      a(i) = 2
    end do
    select case (n)
    case (2)
      do i=1,2; a(1)=i; enddo
    end select
    call inner()
    goto 20
    total = total - 1
 20 return
  contains
    subroutine inner
      total = total + 1
      find: do
        do i = 1, 3
          if (i == 2) exit find
        end do
      end do find
      mark: block
        do
          exit mark
        end do
      end block mark
    end subroutine inner
  end subroutine s
end module

subroutine old(x)
  real x
  dimension y(3)
  data y /3*1.0/
  x = x + y(1)
100 return
end

program p
  use m
  character(len=10) :: c
  integer :: a(3)
  real :: x
  a = [1, 2, 3]
  call s(a(1:2), 2)
  call s(a, 3)
  call s(a, -1)
  call s(a, 101)
  x = sq(2.0)
  call old(x)
  write (c, '(i4)') fact(4)
  print *, a, c, total, x
  stop 3
end program p
";

#[test]
fn fortran_is_balanced_with_returns_and_loops_that_are_left() {
    check(
        &["gfortran", "-Wall", "-fopenmp", "-Wno-unused", "-w"],
        "c.f90",
        // `stop` ends the program inside of it.
        &FORTRAN.replace("  stop 3\n", ""),
        &[
            "1 p c.f90:85",
            "4 s c.f90:16",
            "2 loop at c.f90:28 c.f90:28 loop",
            "2 loop at c.f90:35 c.f90:35 loop",
            "1 loop at c.f90:39 c.f90:39 loop",
            "1 loop at c.f90:45 c.f90:45 loop",
            "1 loop at c.f90:54 c.f90:54 loop",
            "1 inner c.f90:61",
            "1 loop at c.f90:63 c.f90:63 loop",
            "1 old c.f90:77",
            "4 fact c.f90:5",
        ],
    );
    let skipped: Vec<(String, &str)> =
        instrumented("c.f90", FORTRAN).skipped.into_iter().map(|it| (it.name, it.reason)).collect();
    let expected = [
        ("sq", "pure, elemental or for a device"),
        ("loop at c.f90:49", "do concurrent"),
        ("loop at c.f90:69", "may be left by a jump"),
    ];
    assert_eq!(skipped, expected.map(|(name, reason)| (name.to_owned(), reason)));
}
