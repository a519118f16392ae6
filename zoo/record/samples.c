/* Programs whose call paths are known, by their first argument. They use processor time and no MPI.
 *   split N      main calls heavy and light N times; heavy does 7 of 10 parts of the work
 *   threads N    the same in N threads at the same time
 *   sequence N   N threads, one after the other
 *   stack N      as split, with a stack for signals of 8 KiB, behind which nothing may be written
 *   deep N       a function that calls itself N times, then works
 *   signals N    the program has a handler for the signal of samples, and raises it N times
 *   nap N, tail N, blocked N   main calls a function N times that sleeps, ends with a call that sleeps, or is blocked unseen
 *   fork         the child does what split does, the parent waits and does the same
 *   exec         another program, which is this one with `split`, takes the place of this one
 *   kill N       as split, then the program kills itself by SIGKILL
 *   load FILE N  calls work_loaded(N) of a library that is loaded, and unloads it
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
static volatile double sink;

static inline __attribute__((always_inline)) double inner(long n, double x)
{
    for (long i = 0; i < n; i++)
        x = x * 1.0000001 + 1e-9;
    return x;
}

NOINLINE static void heavy(long n)
{
    sink = inner(7 * n, 1);
}

NOINLINE static void light(long n)
{
    sink = inner(3 * n, 1);
}

NOINLINE static void split(long n)
{
    for (long i = 0; i < n; i++) {
        heavy(1000);
        light(1000);
    }
}

static void *in_thread(void *n)
{
    split((long)n);
    return NULL;
}

static void *short_thread(void *n)
{
    sink = (long)n;
    return NULL;
}

NOINLINE static long deep(long n)
{
    long below = n == 0 ? (split(60000), 0) : deep(n - 1);
    sink = below;
    return below + 1;
}

NOINLINE static int nap(void)
{
    struct timespec time = {0, 1000000};
    return nanosleep(&time, NULL) + usleep(1000);
}

/* The compiler makes a jump of the last call. */
NOINLINE static int rest(void)
{
    sink = inner(1000, 1);
    return usleep(1000);
}

/* 20 ms in a call of the system that nobody records, between some work. */
NOINLINE static void blocked(void)
{
    struct timespec time = {0, 20000000};
    sink = inner(3000000, 1);
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
    sink = inner(3000000, 1);
}

static volatile sig_atomic_t n_signals;

static void on_signal(int number)
{
    (void)number;
    n_signals++;
}

int main(int argc, char **argv)
{
    const char *what = argc < 2 ? "" : argv[1];
    long n = argc < 3 ? 0 : atol(argv[argc - 1]);
    if (strcmp(what, "split") == 0) {
        split(n);
    } else if (strcmp(what, "threads") == 0) {
        pthread_t threads[64];
        for (long i = 0; i < n && i < 64; i++)
            pthread_create(&threads[i], NULL, in_thread, (void *)40000L);
        for (long i = 0; i < n && i < 64; i++)
            pthread_join(threads[i], NULL);
    } else if (strcmp(what, "sequence") == 0) {
        for (long i = 0; i < n; i++) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, short_thread, (void *)i) != 0)
                return 1;
            pthread_join(thread, NULL);
        }
    } else if (strcmp(what, "stack") == 0) {
        char *all = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char *top = all + (1 << 20) - 8192;
        if (all == MAP_FAILED || mprotect(top, 8192, PROT_READ | PROT_WRITE) != 0)
            return 1;
        stack_t small = {.ss_sp = top, .ss_size = 8192};
        if (sigaltstack(&small, NULL) != 0)
            return 2;
        split(n);
    } else if (strcmp(what, "deep") == 0) {
        printf("%ld\n", deep(n));
    } else if (strcmp(what, "signals") == 0) {
        signal(SIGURG, on_signal);
        for (long i = 0; i < n; i++) {
            split(300);
            raise(SIGURG);
        }
        printf("%d\n", (int)n_signals);
    } else if (strcmp(what, "nap") == 0) {
        for (long i = 0; i < n; i++)
            nap();
    } else if (strcmp(what, "tail") == 0) {
        for (long i = 0; i < n; i++)
            rest();
    } else if (strcmp(what, "blocked") == 0) {
        for (long i = 0; i < n; i++)
            blocked();
    } else if (strcmp(what, "fork") == 0) {
        if (fork() == 0) {
            split(60000);
            return 0;
        }
        wait(NULL);
        split(60000);
    } else if (strcmp(what, "exec") == 0) {
        split(3000);
        execl("/no/such/program", "x", (char *)NULL);
        execv(argv[0], (char *[]){argv[0], "split", "60000", NULL});
        return 1;
    } else if (strcmp(what, "kill") == 0) {
        split(n);
        kill(getpid(), SIGKILL);
    } else if (strcmp(what, "load") == 0) {
        void *file = dlopen(argv[2], RTLD_NOW);
        void (*work)(long) = file ? (void (*)(long))dlsym(file, "work_loaded") : NULL;
        if (!work)
            return 1;
        work(n);
        dlclose(file);
        for (int i = 0; i < 100; i++) {
            file = dlopen(argv[2], RTLD_NOW);
            split(20);
            dlclose(file);
        }
    } else if (strcmp(what, "load-many") == 0) {
        /* A thousand files, of which every other one stays. */
        for (int i = 0; i < 1000; i++) {
            char path[4096];
            snprintf(path, sizeof path, "%s/%d.so", argv[2], i);
            void *file = dlopen(path, RTLD_NOW);
            void (*work)(long) = file ? (void (*)(long))dlsym(file, "work_loaded") : NULL;
            if (!work)
                return 1;
            work(n);
            if (i % 2)
                dlclose(file);
        }
    } else {
        return 2;
    }
    return 0;
}
