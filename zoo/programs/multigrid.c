/* Multigrid: V-cycles over four levels with persistent requests for the halos of each level.
 * The coarsest system is gathered to rank 0, which solves it alone, 9 ms, and scatters the
 * solution. --fixed: each rank solves an eighth of it. */
#include "program.h"

enum { N_CYCLES = 9, N_LEVELS = 4, N_VALUES = 128 };

static MPI_Request halo[N_LEVELS][4];
static double out[N_LEVELS][2][N_VALUES], in[N_LEVELS][2][N_VALUES];

static void make_requests(void) {
    ZOO_REGION("make_requests");
    int right = (rank + 1) % n_ranks, left = (rank + n_ranks - 1) % n_ranks;
    for (int level = 0; level < N_LEVELS; level++) {
        int n = N_VALUES >> level, tag = 2 * level;
        MPI_Recv_init(in[level][0], n, MPI_DOUBLE, left, tag, MPI_COMM_WORLD, &halo[level][0]);
        MPI_Recv_init(in[level][1], n, MPI_DOUBLE, right, tag + 1, MPI_COMM_WORLD, &halo[level][1]);
        MPI_Send_init(out[level][0], n, MPI_DOUBLE, right, tag, MPI_COMM_WORLD, &halo[level][2]);
        MPI_Send_init(out[level][1], n, MPI_DOUBLE, left, tag + 1, MPI_COMM_WORLD, &halo[level][3]);
    }
}

static void relax(double ms) { ZOO_REGION("relax"); zoo_work(ms); }

/* The interior is relaxed while the halo is under way. */
static void smooth(int level) {
    ZOO_REGION("smooth");
    double ms = 10.0 / (1 << level);
    MPI_Startall(4, halo[level]);
    relax(0.9 * ms);
    MPI_Waitall(4, halo[level], MPI_STATUSES_IGNORE);
    relax(0.1 * ms);
}

static void restrict_residual(int level) { ZOO_REGION("restrict_residual"); zoo_work(2.0 / (1 << level)); }
static void prolong_correction(int level) { ZOO_REGION("prolong_correction"); zoo_work(2.0 / (1 << level)); }

static void factorise(void) { ZOO_REGION("factorise"); zoo_work(faulty ? 6 : 0.75); }
static void substitute(void) { ZOO_REGION("substitute"); zoo_work(faulty ? 3 : 0.375); }

static void coarse_solve(void) {
    ZOO_REGION("coarse_solve");
    static double all[8 * 16], mine[16];
    MPI_Gather(mine, 16, MPI_DOUBLE, all, 16, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (!faulty || rank == 0) {
        factorise();
        substitute();
    }
    MPI_Scatter(all, 16, MPI_DOUBLE, mine, 16, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void v_cycle(int level) {
    ZOO_REGION("v_cycle");
    smooth(level);
    restrict_residual(level);
    if (level + 1 < N_LEVELS) v_cycle(level + 1);
    else coarse_solve();
    prolong_correction(level);
    smooth(level);
}

static void residual_norm(void) {
    ZOO_REGION("residual_norm");
    double mine = 1.0 / (rank + 1), sum;
    zoo_work(1);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    make_requests();
    for (int cycle = 0; cycle < N_CYCLES; cycle++) {
        v_cycle(0);
        residual_norm();
    }
    return MPI_Finalize();
}
