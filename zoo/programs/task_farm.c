/* A task farm: rank 0 hands out parameter sets and takes results from whoever has one
 * (MPI_ANY_SOURCE). It merges each result into the statistics itself, 4 ms, before it hands
 * out the next set; seven workers, who take 16 ms for a task, ask more often than that.
 * --fixed: workers merge what they have computed, and rank 0 only hands out. */
#include "program.h"

enum { N_TASKS = 140, N_VALUES = 64, TAG_TASK = 1, TAG_RESULT, TAG_STOP };

static double values[N_VALUES];

static void merge_result(void) { ZOO_REGION("merge_result"); zoo_work(4); }

static void next_parameters(void) { ZOO_REGION("next_parameters"); zoo_work(0.1); }

static void hand_out(int to, int task) {
    ZOO_REGION("hand_out");
    next_parameters();
    MPI_Send(values, 4, MPI_DOUBLE, to, task < N_TASKS ? TAG_TASK : TAG_STOP, MPI_COMM_WORLD);
}

static void run_master(void) {
    ZOO_REGION("run_master");
    int n_handed_out = 0;
    for (int to = 1; to < n_ranks; to++) hand_out(to, n_handed_out++);
    for (int n_done = 0; n_done < N_TASKS; n_done++) {
        MPI_Status status;
        MPI_Recv(values, N_VALUES, MPI_DOUBLE, MPI_ANY_SOURCE, TAG_RESULT, MPI_COMM_WORLD, &status);
        if (faulty) merge_result();
        hand_out(status.MPI_SOURCE, n_handed_out++);
    }
}

static void sample(void) { ZOO_REGION("sample"); zoo_work(3); }
static void integrate(void) { ZOO_REGION("integrate"); zoo_work(12); }

static void compute_task(void) {
    ZOO_REGION("compute_task");
    sample();
    integrate();
    zoo_work(1);
}

static void run_worker(void) {
    ZOO_REGION("run_worker");
    for (;;) {
        MPI_Status status;
        MPI_Recv(values, N_VALUES, MPI_DOUBLE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == TAG_STOP) break;
        compute_task();
        if (!faulty) merge_result();
        MPI_Send(values, N_VALUES, MPI_DOUBLE, 0, TAG_RESULT, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    if (rank == 0) run_master();
    else run_worker();
    return MPI_Finalize();
}
