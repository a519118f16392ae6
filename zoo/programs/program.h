/* What the C programs of the zoo have in common: their start and their step. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "../trace/zoo.h"

#include <mpi.h>
#include <stdlib.h>

static int rank, n_ranks, faulty;

static inline void program_begin(int argc, char **argv) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    faulty = zoo_is_faulty(argc, argv);
}

/* Ends a step as most simulations do: with the largest allowed next time step. */
static inline void agree_on_time_step(int step) {
    double mine = 1.0 / (rank + step + 1), smallest;
    MPI_Allreduce(&mine, &smallest, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
}

/* Sends to the right and receives from the left. */
static inline void exchange_halo(int tag) {
    static double out[64], in[64];
    ZOO_REGION("exchange_halo");
    MPI_Request requests[2];
    MPI_Irecv(in, 64, MPI_DOUBLE, (rank + n_ranks - 1) % n_ranks, tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 64, MPI_DOUBLE, (rank + 1) % n_ranks, tag, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

#endif
