/* Output serialised through rank 0, as in PFLOTRAN: in every sixth step rank 0 receives
 * from each rank in order and writes; the others wait in the send, then in the barrier.
 * --fixed: every rank writes its own part at the same time. */
#include "program.h"

enum { N_STEPS = 24, EVERY = 6, N_VALUES = 16384 };

static double values[N_VALUES];

static void solve(void) { ZOO_REGION("solve"); zoo_work(40); }
static void write_chunk(void) { ZOO_REGION("write_chunk"); zoo_work(8); }

static void write_output(int step) {
    ZOO_REGION("write_output");
    if (!faulty) {
        write_chunk();
    } else if (rank == 0) {
        write_chunk();
        for (int from = 1; from < n_ranks; from++) {
            MPI_Recv(values, N_VALUES, MPI_DOUBLE, from, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            write_chunk();
        }
    } else {
        MPI_Send(values, N_VALUES, MPI_DOUBLE, 0, step, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void timestep(int step) {
    ZOO_REGION("timestep");
    solve();
    agree_on_time_step(step);
    if (step % EVERY == EVERY - 1) write_output(step);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    for (int step = 0; step < N_STEPS; step++) timestep(step);
    return MPI_Finalize();
}
