/* What `ouzel record` is tried on: messages with and without requests, persistent ones, any source, nobody,
 * collectives on communicators of several sorts. Prints one line per rank; ends with the code in its argument.
 * With `--die RANK SIGNAL` that rank kills itself in the middle. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_STEPS = 20 };

static int rank, n_ranks;
static double data[1024], other[4096];

static void ring(MPI_Comm comm, int step) {
    MPI_Request requests[2];
    int size, me;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &me);
    MPI_Irecv(other, 1024, MPI_DOUBLE, (me + size - 1) % size, step, comm, &requests[0]);
    MPI_Isend(data, 10 + step, MPI_DOUBLE, (me + 1) % size, step, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void persistent(int n_times) {
    MPI_Request requests[2];
    MPI_Recv_init(other, 100, MPI_CHAR, (rank + n_ranks - 1) % n_ranks, 99, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(data, 100, MPI_CHAR, (rank + 1) % n_ranks, 99, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < n_times; i++) {
        MPI_Status status;
        MPI_Startall(2, requests);
        MPI_Wait(&requests[0], &status);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void collectives(MPI_Comm comm) {
    int size, me, counts[64], places[64];
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &me);
    for (int i = 0; i < size; i++) counts[i] = i + 1, places[i] = 8 * i;
    MPI_Allreduce(data, other, 3, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Bcast(data, 7, MPI_INT, size - 1, comm);
    MPI_Gatherv(data, me + 1, MPI_DOUBLE, other, counts, places, MPI_DOUBLE, 0, comm);
    MPI_Request request;
    MPI_Ibarrier(comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    int dies = argc == 4 && strcmp(argv[1], "--die") == 0;
    MPI_Comm half, copy;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_dup(half, &copy);
    for (int step = 0; step < N_STEPS; step++) {
        ring(step % 2 ? half : MPI_COMM_WORLD, step);
        collectives(step % 3 ? MPI_COMM_WORLD : copy);
        if (dies && step == N_STEPS / 2 && rank == atoi(argv[2])) raise(atoi(argv[3]));
    }
    persistent(4);
    if (rank == 0)
        for (int i = 1; i < n_ranks; i++)
            MPI_Recv(other, 100, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(data, rank, MPI_INT, 0, rank, MPI_COMM_WORLD);
    MPI_Send(data, 5, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(data, 5, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
    printf("rank %d of %d\n", rank, n_ranks);
    MPI_Finalize();
    return argc == 2 ? atoi(argv[1]) : 0;
}
