/* A late broadcast: in each step rank 0 reads and interpolates the forcing, 12 ms, before it
 * passes it on; the others wait for the broadcast. No step waits for another otherwise.
 * --fixed: each rank reads a sixth and all gather it. */
#include "program.h"

enum { N_STEPS = 24, N_VALUES = 96 };

static double forcing[N_VALUES], mine[N_VALUES];

static void interpolate(void) { ZOO_REGION("interpolate"); zoo_work(faulty ? 12 : 12.0 / n_ranks); }

static void forcing_of_step(void) {
    ZOO_REGION("forcing_of_step");
    if (faulty) {
        if (rank == 0) interpolate();
        MPI_Bcast(forcing, N_VALUES, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    } else {
        interpolate();
        MPI_Allgather(mine, N_VALUES / n_ranks, MPI_DOUBLE, forcing, N_VALUES / n_ranks, MPI_DOUBLE, MPI_COMM_WORLD);
    }
}

static void solve(void) { ZOO_REGION("solve"); zoo_work(18); }
static void diffuse(void) { ZOO_REGION("diffuse"); zoo_work(5); }

static void timestep(void) {
    ZOO_REGION("timestep");
    forcing_of_step();
    solve();
    diffuse();
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    for (int step = 0; step < N_STEPS; step++) timestep();
    return MPI_Finalize();
}
