/* One slow rank: rank 5 takes one and a half times as long for everything, as on a core
 * that is clocked down. --fixed: it is as fast as the others. */
#include "program.h"

enum { N_STEPS = 30 };

static double slowness;

static void advect(void) { ZOO_REGION("advect"); zoo_work(13 * slowness); }
static void solve(void) { ZOO_REGION("solve"); zoo_work(19 * slowness); }
static void update(void) { ZOO_REGION("update"); zoo_work(8 * slowness); }

static void timestep(int step) {
    ZOO_REGION("timestep");
    advect();
    solve();
    update();
    agree_on_time_step(step);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    slowness = faulty && rank == 5 ? 1.5 : 1.0;
    for (int step = 0; step < N_STEPS; step++) timestep(step);
    return MPI_Finalize();
}
