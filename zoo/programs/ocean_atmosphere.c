/* A coupled model: ranks 0 to 4 are the ocean, 5 to 7 the atmosphere, each with a
 * communicator of its own; after each step their first ranks exchange the surface and pass
 * it on. The ocean has too few ranks: its step takes 40 ms, that of the atmosphere 24 ms.
 * --fixed: ranks as the work requires; the same work in total, 34 ms for everyone. */
#include "program.h"

enum { N_STEPS = 20, N_OCEAN = 5, N_SURFACE = 512 };

static MPI_Comm component;
static int is_ocean;
static double surface[N_SURFACE], other_surface[N_SURFACE];

static void exchange_edges(int tag) {
    ZOO_REGION("exchange_edges");
    int me, n;
    MPI_Comm_rank(component, &me);
    MPI_Comm_size(component, &n);
    MPI_Sendrecv(surface, 64, MPI_DOUBLE, (me + 1) % n, tag, other_surface, 64, MPI_DOUBLE, (me + n - 1) % n, tag,
                 component, MPI_STATUS_IGNORE);
}

static void largest_change(void) {
    ZOO_REGION("largest_change");
    double mine = rank, largest;
    MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, component);
}

static void tracers(void) { ZOO_REGION("tracers"); zoo_work(faulty ? 14 : 12); }
static void barotropic(void) { ZOO_REGION("barotropic"); zoo_work(faulty ? 9 : 7.5); }
static void baroclinic(void) { ZOO_REGION("baroclinic"); zoo_work(faulty ? 17 : 14.5); }

static void ocean_step(int step) {
    ZOO_REGION("ocean_step");
    exchange_edges(step);
    baroclinic();
    barotropic();
    tracers();
    largest_change();
}

static void dynamics(void) { ZOO_REGION("dynamics"); zoo_work(faulty ? 13 : 18.5); }
static void radiation(void) { ZOO_REGION("radiation"); zoo_work(faulty ? 11 : 15.5); }

static void atmosphere_step(int step) {
    ZOO_REGION("atmosphere_step");
    exchange_edges(step);
    dynamics();
    radiation();
    largest_change();
}

static void couple(int step) {
    ZOO_REGION("couple");
    int other = is_ocean ? N_OCEAN : 0;
    if (rank == 0 || rank == N_OCEAN)
        MPI_Sendrecv(surface, N_SURFACE, MPI_DOUBLE, other, step, other_surface, N_SURFACE, MPI_DOUBLE, other, step,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(other_surface, N_SURFACE, MPI_DOUBLE, 0, component);
}

static void initialise(void) {
    ZOO_REGION("initialise");
    is_ocean = rank < N_OCEAN;
    MPI_Comm_split(MPI_COMM_WORLD, is_ocean, rank, &component);
    MPI_Comm_set_name(component, is_ocean ? "ocean" : "atmosphere");
    zoo_work(15);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    initialise();
    for (int step = 0; step < N_STEPS; step++) {
        if (is_ocean) ocean_step(step);
        else atmosphere_step(step);
        couple(step);
    }
    return MPI_Finalize();
}
