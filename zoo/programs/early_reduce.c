/* An early reduce: rank 0 needs the sums of all ranks to decide on the next step, and waits
 * in MPI_Reduce for rank 4, which takes 18 ms for its statistics instead of 6 ms; the others
 * go on until they need the decision.
 * --fixed: columns are shared out by cost; the same work in total. */
#include "program.h"

enum { N_STEPS = 24 };

static double columns;

static void sort_columns(void) { ZOO_REGION("sort_columns"); zoo_work(4 * columns); }
static void histogram(void) { ZOO_REGION("histogram"); zoo_work(2 * columns); }

static void statistics(void) {
    ZOO_REGION("statistics");
    sort_columns();
    histogram();
}

static void solve(void) { ZOO_REGION("solve"); zoo_work(14); }
static void smooth(void) { ZOO_REGION("smooth"); zoo_work(3); }
static void decide(void) { ZOO_REGION("decide"); zoo_work(3); }

static void timestep(int step) {
    ZOO_REGION("timestep");
    double mine = rank + step, sum = 0;
    solve();
    statistics();
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) decide();
    else smooth();
    MPI_Bcast(&sum, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    columns = !faulty ? (n_ranks + 2.0) / n_ranks : rank == 4 ? 3 : 1;
    for (int step = 0; step < N_STEPS; step++) timestep(step);
    return MPI_Finalize();
}
