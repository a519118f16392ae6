! What `ouzel record` is tried on: a file of MPI in Fortran, by the module that MODULE names.
program parallel
   use MODULE
   implicit none
   integer :: rank, code, i, numbers(10)
   character(len=1000) :: folder
#ifdef F08
   type(MPI_File) :: file
   type(MPI_Request) :: request
#else
   integer :: file, request
#endif
   integer(kind=MPI_OFFSET_KIND) :: place
   call MPI_Init(code)
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
   call get_command_argument(1, folder)
   numbers = [(rank, i = 1, 10)]
   call MPI_File_open(MPI_COMM_WORLD, trim(folder) // '/parallel', MPI_MODE_CREATE + MPI_MODE_RDWR, &
      MPI_INFO_NULL, file, code)
   if (code /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 1, code)
   place = 40 * rank
   call MPI_File_write_at(file, place, numbers, 10, MPI_INTEGER, MPI_STATUS_IGNORE, code)
   call MPI_File_iread_at(file, place, numbers, 5, MPI_INTEGER, request, code)
   call MPI_Wait(request, MPI_STATUS_IGNORE, code)
   if (any(numbers /= rank)) call MPI_Abort(MPI_COMM_WORLD, 2, code)
   call MPI_File_close(file, code)
   call MPI_Finalize(code)
end program
