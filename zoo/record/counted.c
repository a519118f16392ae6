/* What counters and memory show: pages that are touched in one function, computation in another, and many short calls.
 *
 *   counted touch MIB      touches so many MiB of new memory, gives them back, and computes
 *   counted short N        makes N short calls
 *   counted close FILE     closes all files, opens FILE under their numbers and reads it byte by byte
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile double sum;

__attribute__((noinline)) static void touch(long n_bytes)
{
    char *memory = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        exit(1);
    madvise(memory, n_bytes, MADV_NOHUGEPAGE);
    for (long i = 0; i < n_bytes; i += 4096)
        memory[i] = 1;
    munmap(memory, n_bytes);
}

__attribute__((noinline)) static void compute(long n)
{
    for (long i = 0; i < n; i++)
        sum += 1.0 / (i + 1);
}

__attribute__((noinline)) static void short_call(long i)
{
    sum += i;
}

static int close_all(const char *path)
{
    char text[300];
    for (int file = 3; file < 1024; file++)
        close(file);
    int file = open(path, O_RDONLY);
    for (int number = 500; number < 600; number++)
        dup2(file, number);
    long n = 0;
    while (n < (long)sizeof text && read(file, text + n, 1) == 1) {
        compute(100000);
        n++;
    }
    printf("%.*s", (int)n, text);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc < 3 ? "" : argv[1];
    if (strcmp(what, "touch") == 0) {
        touch(atol(argv[2]) << 20);
        compute(20000000);
    } else if (strcmp(what, "short") == 0) {
        for (long i = 0; i < atol(argv[2]); i++)
            short_call(i);
    } else if (strcmp(what, "close") == 0) {
        return close_all(argv[2]);
    } else {
        return 2;
    }
    return 0;
}
