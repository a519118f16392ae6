/* A barrier in a hot loop: sweeps take randomly longer on one rank or the other, and add up
 * to the same in each step; the barrier behind each sweep makes every sweep last as long as
 * its longest. --fixed: no barrier, for no sweep needs the others. */
#include "program.h"

enum { N_STEPS = 10, N_SWEEPS = 12 };

static void sweep(double ms) {
    ZOO_REGION("sweep");
    zoo_work(ms);
    if (faulty) MPI_Barrier(MPI_COMM_WORLD);
}

static void timestep(int step) {
    ZOO_REGION("timestep");
    double ms[N_SWEEPS], sum = 0;
    for (int i = 0; i < N_SWEEPS; i++) sum += ms[i] = 3 + 14 * zoo_random((uint64_t)(step * N_SWEEPS + i));
    for (int i = 0; i < N_SWEEPS; i++) sweep(ms[i] * 10 * N_SWEEPS / sum);
    agree_on_time_step(step);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    for (int step = 0; step < N_STEPS; step++) timestep(step);
    return MPI_Finalize();
}
