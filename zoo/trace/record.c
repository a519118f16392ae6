/* Regions, events, the clock and emulated work; see zoo.h and record.h. */
#define _GNU_SOURCE
#include "record.h"
#include "zoo.h"

#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct region zoo_regions[N_REGIONS_MAX];
uint32_t zoo_n_regions;
struct buffer zoo_buffers[N_THREADS_MAX];
int zoo_recording;
int zoo_rank, zoo_n_ranks = 1;

static pthread_mutex_t regions_lock = PTHREAD_MUTEX_INITIALIZER;
/* End of the last work of this thread; 0 if it has waited since. */
static __thread uint64_t cursor_ns;
static __thread uint64_t n_works;
/* Of a thread that OpenMP did not start; 0 of others. */
static __thread int own_thread;

static void fail(const char *what) {
    fprintf(stderr, "zoo: rank %d: %s\n", zoo_rank, what);
    exit(1);
}

uint64_t zoo_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void zoo_sleep_until(uint64_t deadline_ns) {
    struct timespec until = {(time_t)(deadline_ns / 1000000000u), (long)(deadline_ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {}
}

static int thread(void) { return own_thread != 0 ? own_thread : omp_get_thread_num(); }

void zoo_begin_thread(int thread) { own_thread = thread; }

void zoo_wait_ended(void) { cursor_ns = 0; }

int zoo_is_faulty(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--fixed") == 0) return 0;
    return 1;
}

/* SplitMix64 of the rank, the thread and the draw. */
double zoo_random(uint64_t draw) {
    uint64_t z = draw * 0x9E3779B97F4A7C15u + (uint64_t)(zoo_rank * 64 + thread() + 1) * 0xD1B54A32D192ED03u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

double zoo_jitter(void) { return 1.0 + 0.004 * (2.0 * zoo_random(1000000u + n_works++) - 1.0); }

void zoo_work(double ms) {
    double jitter = zoo_jitter();
    uint64_t start_ns = cursor_ns != 0 ? cursor_ns : zoo_now_ns();
    cursor_ns = start_ns + (uint64_t)(ms * jitter * 1e6);
    zoo_sleep_until(cursor_ns);
}

uint32_t zoo_region(const char *name, const char *file, int line, enum region_kind kind) {
    pthread_mutex_lock(&regions_lock);
    uint32_t id = 0;
    while (id < zoo_n_regions && (strcmp(zoo_regions[id].name, name) != 0 || zoo_regions[id].kind != (int)kind)) id++;
    if (id == zoo_n_regions) {
        if (id == N_REGIONS_MAX) fail("too many regions");
        const char *base = file == NULL ? NULL : strrchr(file, '/');
        snprintf(zoo_regions[id].name, sizeof zoo_regions[id].name, "%s", name);
        snprintf(zoo_regions[id].file, sizeof zoo_regions[id].file, "%s",
                 file == NULL ? "" : base == NULL ? file : base + 1);
        zoo_regions[id].line = line;
        zoo_regions[id].kind = (int)kind;
        zoo_n_regions++;
    }
    pthread_mutex_unlock(&regions_lock);
    return id;
}

static struct buffer *mine(void) {
    int index = thread();
    if (DEVICE <= index) fail("too many threads");
    return &zoo_buffers[index];
}

static void append(struct buffer *buffer, struct event event) {
    if (!zoo_recording) return;
    if (buffer->n_events == buffer->n_room) {
        buffer->n_room = buffer->n_room == 0 ? 65536 : 2 * buffer->n_room;
        buffer->events = realloc(buffer->events, buffer->n_room * sizeof event);
        if (buffer->events == NULL) fail("out of memory");
    }
    buffer->events[buffer->n_events++] = event;
}

void zoo_record(struct event event) { append(mine(), event); }

void zoo_record_device(struct event event) { append(&zoo_buffers[DEVICE], event); }

void zoo_push(uint32_t region, uint64_t time_ns) {
    if (!zoo_recording) return;
    struct buffer *buffer = mine();
    if (buffer->depth == DEPTH_MAX) fail("calls nested too deeply");
    buffer->stack[buffer->depth++] = region;
    zoo_record((struct event){.time_ns = time_ns, .kind = EVENT_ENTER, .region = region});
}

void zoo_pop(uint64_t time_ns) {
    if (!zoo_recording) return;
    struct buffer *buffer = mine();
    if (buffer->depth == 0) fail("a region is left that was not entered");
    uint32_t region = buffer->stack[--buffer->depth];
    zoo_record((struct event){.time_ns = time_ns, .kind = EVENT_LEAVE, .region = region});
}

void zoo_close_all(uint64_t time_ns) {
    while (zoo_recording && mine()->depth > 0) zoo_pop(time_ns);
    zoo_recording = 0;
}

void zoo_cut_all(void) {
    zoo_recording = 0;
    for (int i = 0; i < N_THREADS_MAX; i++) {
        size_t n_events = zoo_buffers[i].n_events, n_lost = (n_events + 11 * (size_t)zoo_rank) % 64;
        zoo_buffers[i].n_events = n_lost < n_events ? n_events - n_lost : 0;
    }
}

void zoo_enter(const char *name, const char *file, int line) {
    zoo_push(zoo_region(name, file, line, REGION_USER), zoo_now_ns());
}

void zoo_leave(void) { zoo_pop(zoo_now_ns()); }

void zoo_enter_openmp(const char *name, const char *file, int line) {
    enum region_kind kind = strstr(name, "barrier") != NULL ? REGION_OPENMP_BARRIER
                            : strstr(name, "omp for") != NULL ? REGION_OPENMP_LOOP
                                                              : REGION_OPENMP_PARALLEL;
    zoo_push(zoo_region(name, file, line, kind), zoo_now_ns());
}

/* ---- locks ---- */
static uint32_t n_acquired;

static void begin_locking(const char *name, enum region_kind kind) {
    zoo_push(zoo_region(name, NULL, 0, kind), zoo_now_ns());
}

static void record_lock(enum event_kind kind, uint32_t lock_id, uint32_t order, int is_mutex) {
    zoo_record((struct event){.time_ns = zoo_now_ns(), .kind = kind, .region = lock_id, .peer = order,
                              .tag = (uint32_t)is_mutex});
}

/* Called while the lock is held, so that acquisitions are numbered in order. */
static void end_locking(uint32_t lock_id, int is_mutex) {
    record_lock(EVENT_LOCK, lock_id, ++n_acquired, is_mutex);
    zoo_wait_ended();
    zoo_pop(zoo_now_ns());
}

void zoo_set_lock(void *lock, uint32_t lock_id) {
    begin_locking("omp_set_lock", REGION_OPENMP_LOCK);
    omp_set_lock(lock);
    end_locking(lock_id, 0);
}

void zoo_unset_lock(void *lock, uint32_t lock_id) {
    begin_locking("omp_unset_lock", REGION_OPENMP_LOCK);
    record_lock(EVENT_UNLOCK, lock_id, n_acquired, 0);
    omp_unset_lock(lock);
    zoo_pop(zoo_now_ns());
}

void zoo_lock_mutex(void *mutex, uint32_t lock_id) {
    begin_locking("pthread_mutex_lock", REGION_PTHREAD);
    pthread_mutex_lock(mutex);
    end_locking(lock_id, 1);
}

void zoo_unlock_mutex(void *mutex, uint32_t lock_id) {
    begin_locking("pthread_mutex_unlock", REGION_PTHREAD);
    record_lock(EVENT_UNLOCK, lock_id, n_acquired, 1);
    pthread_mutex_unlock(mutex);
    zoo_pop(zoo_now_ns());
}

void zoo_join_thread(void *thread) {
    begin_locking("pthread_join", REGION_PTHREAD);
    pthread_join(*(pthread_t *)thread, NULL);
    zoo_wait_ended();
    zoo_pop(zoo_now_ns());
}
