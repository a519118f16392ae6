/* A finite-volume code on 2 x 2 x 2 ranks: a communicator for each line of ranks along x, y
 * and z, halos of six faces, two stages of Runge-Kutta in a step. Ranks 3 and 6 own cells
 * with chemistry: 45 % more in `advance` and in all that it calls.
 * --fixed: cells are shared out by their cost; the same work in total. */
#include "program.h"

enum { N_STEPS = 9, N_STAGES = 2, N_AXES = 3, N_FACE = 256 };

static MPI_Comm grid, lines[N_AXES];
static double faces[2 * N_AXES][N_FACE], halos[2 * N_AXES][N_FACE];
static double cost;

static void make_communicators(void) {
    ZOO_REGION("make_communicators");
    static const char *names[] = {"x lines", "y lines", "z lines"};
    MPI_Comm_dup(MPI_COMM_WORLD, &grid);
    MPI_Comm_set_name(grid, "grid");
    for (int axis = 0; axis < N_AXES; axis++) {
        MPI_Comm_split(grid, rank & ~(1 << axis), rank, &lines[axis]);
        MPI_Comm_set_name(lines[axis], names[axis]);
    }
}

static void pack(void) { ZOO_REGION("pack"); zoo_work(0.3); }

/* Both faces along an axis go to the other rank of its line: the grid is periodic. */
static void exchange_halos(int tag) {
    ZOO_REGION("exchange_halos");
    MPI_Request requests[4 * N_AXES];
    int n = 0;
    pack();
    for (int axis = 0; axis < N_AXES; axis++) {
        int other = 1 - (rank >> axis & 1);
        for (int side = 0; side < 2; side++)
            MPI_Irecv(halos[2 * axis + side], N_FACE, MPI_DOUBLE, other, 2 * tag + side, lines[axis], &requests[n++]);
        for (int side = 0; side < 2; side++)
            MPI_Isend(faces[2 * axis + side], N_FACE, MPI_DOUBLE, other, 2 * tag + side, lines[axis], &requests[n++]);
    }
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
}

static void reconstruct(void) { ZOO_REGION("reconstruct"); zoo_work(4 * cost); }
static void solve_riemann(void) { ZOO_REGION("solve_riemann"); zoo_work(7 * cost); }

static void fluxes(void) {
    ZOO_REGION("fluxes");
    reconstruct();
    solve_riemann();
    zoo_work(1.5 * cost);
}

static void react(void) { ZOO_REGION("react"); zoo_work(5 * cost); }

static void advance(void) {
    ZOO_REGION("advance");
    fluxes();
    react();
    zoo_work(1 * cost);
}

static void boundary_conditions(void) { ZOO_REGION("boundary_conditions"); zoo_work(2); }

static void runge_kutta_stage(int tag) {
    ZOO_REGION("runge_kutta_stage");
    exchange_halos(tag);
    boundary_conditions();
    advance();
}

static double courant_limit(int step) {
    ZOO_REGION("courant_limit");
    double mine = 1.0 / (rank + step + 1), smallest;
    zoo_work(1);
    MPI_Allreduce(&mine, &smallest, 1, MPI_DOUBLE, MPI_MIN, grid);
    return smallest;
}

static void timestep(int step) {
    ZOO_REGION("timestep");
    courant_limit(step);
    for (int stage = 0; stage < N_STAGES; stage++) runge_kutta_stage(N_STAGES * step + stage);
}

static void initialise(void) {
    ZOO_REGION("initialise");
    zoo_work(20);
    make_communicators();
}

static void finalise(void) {
    ZOO_REGION("finalise");
    double mine = rank, sum;
    zoo_work(5);
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, grid);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    cost = !faulty ? (6 + 2 * 1.45) / 8 : rank == 3 || rank == 6 ? 1.45 : 1;
    initialise();
    for (int step = 0; step < N_STEPS; step++) timestep(step);
    finalise();
    return MPI_Finalize();
}
