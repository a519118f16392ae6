/* What recording costs a call: processor time of two calls that do next to nothing, on one rank.
 * Run it bare and by `ouzel record`, in turn. Medians of 21 times 20,000 calls. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N_ROUNDS = 21, N_CALLS = 20000 };

static double processor_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void reduce(void) {
    double x = 1, y;
    MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

static void send(void) {
    double x = 1;
    MPI_Send(&x, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

static void measure(const char *name, void (*call)(void)) {
    double rounds[N_ROUNDS];
    for (int round = 0; round < N_ROUNDS; round++) {
        double start = processor_ns();
        for (int i = 0; i < N_CALLS; i++) call();
        rounds[round] = (processor_ns() - start) / N_CALLS;
    }
    qsort(rounds, N_ROUNDS, sizeof *rounds, compare);
    printf("%s %.0f ns\n", name, rounds[N_ROUNDS / 2]);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    measure("MPI_Allreduce on MPI_COMM_SELF", reduce);
    measure("MPI_Send to MPI_PROC_NULL", send);
    return MPI_Finalize();
}
