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

enum { N_THREADS_MAX = 64, N_REGIONS_MAX = 256, DEPTH_MAX = 64 };

enum event_kind {
    EVENT_ENTER, EVENT_LEAVE,
    EVENT_SEND, EVENT_RECV, EVENT_ISEND, EVENT_ISEND_DONE, EVENT_IRECV_POSTED, EVENT_IRECV,
    EVENT_COLLECTIVE_BEGIN, EVENT_COLLECTIVE_END,
    EVENT_LOCK, EVENT_UNLOCK
};

enum region_kind { REGION_USER, REGION_MPI, REGION_MPI_COLLECTIVE, REGION_MPI_BARRIER, REGION_MPI_MESSAGE,
                   REGION_OPENMP_PARALLEL, REGION_OPENMP_BARRIER, REGION_OPENMP_LOCK };

struct region {
    char name[64];
    char file[64];
    int32_t line;
    int32_t kind;
};

struct event {
    uint64_t time_ns;
    uint32_t kind;
    uint32_t region;      /* of an enter or leave; operation of a collective; id of a lock */
    uint32_t peer;        /* of a message; root of a collective; order of a lock */
    uint32_t tag;
    uint64_t bytes;       /* of a message; sent by a collective */
    uint64_t request;     /* of a non-blocking message; bytes received by a collective */
};

struct buffer {
    struct event *events;
    size_t n_events, n_room;
    uint32_t stack[DEPTH_MAX];
    size_t depth;
};

extern struct region zoo_regions[N_REGIONS_MAX];
extern uint32_t zoo_n_regions;
extern struct buffer zoo_buffers[N_THREADS_MAX];
extern int zoo_recording;

uint64_t zoo_now_ns(void);
void zoo_sleep_until(uint64_t deadline_ns);
uint32_t zoo_region(const char *name, const char *file, int line, enum region_kind kind);
void zoo_record(struct event event);
void zoo_push(uint32_t region, uint64_t time_ns);
void zoo_pop(uint64_t time_ns);
/* Closes what is open on all threads. */
void zoo_close_all(uint64_t time_ns);

/* Gathers the events of all ranks and writes them on rank 0. */
void zoo_write(const char *folder, uint64_t from_ns, uint64_t to_ns);

/* What is left of the program's name for its notes. */
extern int zoo_rank, zoo_n_ranks;

#endif
