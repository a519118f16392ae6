! zoo.h for Fortran.
module zoo
  use, intrinsic :: iso_c_binding
  implicit none

  interface
    subroutine c_enter(name, file, line) bind(c, name="zoo_enter")
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*), file(*)
      integer(c_int), value :: line
    end subroutine
    subroutine zoo_leave() bind(c, name="zoo_leave")
    end subroutine
    subroutine zoo_work(ms) bind(c, name="zoo_work")
      import :: c_double
      real(c_double), value :: ms
    end subroutine
  end interface

contains

  subroutine zoo_enter(name, file, line)
    character(len=*), intent(in) :: name, file
    integer, intent(in) :: line
    call c_enter(trim(name)//c_null_char, trim(file)//c_null_char, int(line, c_int))
  end subroutine

  logical function zoo_is_faulty()
    character(len=32) :: argument
    integer :: i
    zoo_is_faulty = .true.
    do i = 1, command_argument_count()
      call get_command_argument(i, argument)
      if (argument == "--fixed") zoo_is_faulty = .false.
    end do
  end function

end module
