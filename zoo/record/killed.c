/* Ranks that compute and reduce for some seconds, of which one is killed: arguments are the rank, after how many
 * milliseconds, and where each rank counts its reductions, so that the count outlives it. */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N_STEPS = 12000, WORK = 60000 };

static void *kill_later(void *milliseconds) {
    usleep(1000 * (useconds_t)(size_t)milliseconds);
    kill(getpid(), SIGKILL);
    return NULL;
}

/* The rank as the launcher says it, before MPI does. */
static int rank_of_launcher(void) {
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank) rank = getenv("PMI_RANK");
    return rank ? atoi(rank) : -1;
}

static volatile long *counter(const char *prefix) {
    char path[4096];
    snprintf(path, sizeof path, "%s.%d", prefix, rank_of_launcher());
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ftruncate(file, sizeof(long))) exit(1);
    void *mapped = mmap(NULL, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) exit(1);
    return mapped;
}

int main(int argc, char **argv) {
    if (argc < 4) return 1;
    volatile long *n = counter(argv[3]);
    pthread_t thread;
    size_t milliseconds = (size_t)atol(argv[2]);
    if (rank_of_launcher() == atoi(argv[1]) && pthread_create(&thread, NULL, kill_later, (void *)milliseconds)) return 1;
    MPI_Init(&argc, &argv);
    volatile double x = 1;
    for (int step = 0; step < N_STEPS; step++) {
        for (int i = 0; i < WORK; i++) x = x * 0.999999 + 1e-6;
        double mine = x, all;
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        ++*n;
    }
    return MPI_Finalize();
}
