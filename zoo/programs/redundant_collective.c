/* A redundant collective: the global residual is computed after every sweep and looked at
 * once in a step. Each collective costs 2 ms (emulated).
 * --fixed: it is computed once in a step. */
#include "program.h"

enum { N_STEPS = 20, N_SWEEPS = 8 };

static void sweep(void) { ZOO_REGION("sweep"); zoo_work(4); }

static double residual(void) {
    ZOO_REGION("residual");
    double mine = 1.0 / (rank + 1), sum;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

static void timestep(void) {
    ZOO_REGION("timestep");
    for (int i = 0; i < N_SWEEPS; i++) {
        sweep();
        if (faulty || i == N_SWEEPS - 1) residual();
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    zoo_network(0, 2000);
    for (int step = 0; step < N_STEPS; step++) timestep();
    return MPI_Finalize();
}
