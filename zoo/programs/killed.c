/* A finite-element code that the batch system ends at step 24 of 60: its trace stops in the
 * middle of a step, at a different point on each rank. Rank 2 has 60 % more elements to
 * assemble. --fixed: elements are shared out evenly; it is killed at the same step. */
#include "program.h"

enum { N_STEPS = 60, KILLED = 24, N_ITERATIONS = 2 };

static double elements;

static void integrate_elements(void) { ZOO_REGION("integrate_elements"); zoo_work(9 * elements); }
static void add_to_matrix(void) { ZOO_REGION("add_to_matrix"); zoo_work(4 * elements); }

static void assemble(void) {
    ZOO_REGION("assemble");
    integrate_elements();
    add_to_matrix();
}

static void multiply(int tag) {
    ZOO_REGION("multiply");
    exchange_halo(tag);
    zoo_work(3);
}

static void solve(int step) {
    ZOO_REGION("solve");
    for (int i = 0; i < N_ITERATIONS; i++) {
        double mine = rank, sum;
        multiply(N_ITERATIONS * step + i);
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

static void timestep(int step) {
    ZOO_REGION("timestep");
    assemble();
    if (step == KILLED) zoo_killed();
    solve(step);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    elements = !faulty ? (n_ranks + 0.6) / n_ranks : rank == 2 ? 1.6 : 1;
    for (int step = 0; step < N_STEPS; step++) timestep(step);
    return MPI_Finalize();
}
