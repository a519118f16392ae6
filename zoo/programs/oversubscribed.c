/* Two ranks share a core: 2 and 3 are preempted in turn. All ranks make the same calls with
 * the same work; on these two, after each 6 ms of work another 6 ms pass for the other rank,
 * inside of whatever they do: most visits take as long as anywhere, some many times as long.
 * --fixed: each rank has a core of its own. */
#include "program.h"

enum { N_STEPS = 24, N_BLOCKS = 4 };

static const double SLICE_MS = 6;
static double used_ms;
static int shares_a_core;

/* Work on a core that is taken away after each slice. */
static void compute(double ms) {
    zoo_work(ms);
    used_ms += ms;
    while (shares_a_core && SLICE_MS <= used_ms) {
        used_ms -= SLICE_MS;
        zoo_work(SLICE_MS);
    }
}

static void flux(void) { ZOO_REGION("flux"); compute(1.6); }
static void source_terms(void) { ZOO_REGION("source_terms"); compute(0.9); }

static void update_block(void) {
    ZOO_REGION("update_block");
    flux();
    source_terms();
}

static void implicit_solve(void) { ZOO_REGION("implicit_solve"); compute(5.3); }

static void timestep(int step) {
    ZOO_REGION("timestep");
    exchange_halo(step);
    for (int block = 0; block < N_BLOCKS; block++) update_block();
    implicit_solve();
    agree_on_time_step(step);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    shares_a_core = faulty && (rank == 2 || rank == 3);
    used_ms = rank == 3 ? SLICE_MS / 2 : 0;
    for (int step = 0; step < N_STEPS; step++) timestep(step);
    return MPI_Finalize();
}
