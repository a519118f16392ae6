/* A mesh that is divided anew every twelve steps: between that, a shock crosses the cells of
 * one rank, then of another, which has more to do in every step, up to 2.5 times as much.
 * --fixed: it is divided anew every third step, which costs 3 ms each time. */
#include "program.h"

enum { N_STEPS = 36, N_INTERVAL = 12, N_VALUES = 32 };

static const int shocked_rank[] = {2, 5, 0};

static double cells_of_rank(int step) {
    int since = step % (faulty ? N_INTERVAL : 3);
    double extra = 1.5 * since / (N_INTERVAL - 1);
    return rank == shocked_rank[step / N_INTERVAL] ? 1 + extra : 1 - extra / (n_ranks - 1);
}

static void partition(void) { ZOO_REGION("partition"); zoo_work(2); }
static void migrate(void) {
    ZOO_REGION("migrate");
    static double out[8 * N_VALUES], in[8 * N_VALUES];
    zoo_work(1);
    MPI_Alltoall(out, N_VALUES, MPI_DOUBLE, in, N_VALUES, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void rebalance(void) {
    ZOO_REGION("rebalance");
    double mine = rank, all[8];
    MPI_Allgather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    partition();
    migrate();
}

static void gradients(double cells) { ZOO_REGION("gradients"); zoo_work(5 * cells); }
static void limiter(double cells) { ZOO_REGION("limiter"); zoo_work(3 * cells); }

static void advance_cells(int step) {
    ZOO_REGION("advance_cells");
    double cells = cells_of_rank(step);
    gradients(cells);
    limiter(cells);
    zoo_work(6 * cells);
}

static void timestep(int step) {
    ZOO_REGION("timestep");
    if (step > 0 && step % (faulty ? N_INTERVAL : 3) == 0) rebalance();
    exchange_halo(step);
    advance_cells(step);
    agree_on_time_step(step);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    for (int step = 0; step < N_STEPS; step++) timestep(step);
    return MPI_Finalize();
}
