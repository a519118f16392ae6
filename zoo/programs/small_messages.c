/* Too many small messages: each cell of the boundary is sent on its own.
 * Each message costs the sender 1 ms (emulated). --fixed: one message with all of them. */
#include "program.h"

enum { N_STEPS = 10, N_CELLS = 20, N_VALUES = 8 };

static double out[N_CELLS * N_VALUES], in[N_CELLS * N_VALUES];

static void solve(void) { ZOO_REGION("solve"); zoo_work(50); }

static void exchange_cells(int step) {
    ZOO_REGION("exchange_cells");
    int right = (rank + 1) % n_ranks, left = (rank + n_ranks - 1) % n_ranks;
    int n_messages = faulty ? N_CELLS : 1, n_values = faulty ? N_VALUES : N_CELLS * N_VALUES;
    for (int i = 0; i < n_messages; i++)
        MPI_Send(out + i * n_values, n_values, MPI_DOUBLE, right, step, MPI_COMM_WORLD);
    for (int i = 0; i < n_messages; i++)
        MPI_Recv(in + i * n_values, n_values, MPI_DOUBLE, left, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void timestep(int step) {
    ZOO_REGION("timestep");
    solve();
    exchange_cells(step);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    zoo_network(1000, 0);
    for (int step = 0; step < N_STEPS; step++) timestep(step);
    agree_on_time_step(N_STEPS);
    return MPI_Finalize();
}
