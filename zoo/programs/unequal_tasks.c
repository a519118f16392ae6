/* Unequal shares in OpenMP: the rows of a triangular matrix are divided into equal numbers of
 * rows, so that four threads have 4, 8, 12 and 16 ms to do, and wait at the end of the loop.
 * --fixed: rows are handed out one after the other; 10 ms for each thread. */
#include "program.h"

#include <omp.h>

enum { N_STEPS = 12 };

static void eliminate_row(double ms) { ZOO_REGION("eliminate_row"); zoo_work(ms); }

static void eliminate(void) {
    ZOO_REGION("eliminate");
#pragma omp parallel
    {
        zoo_enter_openmp("!$omp parallel @unequal_tasks.c", __FILE__, __LINE__);
        zoo_enter_openmp("!$omp for @unequal_tasks.c", __FILE__, __LINE__);
        zoo_wait_ended();
        for (int row = 0; row < 4; row++) eliminate_row(faulty ? 1.0 * (omp_get_thread_num() + 1) : 2.5);
        zoo_enter_openmp("!$omp implicit barrier @unequal_tasks.c", __FILE__, __LINE__);
#pragma omp barrier
        zoo_wait_ended();
        zoo_leave();
        zoo_leave();
        zoo_leave();
    }
}

static void update(void) { ZOO_REGION("update"); zoo_work(6); }

static void timestep(int step) {
    ZOO_REGION("timestep");
    update();
    eliminate();
    agree_on_time_step(step);
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    ZOO_REGION("main");
    program_begin(argc, argv);
    for (int step = 0; step < N_STEPS; step++) timestep(step);
    return MPI_Finalize();
}
