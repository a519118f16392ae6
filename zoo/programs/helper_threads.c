/* Helper threads that are no OpenMP workers: in each step three POSIX threads of each rank
 * compress blocks and append them to one buffer under a mutex, 3 ms of every 7 ms; the main
 * thread computes meanwhile and then waits for them.
 * --fixed: each appends to a buffer of its own. */
#include "program.h"

#include <pthread.h>

enum { N_STEPS = 8, N_HELPERS = 3, N_BLOCKS = 6 };

static pthread_mutex_t buffer_mutex = PTHREAD_MUTEX_INITIALIZER;

static void compress_block(void) { ZOO_REGION("compress_block"); zoo_work(4); }

static void append_block(void) {
    ZOO_REGION("append_block");
    if (faulty) zoo_lock_mutex(&buffer_mutex, 0);
    zoo_work(3);
    if (faulty) zoo_unlock_mutex(&buffer_mutex, 0);
}

static void *run_helper(void *number) {
    zoo_begin_thread(*(int *)number);
    zoo_wait_ended();
    ZOO_REGION("run_helper");
    for (int block = 0; block < N_BLOCKS; block++) {
        compress_block();
        append_block();
    }
    return NULL;
}

static void solve(void) { ZOO_REGION("solve"); zoo_work(32); }

static void timestep(int step) {
    ZOO_REGION("timestep");
    pthread_t helpers[N_HELPERS];
    int numbers[N_HELPERS];
    for (int i = 0; i < N_HELPERS; i++) {
        numbers[i] = i + 1;
        pthread_create(&helpers[i], NULL, run_helper, &numbers[i]);
    }
    solve();
    for (int i = 0; i < N_HELPERS; i++) zoo_join_thread(&helpers[i]);
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
