/* What `ouzel record` is tried on: processes without MPI, of which some only start others and wait.
 *   processes HOW MS…     a child for each MS, which computes so many milliseconds of processor time, and one that waits for
 *                         the end of all; HOW is `fork` (the first process starts them) or `server` (a child of it does)
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double processor_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

__attribute__((noinline)) void compute(double ms) {
    for (double end = processor_s() + ms / 1000; processor_s() < end;)
        ;
}

/* Children that compute, and their end. */
static void start(int n, char **ms) {
    for (int i = 0; i < n; i++)
        if (fork() == 0) {
            compute(atof(ms[i]));
            exit(0);
        }
    for (int i = 0; i < n; i++) wait(NULL);
}

int main(int argc, char **argv) {
    int ends[2];
    char byte;
    if (argc < 3 || pipe(ends)) return 2;
    if (fork() == 0) {
        close(ends[1]);
        while (read(ends[0], &byte, 1) > 0)
            ;
        exit(0);
    }
    close(ends[0]);
    if (strcmp(argv[1], "server")) {
        start(argc - 2, argv + 2);
    } else if (fork() == 0) {
        start(argc - 2, argv + 2);
        exit(0);
    } else {
        wait(NULL);
    }
    close(ends[1]);
    wait(NULL);
    return 0;
}
