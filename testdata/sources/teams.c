/* Teams of four and of two threads: uneven work before a barrier, a critical section before the barrier at the end, and
 * code that the first thread runs alone. Work is emulated by sleeping. */
#include <omp.h>
#include <unistd.h>

static void work(int ms) {
    usleep(ms * 1000);
}

int main(void) {
    for (int step = 0; step < 3; step++) {
        work(20);
#pragma omp parallel num_threads(4)
        {
            work(10 + 20 * omp_get_thread_num());
#pragma omp barrier
#pragma omp critical
            work(5);
        }
#pragma omp parallel num_threads(2)
        work(30);
    }
    return 0;
}
