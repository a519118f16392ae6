/* What a program of the zoo sees: regions that the tracer records, work that is slept,
 * and the switch that takes the fault away.
 *
 * Shape: free functions, one state per process. Law: without ZOO_TRACE in the environment
 * nothing is recorded and the program does the same. Not here: MPI, which is wrapped in
 * mpi.c without the program knowing.
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

/* omp_set_lock and omp_unset_lock, recorded. `lock` is an omp_lock_t. */
void zoo_set_lock(void *lock, uint32_t lock_id);
void zoo_unset_lock(void *lock, uint32_t lock_id);

#endif
