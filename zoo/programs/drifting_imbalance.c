/* Drifting imbalance: from step 10 on, particles gather on rank 3, which has more to do in
 * every step; the work of all ranks together stays the same.
 * --fixed: particles are shared out anew in each step. */
#include "program.h"

enum { N_STEPS = 40, FIRST_STEP = 10 };

static void move_particles(int step) {
    ZOO_REGION("move_particles");
    double extra = step < FIRST_STEP ? 0 : 1.6 * (step - FIRST_STEP + 1) / (N_STEPS - FIRST_STEP);
    if (!faulty) zoo_work(24);
    else if (rank == 3) zoo_work(24 * (1 + extra));
    else zoo_work(24 * (1 - extra / (n_ranks - 1)));
}

static void solve_field(void) { ZOO_REGION("solve_field"); zoo_work(8); }

static void timestep(int step) {
    ZOO_REGION("timestep");
    solve_field();
    move_particles(step);
    agree_on_time_step(step);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    for (int step = 0; step < N_STEPS; step++) timestep(step);
    return MPI_Finalize();
}
