! Late senders: even ranks compute their interior before they send the boundary their odd
! neighbours wait for. Everybody has the same work, only the order is wrong.
! --fixed: even ranks send as soon as the boundary is there.
program late_sender
  use mpi
  use zoo
  implicit none
  integer, parameter :: n_steps = 30, n_values = 128
  integer :: rank, n_ranks, step, error
  double precision :: boundary(n_values) = 0d0
  logical :: faulty

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, n_ranks, error)
  call zoo_enter("main", __FILE__, __LINE__)
  faulty = zoo_is_faulty()
  do step = 1, n_steps
    call timestep()
  end do
  call MPI_Finalize(error)

contains

  subroutine timestep()
    double precision :: mine, total
    call zoo_enter("timestep", __FILE__, __LINE__)
    if (mod(rank, 2) == 0) then
      if (faulty) then
        call interior()
        call exchange()
        call edge()
      else
        call edge()
        call exchange()
        call interior()
      end if
    else
      call edge()
      call exchange()
      call interior()
    end if
    mine = boundary(1)
    call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    call zoo_leave()
  end subroutine

  subroutine exchange()
    call zoo_enter("exchange", __FILE__, __LINE__)
    if (mod(rank, 2) == 0) then
      call MPI_Send(boundary, n_values, MPI_DOUBLE_PRECISION, rank + 1, step, MPI_COMM_WORLD, error)
    else
      call MPI_Recv(boundary, n_values, MPI_DOUBLE_PRECISION, rank - 1, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    end if
    call zoo_leave()
  end subroutine

  subroutine interior()
    call zoo_enter("interior", __FILE__, __LINE__)
    call zoo_work(24d0)
    call zoo_leave()
  end subroutine

  subroutine edge()
    call zoo_enter("edge", __FILE__, __LINE__)
    call zoo_work(8d0)
    call zoo_leave()
  end subroutine

end program
