/* Imbalance of communication only: everybody computes the same, but rank 2 owns all shared
 * cells and sends all the messages. Each message costs the sender 0.5 ms (emulated).
 * --fixed: cells are shared out; the same messages in total, the same number from everyone. */
#include "program.h"

enum { N_STEPS = 20, HUB = 2, N_VALUES = 32 };

static double out[N_VALUES], in[N_VALUES];

static void solve(void) { ZOO_REGION("solve"); zoo_work(30); }

static int n_messages(int from, int to) {
    if (from == to) return 0;
    return faulty ? (from == HUB ? n_ranks : 0) : 1;
}

static void send_shared(int step) {
    ZOO_REGION("send_shared");
    for (int to = 0; to < n_ranks; to++)
        for (int i = 0; i < n_messages(rank, to); i++)
            MPI_Send(out, N_VALUES, MPI_DOUBLE, to, step, MPI_COMM_WORLD);
}

static void receive_shared(int step) {
    ZOO_REGION("receive_shared");
    for (int from = 0; from < n_ranks; from++)
        for (int i = 0; i < n_messages(from, rank); i++)
            MPI_Recv(in, N_VALUES, MPI_DOUBLE, from, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void timestep(int step) {
    ZOO_REGION("timestep");
    solve();
    send_shared(step);
    agree_on_time_step(step);
    receive_shared(step);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    zoo_network(500, 0);
    for (int step = 0; step < N_STEPS; step++) timestep(step);
    return MPI_Finalize();
}
