/* Nothing wrong: even work, neighbours that need each other, one collective in a step,
 * output in parallel. --fixed changes nothing. */
#include "program.h"

enum { N_STEPS = 30 };

static void solve(void) { ZOO_REGION("solve"); zoo_work(44); }
static void physics(void) { ZOO_REGION("physics"); zoo_work(12); }
static void write_output(void) { ZOO_REGION("write_output"); zoo_work(6); }

static void timestep(int step) {
    ZOO_REGION("timestep");
    exchange_halo(step);
    solve();
    physics();
    if (step % 10 == 9) write_output();
    agree_on_time_step(step);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    for (int step = 0; step < N_STEPS; step++) timestep(step);
    return MPI_Finalize();
}
