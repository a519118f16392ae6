// Threads and processes that wait for each other, a known number of times: each call below says whether it has to wait.
// What functions return is printed, so that a recorded run can be compared with a bare one.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SAY(...) (printf(__VA_ARGS__), putchar('\n'))
/// The result of a call, and the error number or what else is there after it.
#define SAY_BOTH(name, call, then) do { int result = (call); SAY(name " %d %d", result, then); } while (0)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int is_ready;
static int ends[2];

/// Returns when a thread of this process is blocked in the kernel.
static void until_blocked(volatile pid_t *thread) {
    char path[64], line[256];
    while (*thread == 0) sched_yield();
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", *thread);
    do {
        FILE *file = fopen(path, "r");
        line[fread(line, 1, sizeof line - 1, file)] = 0;
        fclose(file);
    } while (strrchr(line, ')')[2] != 'S');
}

static volatile pid_t waiter;

__attribute__((noinline)) static void update(void) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static void *lock_mutex(void *none) {
    waiter = syscall(SYS_gettid);
    update();
    return none;
}

static void *lock_to_read(void *none) {
    waiter = syscall(SYS_gettid);
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    return none;
}

static void *lock_to_write(void *none) {
    waiter = syscall(SYS_gettid);
    pthread_rwlock_wrlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    return none;
}

static void *wait_for_condition(void *none) {
    pthread_mutex_lock(&mutex);
    waiter = syscall(SYS_gettid);
    while (!is_ready) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    return none;
}

static void *wait_for_semaphore(void *none) {
    waiter = syscall(SYS_gettid);
    sem_wait(&semaphore);
    return none;
}

static void *wait_at_barrier(void *none) {
    waiter = syscall(SYS_gettid);
    pthread_barrier_wait(&barrier);
    return none;
}

static void *read_from_pipe(void *none) {
    char byte;
    waiter = syscall(SYS_gettid);
    SAY("read %zd", read(ends[0], &byte, 1));
    return none;
}

static void *wait_for_events(void *none) {
    struct pollfd file = {ends[0], POLLIN, 0};
    waiter = syscall(SYS_gettid);
    SAY("poll %d", poll(&file, 1, -1));
    return none;
}

/// Runs a function in a thread until it is blocked, and then lets it go on.
#define BLOCKED(function, release) do { \
    pthread_t thread; \
    waiter = 0; \
    pthread_create(&thread, NULL, function, NULL); \
    until_blocked(&waiter); \
    release; \
    pthread_join(thread, NULL); \
} while (0)

static void in_turn(void) {
    char byte = 0;
    // Free: no call is recorded.
    for (int i = 0; i < 1000; i++) {
        update();
        pthread_rwlock_rdlock(&rwlock), pthread_rwlock_unlock(&rwlock);
        pthread_rwlock_wrlock(&rwlock), pthread_rwlock_unlock(&rwlock);
        sem_post(&semaphore), sem_wait(&semaphore);
    }
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&mutex);
        BLOCKED(lock_mutex, pthread_mutex_unlock(&mutex));
        pthread_rwlock_wrlock(&rwlock);
        BLOCKED(lock_to_read, pthread_rwlock_unlock(&rwlock));
        pthread_rwlock_wrlock(&rwlock);
        BLOCKED(lock_to_write, pthread_rwlock_unlock(&rwlock));
        is_ready = 0;
        BLOCKED(wait_for_condition, (pthread_mutex_lock(&mutex), is_ready = 1, pthread_cond_signal(&condition),
                                     pthread_mutex_unlock(&mutex)));
        BLOCKED(wait_for_semaphore, sem_post(&semaphore));
        BLOCKED(wait_at_barrier, pthread_barrier_wait(&barrier));
        BLOCKED(wait_for_events, (void)!write(ends[1], &byte, 1));
        SAY("read %zd", read(ends[0], &byte, 1));
        BLOCKED(read_from_pipe, (void)!write(ends[1], &byte, 1));
        pid_t child = fork();
        if (child == 0) _exit(3);
        int status = 0;
        SAY_BOTH("waitpid", waitpid(child, &status, 0) == child, WEXITSTATUS(status));
    }
    fflush(stdout);
}

static pthread_mutex_t mutex_of(int type, int robustness) {
    pthread_mutexattr_t attributes;
    pthread_mutex_t made;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutexattr_setrobust(&attributes, robustness);
    pthread_mutex_init(&made, &attributes);
    return made;
}

static void *lock_and_end(void *robust) {
    pthread_mutex_lock(robust);
    return NULL;
}

