/* A lock convoy in OpenMP: eight threads of each rank add what they have computed to a
 * shared grid under one lock, which is always held by somebody.
 * --fixed: each thread adds to a copy of its own. */
#include "program.h"

#include <omp.h>

enum { N_STEPS = 6, N_ROUNDS = 10 };

static omp_lock_t grid_lock;

static void push(void) { ZOO_REGION("push"); zoo_work(12); }

static void deposit(void) {
    ZOO_REGION("deposit");
    if (faulty) zoo_set_lock(&grid_lock, 0);
    zoo_work(2.4);
    if (faulty) zoo_unset_lock(&grid_lock, 0);
}

static void timestep(int step) {
    ZOO_REGION("timestep");
#pragma omp parallel
    {
        zoo_enter_openmp("!$omp parallel @lock_convoy.c", __FILE__, __LINE__);
        for (int i = 0; i < N_ROUNDS; i++) {
            push();
            deposit();
        }
        zoo_enter_openmp("!$omp implicit barrier @lock_convoy.c", __FILE__, __LINE__);
#pragma omp barrier
        zoo_wait_ended();
        zoo_leave();
        zoo_leave();
    }
    agree_on_time_step(step);
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    ZOO_REGION("main");
    program_begin(argc, argv);
    omp_init_lock(&grid_lock);
    for (int step = 0; step < N_STEPS; step++) timestep(step);
    return MPI_Finalize();
}
