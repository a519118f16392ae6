/* What recording costs a program: steps of computation, each with a call of MPI that waits for nobody, on some threads of
 * each rank. Prints processor time of all ranks between start and end, the number of calls a second and rank of the first
 * thread, and the most memory that a rank had.
 *   overhead THREADS STEPS WORK [HZ]   with HZ, a signal that nothing is done with interrupts the first thread so often a
 *                                      second of its processor time: what each sampler by signals costs at least */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long n_steps, work;

static double seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

__attribute__((noinline)) static double compute(double x) {
    for (long i = 0; i < work; i++) x = x * 0.999999 + 1e-6;
    return x;
}

static void *compute_only(void *unused) {
    (void)unused;
    volatile double x = 1;
    for (long step = 0; step < n_steps; step++) x = compute(x);
    return NULL;
}

static void compute_and_call(void) {
    double x = 1;
    for (long step = 0; step < n_steps; step++) {
        x = compute(x);
        MPI_Send(&x, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    }
}

static void do_nothing(int signal) { (void)signal; }

/* Interrupts this thread; 0 if the system does not allow it. */
static int interrupt(long hz) {
    struct sigaction action = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};
    struct perf_event_attr clock = {.type = PERF_TYPE_SOFTWARE, .size = sizeof clock, .config = PERF_COUNT_SW_TASK_CLOCK,
                                    .sample_period = 1000000000ul / hz, .disabled = 1, .wakeup_events = 1};
    int file = (int)syscall(SYS_perf_event_open, &clock, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    struct f_owner_ex owner = {F_OWNER_TID, (int)syscall(SYS_gettid)};
    return file >= 0 && sigaction(SIGURG, &action, NULL) == 0 && fcntl(file, F_SETOWN_EX, &owner) == 0 &&
           fcntl(file, F_SETSIG, SIGURG) == 0 && fcntl(file, F_SETFL, O_ASYNC) == 0 &&
           ioctl(file, PERF_EVENT_IOC_ENABLE, 0) == 0;
}

int main(int argc, char **argv) {
    enum { MOST_THREADS = 1024 };
    static pthread_t threads[MOST_THREADS];
    int rank, provided, n_threads = argc > 1 ? atoi(argv[1]) : 1;
    n_steps = argc > 2 ? atol(argv[2]) : 10000;
    work = argc > 3 ? atol(argv[3]) : 100000;
    if (n_threads < 1 || n_threads > MOST_THREADS) return 1;
    if (argc > 4 && !interrupt(atol(argv[4]))) return 2;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    double processor = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
    for (int i = 1; i < n_threads; i++)
        if (pthread_create(&threads[i], NULL, compute_only, NULL)) return 1;
    compute_and_call();
    wall = seconds(CLOCK_MONOTONIC) - wall;
    for (int i = 1; i < n_threads; i++) pthread_join(threads[i], NULL);
    processor = seconds(CLOCK_PROCESS_CPUTIME_ID) - processor;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double peak = (double)usage.ru_maxrss * 1024, rate = (double)n_steps / wall, of_all[2], least;
    MPI_Reduce(&processor, &of_all[0], 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&peak, &of_all[1], 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&rate, &least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("{\"processor_seconds\": %.6f, \"peak_bytes\": %.0f, \"calls_per_second\": %.0f}\n", of_all[0], of_all[1], least);
    return MPI_Finalize();
}