static void *lock_taken(void *taken) {
    struct timespec past = {0, 0};
    SAY("timedlock %d", pthread_mutex_timedlock(taken, &past));
    return NULL;
}

static void *take_until_cancelled(void *none) {
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
    for (;;) {
        sem_post(&semaphore);
        sem_wait(&semaphore);
    }
}


static void unlock(void *taken) { pthread_mutex_unlock(taken); }

static void *wait_until_cancelled(void *none) {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, &mutex);
    waiter = syscall(SYS_gettid);
    for (;;) pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(1);
    return none;
}

/// What functions return where they do not simply succeed.
static void results(void) {
    pthread_t thread;
    void *ended;
    struct timespec past = {0, 0}, wrong = {0, -1};
    pthread_mutex_t checks = mutex_of(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
    SAY("errorcheck %d", pthread_mutex_lock(&checks));
    SAY("errorcheck %d", pthread_mutex_lock(&checks));
    pthread_create(&thread, NULL, lock_taken, &checks), pthread_join(thread, NULL);
    pthread_mutex_t recursive = mutex_of(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
    SAY("recursive %d", pthread_mutex_lock(&recursive));
    SAY("recursive %d", pthread_mutex_lock(&recursive));
    SAY_BOTH("recursive", pthread_mutex_unlock(&recursive), pthread_mutex_unlock(&recursive));
    pthread_mutex_t robust = mutex_of(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
    pthread_create(&thread, NULL, lock_and_end, &robust), pthread_join(thread, NULL);
    SAY("robust %d", pthread_mutex_lock(&robust));
    pthread_mutex_unlock(&robust);
    SAY("robust %d", pthread_mutex_lock(&robust));
    pthread_rwlock_wrlock(&rwlock);
    SAY_BOTH("rwlock", pthread_rwlock_rdlock(&rwlock), pthread_rwlock_wrlock(&rwlock));
    pthread_rwlock_unlock(&rwlock);
    SAY("rwlock %d", pthread_rwlock_timedrdlock(&rwlock, &wrong));
    errno = 42;
    SAY_BOTH("sem_timedwait", sem_timedwait(&semaphore, &past), errno);
    sem_post(&semaphore);
    errno = 42;
    SAY_BOTH("sem_wait", sem_wait(&semaphore), errno);
    pthread_mutex_lock(&mutex);
    SAY("cond_timedwait %d", pthread_cond_timedwait(&condition, &mutex, &past));
    pthread_mutex_unlock(&mutex);
    struct timeval soon = {0, 1000};
    SAY("select %d", select(0, NULL, NULL, NULL, &soon));
    SAY("poll %d", poll(NULL, 0, 1));
    int set = epoll_create1(0);
    struct epoll_event event;
    SAY("epoll_wait %d", epoll_wait(set, &event, 1, 1));
    SAY("join %d", pthread_join(pthread_self(), NULL));
    pthread_create(&thread, NULL, take_until_cancelled, NULL);
    pthread_cancel(thread);
    SAY_BOTH("cancelled", pthread_join(thread, &ended), ended == PTHREAD_CANCELED);
    waiter = 0;
    pthread_create(&thread, NULL, wait_until_cancelled, NULL);
    until_blocked(&waiter);
    pthread_cancel(thread);
    SAY_BOTH("cancelled", pthread_join(thread, &ended), ended == PTHREAD_CANCELED);
    SAY("free %d", pthread_mutex_lock(&mutex));
}

/// Computes and waits in turn, so often that a signal comes between the begin of a wait and the sleep in it; how many of
/// the waits ended before their time.
static void computing(void) {
    int n_interrupted = 0, set = epoll_create1(0);
    struct epoll_event event;
    volatile unsigned work = 0;
    for (int i = 0; i < 4000; i++) {
        struct timespec soon = {0, 1000};
        struct timeval as_soon = {0, 1};
        for (int j = i * 7919 % 20000; j > 0; j--) work += j;
        switch (i % 4) {
        case 0: n_interrupted += nanosleep(&soon, NULL) != 0; break;
        case 1: n_interrupted += select(0, NULL, NULL, NULL, &as_soon) != 0; break;
        case 2: n_interrupted += poll(NULL, 0, 1) != 0; break;
        case 3: n_interrupted += epoll_wait(set, &event, 1, 1) != 0; break;
        }
    }
    SAY("interrupted %d", n_interrupted);
}

int main(int n, char **words) {
    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&semaphore, 0, 0);
    if (pipe(ends) != 0) return 1;
    if (n == 2 && strcmp(words[1], "results") == 0) results();
    else if (n == 2 && strcmp(words[1], "computing") == 0) computing();
    else in_turn();
    return 0;
}
