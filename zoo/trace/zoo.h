/* What a program of the zoo sees: regions that the tracer records, work that is slept,
 * and the switch that takes the fault away.
 *
 * Shape: free functions, one state per process. Law: without ZOO_TRACE in the environment
 * nothing is recorded and the program does the same. Not here: MPI, which is wrapped in
 * mpi.c, messages.c and collectives.c without the program knowing.
 */
#ifndef ZOO_H
#define ZOO_H

#include <stdint.h>

/* Whether the planted fault is in: no `--fixed` among the arguments. */
int zoo_is_faulty(int argc, char **argv);

/* Compute for so many milliseconds: sleeps up to a deadline, so that 16 ranks on two
 * cores take as long as on 16 cores. Varies by up to 0.4 %, the same in every run. */
void zoo_work(double ms);

/* From now on each message costs the sender, and each collective everybody, so many
 * microseconds inside of the MPI call. The default is nothing but what MPI itself takes. */
void zoo_network(double us_per_message, double us_per_collective);

/* The same sequence in every run: uniform in [0, 1), by rank and number of the draw. */
double zoo_random(uint64_t draw);

/* Regions of the calling thread. They are closed in reverse order. */
void zoo_enter(const char *name, const char *file, int line);
void zoo_leave(void);
/* The calling thread has waited in something that is not wrapped: its next work starts now. */
void zoo_wait_ended(void);
static inline void zoo_leave_scope(int *scope) { (void)scope; zoo_leave(); }

/* A region from here to the end of the block. */
#define ZOO_REGION(name)                                                                       \
    __attribute__((cleanup(zoo_leave_scope), unused)) int zoo_scope =                          \
        (zoo_enter(name, __FILE__, __LINE__), 0)

/* A named OpenMP construct, recorded as such. */
void zoo_enter_openmp(const char *name, const char *file, int line);

/* The calling thread, which OpenMP did not start, is number `thread` of its process, from 1. */
void zoo_begin_thread(int thread);
/* pthread_join, recorded. `thread` is a pthread_t. */
void zoo_join_thread(void *thread);
/* pthread_mutex_lock and pthread_mutex_unlock, recorded. `mutex` is a pthread_mutex_t. */
void zoo_lock_mutex(void *mutex, uint32_t lock_id);
void zoo_unlock_mutex(void *mutex, uint32_t lock_id);

/* A kernel on the stand-in for an accelerator: it starts when those before it have ended. */
void zoo_launch(const char *kernel, double ms);
/* Waits until all kernels have ended. */
void zoo_synchronise_device(void);

/* Ends the program as if it were killed: what a buffer of 64 events holds is not recorded,
 * and nothing is left that was entered. Called by all ranks. */
void zoo_killed(void);

/* omp_set_lock and omp_unset_lock, recorded. `lock` is an omp_lock_t. */
void zoo_set_lock(void *lock, uint32_t lock_id);
void zoo_unset_lock(void *lock, uint32_t lock_id);

#endif
