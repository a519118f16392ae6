/* An ensemble of two weather forecasts on four ranks each: a communicator for each member,
 * whose ranks agree after each step; all ranks meet after every fifth step for statistics.
 * Rank 6 has a storm: 60 % more in `physics`. Its member waits for it in each step, and the
 * other member after every fifth.
 * --fixed: the member shares its columns out by cost; the same work in total. */
#include "program.h"

enum { N_STEPS = 30, EVERY = 5, STORM = 6 };

static MPI_Comm member;
static double columns;

static void advect(void) { ZOO_REGION("advect"); zoo_work(8); }

static void convection(void) { ZOO_REGION("convection"); zoo_work(6 * columns); }
static void microphysics(void) { ZOO_REGION("microphysics"); zoo_work(5 * columns); }
static void radiation(void) { ZOO_REGION("radiation"); zoo_work(5 * columns); }

static void physics(void) {
    ZOO_REGION("physics");
    convection();
    microphysics();
    radiation();
}

static void reduce_over(MPI_Comm comm) {
    double mine = rank, largest;
    MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, comm);
}

static void statistics(void) {
    ZOO_REGION("statistics");
    zoo_work(2);
    reduce_over(MPI_COMM_WORLD);
}

static void timestep(int step) {
    ZOO_REGION("timestep");
    advect();
    physics();
    reduce_over(member);
    if (step % EVERY == EVERY - 1) statistics();
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 4, rank, &member);
    MPI_Comm_set_name(member, rank / 4 == 0 ? "member 0" : "member 1");
    columns = rank < 4 ? 1 : !faulty ? 4.6 / 4 : rank == STORM ? 1.6 : 1;
    for (int step = 0; step < N_STEPS; step++) timestep(step);
    return MPI_Finalize();
}
