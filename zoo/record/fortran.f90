! The same in Fortran, by the interface that MODULE names: a ring, a collective, any source.
program main
  use MODULE
  implicit none
  integer :: rank, n_ranks, step, error, request_index
  double precision :: mine(100), others(100)
#ifdef F08
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status
#else
  integer :: requests(2), status(MPI_STATUS_SIZE)
#endif
  mine = 1
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, n_ranks, error)
  do step = 1, 10
    call MPI_Irecv(others, 100, MPI_DOUBLE_PRECISION, modulo(rank - 1, n_ranks), step, MPI_COMM_WORLD, requests(1), error)
    call MPI_Isend(mine, step, MPI_DOUBLE_PRECISION, modulo(rank + 1, n_ranks), step, MPI_COMM_WORLD, requests(2), error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    call MPI_Allreduce(mine, others, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  end do
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, others, 2, MPI_INTEGER, MPI_COMM_WORLD, error)
  if (rank == 0) then
    do step = 2, n_ranks
      call MPI_Recv(others, 100, MPI_INTEGER, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, status, error)
    end do
  else
    call MPI_Isend(mine, rank, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, requests(1), error)
    call MPI_Waitany(1, requests, request_index, MPI_STATUS_IGNORE, error)
  end if
  call MPI_Finalize(error)
end program
