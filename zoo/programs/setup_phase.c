/* A long set-up before the time loop: reading, dividing and building the mesh takes as long
 * as ten steps, and is no slow iteration of anything. In the loop rank 1 has 50 % more in
 * `stiffness` and what it calls. --fixed: elements are shared out; the same work in total. */
#include "program.h"

enum { N_STEPS = 25 };

static double elements;

static void read_mesh(void) {
    ZOO_REGION("read_mesh");
    static double mesh[1024];
    zoo_work(rank == 0 ? 20 : 0);
    MPI_Bcast(mesh, 1024, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    zoo_work(60);
}

static void divide_mesh(void) {
    ZOO_REGION("divide_mesh");
    for (int level = 0; level < 3; level++) {
        zoo_work(50);
        agree_on_time_step(level);
    }
}

static void build_operators(void) { ZOO_REGION("build_operators"); zoo_work(80); }

static void set_up(void) {
    ZOO_REGION("set_up");
    read_mesh();
    divide_mesh();
    build_operators();
    MPI_Barrier(MPI_COMM_WORLD);
}

static void quadrature(void) { ZOO_REGION("quadrature"); zoo_work(9 * elements); }
static void constitutive_law(void) { ZOO_REGION("constitutive_law"); zoo_work(7 * elements); }

static void stiffness(void) {
    ZOO_REGION("stiffness");
    quadrature();
    constitutive_law();
}

static void integrate(void) { ZOO_REGION("integrate"); zoo_work(12); }

static void timestep(int step) {
    ZOO_REGION("timestep");
    exchange_halo(step);
    stiffness();
    integrate();
    agree_on_time_step(step);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    elements = !faulty ? (n_ranks + 0.5) / n_ranks : rank == 1 ? 1.5 : 1;
    set_up();
    for (int step = 0; step < N_STEPS; step++) timestep(step);
    return MPI_Finalize();
}
