/* Conjugate gradients: in each iteration a product with a sparse matrix, whose rows need
 * values of the neighbours, and two dot products over all ranks, one after the other.
 * Each collective costs 1.2 ms (emulated). Three systems are solved.
 * --fixed: both sums in one collective, as in the form of Chronopoulos and Gear. */
#include "program.h"

enum { N_SYSTEMS = 3, N_ITERATIONS = 15, N_VALUES = 64 };

static double out[N_VALUES], in[N_VALUES];

static void exchange_values(int tag) {
    ZOO_REGION("exchange_values");
    MPI_Sendrecv(out, N_VALUES, MPI_DOUBLE, (rank + 1) % n_ranks, tag, in, N_VALUES, MPI_DOUBLE,
                 (rank + n_ranks - 1) % n_ranks, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void multiply(int tag) {
    ZOO_REGION("multiply");
    exchange_values(tag);
    zoo_work(6);
}

static void dot_products(int n) {
    ZOO_REGION("dot_products");
    double mine[2] = {rank + 1.0, rank + 2.0}, sum[2];
    zoo_work(0.4 * n);
    MPI_Allreduce(mine, sum, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void precondition(void) { ZOO_REGION("precondition"); zoo_work(2); }
static void update(void) { ZOO_REGION("update"); zoo_work(0.8); }

static void iterate(int tag) {
    ZOO_REGION("iterate");
    multiply(tag);
    if (faulty) dot_products(1);
    update();
    precondition();
    dot_products(faulty ? 1 : 2);
}

static void assemble(void) { ZOO_REGION("assemble"); zoo_work(25); }

static void solve(int system) {
    ZOO_REGION("solve");
    for (int i = 0; i < N_ITERATIONS; i++) iterate(system * N_ITERATIONS + i);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    zoo_network(0, 1200);
    for (int system = 0; system < N_SYSTEMS; system++) {
        assemble();
        solve(system);
    }
    return MPI_Finalize();
}
