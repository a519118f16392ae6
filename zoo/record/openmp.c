/* What `ouzel record` is tried on: constructs of OpenMP. Work is processor time, so that it is the same on a loaded
 * machine.
 *   openmp uneven N       a parallel region of four threads, of which the last works three times as long as the others, N times
 *   openmp locks N        a critical and a lock that are held most of the time
 *   openmp constructs     each construct once or a few times, with a check of what it computes
 *   openmp sizes N        teams of 4, 2 and 4 threads in turn, N times
 *   openmp nested         teams in teams
 *   openmp many N         N short parallel regions
 *   openmp inside         regions inside of others that are not nested, so of one thread each
 *   openmp roots N        two threads that fork teams of 2 and 3 threads in turn, N times
 *   openmp jump           a function that ends with a region, and one with a barrier: compilers make jumps of both
 *   openmp leave N        thread N of a team ends the process while others work
 */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double processor_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

__attribute__((noinline)) void work(double ms) {
    for (double end = processor_s() + ms / 1000; processor_s() < end;)
        ;
}

static void uneven(int n) {
    for (int i = 0; i < n; i++)
#pragma omp parallel num_threads(4)
        work(omp_get_thread_num() == 3 ? 30 : 10);
}

static void locks(int n) {
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(4)
    {
        for (int i = 0; i < n; i++) {
#pragma omp critical(bank)
            work(4);
            omp_set_lock(&lock);
            work(2);
            omp_unset_lock(&lock);
        }
    }
    omp_destroy_lock(&lock);
}

static int failed(int number) {
    fprintf(stderr, "check %d fails\n", number);
    return number;
}

static long fibonacci(int n) {
    long a, b;
    if (n < 2) return n;
#pragma omp task shared(a)
    a = fibonacci(n - 1);
#pragma omp task shared(b)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

static int constructs(void) {
    long sum = 0, n_single = 0, n_sections = 0, n_unnamed = 0, result = 0, last = -1, n_wrong = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum)
    {
#pragma omp for schedule(dynamic, 7)
        for (int i = 0; i < 1000; i++) sum += i;
#pragma omp for schedule(guided) nowait
        for (size_t i = 0; i < 1000; i++) sum += i;
#pragma omp barrier
#pragma omp for schedule(static, 1) ordered
        for (int i = 0; i < 20; i++) {
#pragma omp ordered
            {
                n_wrong += last != i - 1;
                last = i;
            }
        }
#pragma omp single
        n_single++;
#pragma omp sections
        {
#pragma omp section
            {
#pragma omp atomic
                n_sections++;
            }
#pragma omp section
            {
#pragma omp atomic
                n_sections++;
            }
        }
#pragma omp critical
        n_unnamed++;
    }
    if (sum != 2 * 499500) return failed(1);
    if (n_wrong || last != 19) return failed(2);
    if (n_single != 1 || n_sections != 2 || n_unnamed != 3) return failed(3);
    sum = 0;
#pragma omp parallel for num_threads(3) schedule(dynamic) reduction(+ : sum)
    for (int i = 0; i < 100; i++) sum += i;
    if (sum != 4950) return failed(4);
#pragma omp parallel num_threads(3)
#pragma omp single
    result = fibonacci(10);
    if (result != 55) return failed(5);
    /* Data of tasks: a copy of an array, in the barrier of a team, and undeferred. */
    struct { char text[40]; double x __attribute__((aligned(64))); } data = {"given to the task", 2.5};
    int n_right = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
    for (int i = 0; i < 30; i++) {
#pragma omp task firstprivate(data) shared(n_right) if (i % 2)
        {
            int is_right = !strcmp(data.text, "given to the task") && data.x == 2.5 && (size_t)&data.x % 64 == 0;
#pragma omp atomic
            n_right += is_right;
        }
    }
    return n_right == 30 ? 0 : failed(6);
}

static int nested(void) {
    int n = 0;
    omp_set_max_active_levels(2);
    for (int i = 0; i < 3; i++)
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
#pragma omp atomic
        n++;
    return n == 12 ? 0 : failed(7);
}

static void *root(void *n) {
    for (long i = 0; i < 2 * *(long *)n; i++)
#pragma omp parallel num_threads(i % 2 ? 3 : 2)
        work(0.1);
    return NULL;
}

static void roots(long n) {
    pthread_t other;
    pthread_create(&other, NULL, root, &n);
    root(&n);
    pthread_join(other, NULL);
}

static int inside(void) {
    int n = 0;
    omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
    for (int i = 0; i < 50; i++)
#pragma omp parallel num_threads(2)
#pragma omp atomic
        n++;
    return n == 100 ? 0 : failed(8);
}

__attribute__((noinline)) void meet(void) {
    work(0.1);
#pragma omp barrier
}

__attribute__((noinline)) void jump(void) {
    work(0.1);
#pragma omp parallel num_threads(2)
    {
        meet();
        work(0.1);
    }
}

int main(int argc, char **argv) {
    const char *what = argc < 2 ? "" : argv[1];
    int n = argc < 3 ? 1 : atoi(argv[2]);
    if (!strcmp(what, "uneven")) uneven(n);
    else if (!strcmp(what, "locks")) locks(n);
    else if (!strcmp(what, "constructs")) return constructs();
    else if (!strcmp(what, "nested")) return nested();
    else if (!strcmp(what, "inside")) return inside();
    else if (!strcmp(what, "jump")) jump();
    else if (!strcmp(what, "roots")) roots(n);
    else if (!strcmp(what, "leave")) {
#pragma omp parallel num_threads(3)
        {
            work(5);
#pragma omp barrier
            if (omp_get_thread_num() == n) exit(3);
            work(2000);
        }
    } else if (!strcmp(what, "sizes")) {
        for (int i = 0; i < 3 * n; i++)
#pragma omp parallel num_threads(i % 3 == 1 ? 2 : 4)
            work(0.1);
    } else if (!strcmp(what, "many")) {
        for (int i = 0; i < n; i++)
#pragma omp parallel num_threads(2)
            __asm__ volatile("");
    } else return failed(99);
    return 0;
}
