! Static imbalance: ranks 5 to 7 own the dense part of the grid, and nobody moves it.
! --fixed: the same work in total, the same for everyone.
program static_imbalance
  use mpi
  use zoo
  implicit none
  integer, parameter :: n_steps = 30
  integer :: rank, n_ranks, step, error
  real(c_double) :: solve_ms
  logical :: faulty

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, n_ranks, error)
  call zoo_enter("main", __FILE__, __LINE__)
  faulty = zoo_is_faulty()
  if (.not. faulty) then
    solve_ms = (27d0 * (n_ranks - 3) + 45d0 * 3) / n_ranks
  else if (5 <= rank .and. rank <= 7) then
    solve_ms = 45d0
  else
    solve_ms = 27d0
  end if
  do step = 1, n_steps
    call timestep()
  end do
  call MPI_Finalize(error)

contains

  subroutine timestep()
    double precision :: mine, smallest
    call zoo_enter("timestep", __FILE__, __LINE__)
    call physics()
    call solve()
    mine = 1d0 / (rank + step)
    call MPI_Allreduce(mine, smallest, 1, MPI_DOUBLE_PRECISION, MPI_MIN, MPI_COMM_WORLD, error)
    call zoo_leave()
  end subroutine

  subroutine physics()
    call zoo_enter("physics", __FILE__, __LINE__)
    call zoo_work(8d0)
    call zoo_leave()
  end subroutine

  subroutine solve()
    call zoo_enter("solve", __FILE__, __LINE__)
    call zoo_work(solve_ms)
    call zoo_leave()
  end subroutine

end program
