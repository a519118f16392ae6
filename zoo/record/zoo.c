/* zoo.h for programs that `ouzel record` records: no tracer of its own, and MPI as it is.
 *
 * Shape: free functions, one state per thread. Law: without the recorder the same happens, and nothing is recorded.
 * Not here: emulated networks, accelerators and locks; the programs that need them are recorded by zoo/trace.
 */
#include "../trace/zoo.h"

#include <string.h>
#include <time.h>

/* The recorder's; null without it. */
void __attribute__((weak)) ouzel_region_enter(const char *name, const char *file, int line);
void __attribute__((weak)) ouzel_region_leave(const char *name, const char *file, int line);

enum { DEPTH_MAX = 64 };

static __thread struct { const char *name, *file; int line; } stack[DEPTH_MAX];
static __thread int depth;

void zoo_enter(const char *name, const char *file, int line) {
    stack[depth].name = name, stack[depth].file = file, stack[depth].line = line;
    depth++;
    if (ouzel_region_enter) ouzel_region_enter(name, file, line);
}

void zoo_leave(void) {
    depth--;
    if (ouzel_region_leave) ouzel_region_leave(stack[depth].name, stack[depth].file, stack[depth].line);
}

void zoo_work(double ms) {
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    long long ns = deadline.tv_nsec + (long long)(ms * 1e6);
    deadline.tv_sec += ns / 1000000000, deadline.tv_nsec = ns % 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) != 0) {}
}

int zoo_is_faulty(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--fixed") == 0) return 0;
    return 1;
}
