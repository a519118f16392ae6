/* A loop with a known count: each iteration takes 50 ms of processor time in what is inlined, then 30 ms in a call; or as
   long as WORK says, in seconds, and two thirds of it. */
#include <stdio.h>
#include <time.h>

#define N 1024
#ifndef STEPS
#define STEPS 20
#define WORK 0.05
#endif
static double u[N];

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline __attribute__((always_inline)) void relax(double until) {
    while (seconds() < until)
        for (int k = 0; k < 100; k++)
            for (int i = 1; i < N - 1; i++) u[i] = 0.3 * (u[i - 1] + u[i] + u[i + 1]) + 1e-3;
}

static __attribute__((noinline)) void residual(double until) {
    while (seconds() < until)
        for (int k = 0; k < 100; k++)
            for (int i = 1; i < N - 1; i++) u[i] = u[i] * 0.999 + 1e-4 * u[i - 1];
}

int main(void) {
    u[0] = 1;
    for (int step = 0; step < STEPS; step++) { /* PLANTED 20 */
        double begin = seconds();
        relax(begin + WORK);
        residual(begin + 1.6 * WORK);
    }
    printf("%d\n", u[N / 2] < 1e9);
    return 0;
}
