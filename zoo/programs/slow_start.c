/* A slow start: in the first ten of sixty steps the solver starts from a poor guess and needs
 * nine sweeps instead of three, on all ranks alike.
 * --fixed: it starts from the solution on a coarser grid; three sweeps in all steps. */
#include "program.h"

enum { N_STEPS = 60, N_SLOW = 10 };

static void sweep(void) { ZOO_REGION("sweep"); zoo_work(2.5); }

static void solve(int step) {
    ZOO_REGION("solve");
    int n_sweeps = faulty && step < N_SLOW ? 9 : 3;
    for (int i = 0; i < n_sweeps; i++) sweep();
}

static void transport(void) { ZOO_REGION("transport"); zoo_work(6); }

static void timestep(int step) {
    ZOO_REGION("timestep");
    transport();
    solve(step);
    agree_on_time_step(step);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    for (int step = 0; step < N_STEPS; step++) timestep(step);
    return MPI_Finalize();
}
