/* A stencil on accelerators (a stand-in): each rank launches the interior, exchanges the
 * halo meanwhile, launches the boundary, and waits for its stream. Rank 2 has more cells:
 * its kernels take 60 % longer, and all hosts only launch and wait.
 * --fixed: cells are shared out evenly; the same work in total. */
#include "program.h"

enum { N_STEPS = 30 };

static double cells;

static void update_interior(void) { ZOO_REGION("update_interior"); zoo_launch("stencil_interior", 16 * cells); }
static void update_boundary(void) { ZOO_REGION("update_boundary"); zoo_launch("stencil_boundary", 3 * cells); }

static void timestep(int step) {
    ZOO_REGION("timestep");
    update_interior();
    exchange_halo(step);
    update_boundary();
    zoo_synchronise_device();
    agree_on_time_step(step);
}

static void initialise(void) {
    ZOO_REGION("initialise");
    zoo_work(15);
    zoo_launch("fill", 5);
    zoo_synchronise_device();
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    cells = !faulty ? (n_ranks + 0.6) / n_ranks : rank == 2 ? 1.6 : 1;
    initialise();
    for (int step = 0; step < N_STEPS; step++) timestep(step);
    return MPI_Finalize();
}
