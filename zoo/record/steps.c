// Steps that are shorter than the time between two samples: `steps N` exchanges messages with the neighbour and computes in
// each, and adds up after every tenth.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 1000 };
static double send[CELLS], receive[CELLS];

static __attribute__((noinline)) void exchange(int neighbour) {
    MPI_Request requests[2];
    MPI_Irecv(receive, CELLS, MPI_DOUBLE, neighbour, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(send, CELLS, MPI_DOUBLE, neighbour, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static __attribute__((noinline)) void relax(int times) {
    for (int i = 0; i < times; i++)
        for (int cell = 0; cell < CELLS; cell++)
            send[cell] = 0.5 * (send[cell] + receive[cell]) + 1e-3;
}

static __attribute__((noinline)) double sum(void) {
    double own = 0, all = 0;
    for (int cell = 0; cell < CELLS; cell++)
        own += send[cell];
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, steps = argc > 1 ? atoi(argv[1]) : 100;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double all = 0;
    for (int step = 0; step < steps; step++) {
        exchange(rank ^ 1);
        relax(400);
        if (step % 10 == 9)
            all += sum();
    }
    if (rank == 0)
        printf("%d\n", all > 0);
    MPI_Finalize();
    return 0;
}
