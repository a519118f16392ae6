/* A chain of delays: rank 1 takes 20 ms for its chemistry, the others 4 ms, and is late with
 * the values that rank 2 needs, who is late for rank 3, and so on to rank 5; each of these
 * waits for the one before it, and works 3 ms on what it gets.
 * --fixed: cells with chemistry are shared out; the same work in total. */
#include "program.h"

enum { N_STEPS = 24, N_VALUES = 64 };

static double values[N_VALUES];
static double cells;

static void interior(void) { ZOO_REGION("interior"); zoo_work(14); }
static void chemistry(void) { ZOO_REGION("chemistry"); zoo_work(4 * cells); }
static void edge(void) { ZOO_REGION("edge"); zoo_work(3); }

static void sweep(int step) {
    ZOO_REGION("sweep");
    if (1 < rank) MPI_Recv(values, N_VALUES, MPI_DOUBLE, rank - 1, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (0 < rank) edge();
    if (0 < rank && rank + 1 < n_ranks) MPI_Send(values, N_VALUES, MPI_DOUBLE, rank + 1, step, MPI_COMM_WORLD);
}

static void timestep(int step) {
    ZOO_REGION("timestep");
    interior();
    chemistry();
    sweep(step);
    agree_on_time_step(step);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    cells = !faulty ? (n_ranks + 4.0) / n_ranks : rank == 1 ? 5 : 1;
    for (int step = 0; step < N_STEPS; step++) timestep(step);
    return MPI_Finalize();
}
