/* Adaptive mesh refinement: the refined region moves. For ten steps it lies on one rank,
 * then on another, and within a step everybody waits for that rank; over the whole run each
 * of the four has the same. The mesh is only divided anew at the start.
 * --fixed: patches are shared out when the refined region has moved; the same work in total. */
#include "program.h"

enum { N_STEPS = 40, N_EPOCH = 10, N_VALUES = 128 };

static const int refined_rank[] = {1, 4, 6, 3};
static double out[N_VALUES], in[2][N_VALUES];
static double patches;

static void fill_ghosts(int tag) {
    ZOO_REGION("fill_ghosts");
    MPI_Request requests[4];
    int right = (rank + 1) % n_ranks, left = (rank + n_ranks - 1) % n_ranks;
    MPI_Irecv(in[0], N_VALUES, MPI_DOUBLE, left, tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in[1], N_VALUES, MPI_DOUBLE, right, tag, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out, N_VALUES, MPI_DOUBLE, right, tag, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(out, N_VALUES, MPI_DOUBLE, left, tag, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void godunov(void) { ZOO_REGION("godunov"); zoo_work(14 * patches); }
static void interpolate(void) { ZOO_REGION("interpolate"); zoo_work(4 * patches); }

static void advance_patches(void) {
    ZOO_REGION("advance_patches");
    interpolate();
    godunov();
}

static void solve_gravity(void) { ZOO_REGION("solve_gravity"); zoo_work(6); }

static void tag_cells(void) { ZOO_REGION("tag_cells"); zoo_work(2); }

static void distribute(int step) {
    if (!faulty) patches = 1.125;
    else patches = rank == refined_rank[step / N_EPOCH] ? 2 : 1;
}

static void timestep(int step) {
    ZOO_REGION("timestep");
    distribute(step);
    fill_ghosts(step);
    solve_gravity();
    advance_patches();
    if (step % N_EPOCH == N_EPOCH - 1) tag_cells();
    agree_on_time_step(step);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    for (int step = 0; step < N_STEPS; step++) timestep(step);
    return MPI_Finalize();
}
