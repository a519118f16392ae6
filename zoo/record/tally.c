/* An independent count of the MPI calls of any program in C or C++: preloaded behind the recorder, it writes for each rank
 * to the folder TALLY_DIR
 *   call FUNCTION N NANOSECONDS    calls of a function, and the time inside of it
 *   to RANK N BYTES                messages to a rank of the world, and their bytes
 *
 * Shape: one wrapper for each name of a list. Law: nothing here is of the recorder. Arguments of all functions listed are
 * integers and pointers, at most 14, so that one signature passes those of any of them on.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef long A;
#define TAKEN A a, A b, A c, A d, A e, A f, A g, A h, A i, A j, A k, A l, A m, A n
#define PASSED a, b, c, d, e, f, g, h, i, j, k, l, m, n

enum { N_FUNCTIONS_MAX = 256, N_RANKS_MAX = 1024 };
static struct { const char *name; uint64_t n, ns; } calls[N_FUNCTIONS_MAX];
static struct { uint64_t n, bytes; } sent[N_RANKS_MAX];
static int n_functions;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int number(const char *name) {
    if (n_functions == N_FUNCTIONS_MAX) abort();
    calls[n_functions].name = name;
    return n_functions++;
}

static void message(A count, A of_type, A to, A within) {
    MPI_Datatype type;
    MPI_Comm comm;
    MPI_Group group, world;
    int size, rank = (int)to, in_world, is_inter;
    memcpy(&type, &of_type, sizeof type);
    memcpy(&comm, &within, sizeof comm);
    if (rank == MPI_PROC_NULL) return;
    PMPI_Type_size(type, &size);
    PMPI_Comm_test_inter(comm, &is_inter);
    if (is_inter) PMPI_Comm_remote_group(comm, &group);
    else PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, 1, &rank, world, &in_world);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    if (in_world < 0 || in_world >= N_RANKS_MAX) return;
    sent[in_world].n++;
    sent[in_world].bytes += (uint64_t)(int)count * (uint64_t)size;
}

static void print(void) {
    char path[4096];
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/%d", getenv("TALLY_DIR"), rank);
    FILE *out = fopen(path, "w");
    if (out == NULL) abort();
    for (int it = 0; it < n_functions; it++)
        fprintf(out, "call %s %llu %llu\n", calls[it].name, (unsigned long long)calls[it].n, (unsigned long long)calls[it].ns);
    for (int to = 0; to < N_RANKS_MAX; to++)
        if (sent[to].n) fprintf(out, "to %d %llu %llu\n", to, (unsigned long long)sent[to].n, (unsigned long long)sent[to].bytes);
    fclose(out);
}

#define WRAPPED(name, before)                                  \
    int tally_##name(TAKEN) __asm__("MPI_" #name);             \
    extern int real_##name(TAKEN) __asm__("PMPI_" #name);      \
    int tally_##name(TAKEN) {                                  \
        static int it = -1;                                    \
        if (it < 0) it = number("MPI_" #name);                 \
        uint64_t start = now();                                \
        before;                                                \
        int result = real_##name(PASSED);                      \
        calls[it].ns += now() - start;                         \
        calls[it].n++;                                         \
        return result;                                         \
    }
#define CALL(name) WRAPPED(name, (void)0)
#define SEND(name) WRAPPED(name, message(b, c, d, f))

SEND(Send) SEND(Ssend) SEND(Bsend) SEND(Rsend) SEND(Isend) SEND(Issend) SEND(Ibsend) SEND(Irsend)
WRAPPED(Sendrecv, message(b, c, d, k))
WRAPPED(Sendrecv_replace, message(b, c, d, h))
CALL(Recv) CALL(Irecv) CALL(Probe) CALL(Iprobe)
CALL(Wait) CALL(Waitall) CALL(Waitany) CALL(Waitsome) CALL(Test) CALL(Testall) CALL(Testany) CALL(Testsome)
CALL(Barrier) CALL(Bcast) CALL(Reduce) CALL(Allreduce) CALL(Reduce_scatter) CALL(Reduce_scatter_block) CALL(Scan) CALL(Exscan)
CALL(Gather) CALL(Gatherv) CALL(Allgather) CALL(Allgatherv) CALL(Scatter) CALL(Scatterv)
CALL(Alltoall) CALL(Alltoallv) CALL(Alltoallw)
CALL(Ibarrier) CALL(Ibcast) CALL(Iallreduce) CALL(Ireduce) CALL(Iallgather) CALL(Ialltoall)
CALL(Comm_split) CALL(Comm_dup) CALL(Comm_create) CALL(Comm_free) CALL(Cart_create)
CALL(Init) CALL(Init_thread)
WRAPPED(Finalize, print())
