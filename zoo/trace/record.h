/* Events of this process, kept in memory until the program ends.
 *
 * Shape: one growing array of events per thread, one table of regions per process.
 * Law: times are nanoseconds of CLOCK_MONOTONIC, which is one clock for all processes of
 * the machine, and never go back within a thread. Not here: files, see write.c.
 */
#ifndef ZOO_RECORD_H
#define ZOO_RECORD_H

#include <stddef.h>
#include <stdint.h>

/* The last buffer is that of the accelerator's stream. */
enum { N_THREADS_MAX = 64, DEVICE = N_THREADS_MAX - 1, N_REGIONS_MAX = 256, DEPTH_MAX = 64,
       N_COMMS_MAX = 64, N_MEMBERS_MAX = 64 };

enum event_kind {
    EVENT_ENTER, EVENT_LEAVE,
    EVENT_SEND, EVENT_RECV, EVENT_ISEND, EVENT_ISEND_DONE, EVENT_IRECV_POSTED, EVENT_IRECV,
    EVENT_COLLECTIVE_BEGIN, EVENT_COLLECTIVE_END, EVENT_COMM_MADE,
    EVENT_LOCK, EVENT_UNLOCK
};

enum region_kind { REGION_USER, REGION_MPI, REGION_MPI_COLLECTIVE, REGION_MPI_BARRIER, REGION_MPI_MESSAGE,
                   REGION_MPI_ONE2ALL, REGION_MPI_ALL2ONE, REGION_MPI_OTHER,
                   REGION_OPENMP_PARALLEL, REGION_OPENMP_BARRIER, REGION_OPENMP_LOOP, REGION_OPENMP_LOCK,
                   REGION_PTHREAD, REGION_CUDA, REGION_CUDA_KERNEL };

struct region {
    char name[64];
    char file[64];
    int32_t line;
    int32_t kind;
};

struct event {
    uint64_t time_ns;
    uint32_t kind;
    uint32_t comm;        /* number of a communicator */
    uint32_t region;      /* of an enter or leave; operation of a collective; id of a lock */
    uint32_t peer;        /* of a message; root of a collective; order of a lock */
    uint32_t tag;         /* of a message; whether a lock is a mutex */
    uint64_t bytes;       /* of a message; sent by a collective */
    uint64_t request;     /* of a non-blocking message; bytes received by a collective */
};

/* A communicator other than MPI_COMM_WORLD, as each of its members knows it. */
struct communicator {
    uint32_t key, parent;
    int32_t is_first;     /* whether this rank is its rank 0 */
    int32_t n_members;
    int32_t members[N_MEMBERS_MAX];
    char name[32];
};

struct buffer {
    struct event *events;
    size_t n_events, n_room;
    uint32_t stack[DEPTH_MAX];
    size_t depth;
};

extern struct region zoo_regions[N_REGIONS_MAX];
extern uint32_t zoo_n_regions;
extern struct communicator zoo_comms[N_COMMS_MAX];
extern uint32_t zoo_n_comms;
extern struct buffer zoo_buffers[N_THREADS_MAX];
extern int zoo_recording;

uint64_t zoo_now_ns(void);
void zoo_sleep_until(uint64_t deadline_ns);
uint32_t zoo_region(const char *name, const char *file, int line, enum region_kind kind);
void zoo_record(struct event event);
/* On the accelerator's stream instead of the calling thread. */
void zoo_record_device(struct event event);
/* The factor of the next work: 1, but for up to 0.4 %. */
double zoo_jitter(void);
void zoo_push(uint32_t region, uint64_t time_ns);
void zoo_pop(uint64_t time_ns);
/* Closes what is open on all threads. */
void zoo_close_all(uint64_t time_ns);
/* Drops of each thread what a buffer of 64 events would still have held, which was last
 * written at another point on each rank; nothing is closed. */
void zoo_cut_all(void);

/* Gathers the events of all ranks and writes them on rank 0. */
void zoo_write(const char *folder, uint64_t from_ns, uint64_t to_ns);

/* What is left of the program's name for its notes. */
extern int zoo_rank, zoo_n_ranks;

#endif
