/* The MPI calls of the Fortran programs, passed on to the wrappers in mpi.c.
 *
 * Open MPI's own Fortran entries go straight to the profiling interface and would not be
 * recorded. Symbols are those of gfortran: lower case and one underscore.
 */
#include <mpi.h>

void mpi_init_(MPI_Fint *error) { *error = MPI_Init(NULL, NULL); }

void mpi_finalize_(MPI_Fint *error) { *error = MPI_Finalize(); }

void mpi_send_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *to, MPI_Fint *tag, MPI_Fint *comm,
               MPI_Fint *error) {
    *error = MPI_Send(buffer, *count, MPI_Type_f2c(*type), *to, *tag, MPI_Comm_f2c(*comm));
}

void mpi_recv_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *from, MPI_Fint *tag, MPI_Fint *comm,
               MPI_Fint *status, MPI_Fint *error) {
    MPI_Status own;
    *error = MPI_Recv(buffer, *count, MPI_Type_f2c(*type), *from, *tag, MPI_Comm_f2c(*comm), &own);
    if (status != MPI_F_STATUS_IGNORE) MPI_Status_c2f(&own, status);
}

void mpi_barrier_(MPI_Fint *comm, MPI_Fint *error) { *error = MPI_Barrier(MPI_Comm_f2c(*comm)); }

void mpi_allreduce_(void *from, void *to, MPI_Fint *count, MPI_Fint *type, MPI_Fint *op, MPI_Fint *comm,
                    MPI_Fint *error) {
    *error = MPI_Allreduce(from, to, *count, MPI_Type_f2c(*type), MPI_Op_f2c(*op), MPI_Comm_f2c(*comm));
}
