/* Only MPI is recorded, as when a program is traced without being compiled anew: no function
 * of it is known. Ranks 4 and 5 own the coast: 50 % more work between the exchange and the
 * reduction. --fixed: cells are shared out by cost; the same work in total. */
#include "program.h"

enum { N_STEPS = 30, N_VALUES = 256 };

static double out[N_VALUES], in[2][N_VALUES];

static void exchange(int tag) {
    MPI_Request requests[4];
    int right = (rank + 1) % n_ranks, left = (rank + n_ranks - 1) % n_ranks;
    MPI_Irecv(in[0], N_VALUES, MPI_DOUBLE, left, tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in[1], N_VALUES, MPI_DOUBLE, right, tag, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out, N_VALUES, MPI_DOUBLE, right, tag, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(out, N_VALUES, MPI_DOUBLE, left, tag, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    program_begin(argc, argv);
    double cells = !faulty ? (n_ranks + 1.0) / n_ranks : rank == 4 || rank == 5 ? 1.5 : 1;
    double parameters[8];
    zoo_work(10);
    MPI_Bcast(parameters, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int step = 0; step < N_STEPS; step++) {
        exchange(step);
        zoo_work(26 * cells);
        agree_on_time_step(step);
    }
    return MPI_Finalize();
}
