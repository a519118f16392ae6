/* An independent count of what `ouzel record` records: preloaded behind the recorder, it writes one line for each
 * rank, function and communicator size to the folder COUNT_DIR.
 *
 * Shape: a table of sums, one wrapper per function that the program record.c calls. Law: bytes are computed from the
 * arguments here, and never by anything of the recorder; statuses that the program ignores are asked for.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_ROWS_MAX = 64 };

static struct row { const char *name; uint64_t n_calls, sent, received; } rows[N_ROWS_MAX];
static int n_rows;

static struct row *row(const char *name) {
    for (int i = 0; i < n_rows; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    if (n_rows == N_ROWS_MAX) abort();
    rows[n_rows].name = name;
    return &rows[n_rows++];
}

static void count(const char *name, uint64_t sent, uint64_t received) {
    struct row *it = row(name);
    it->n_calls++, it->sent += sent, it->received += received;
}

static uint64_t bytes(int n, MPI_Datatype type) {
    int size;
    PMPI_Type_size(type, &size);
    return (uint64_t)n * (uint64_t)size;
}

static uint64_t got(MPI_Status *status) {
    int n;
    PMPI_Get_count(status, MPI_BYTE, &n);
    return (uint64_t)n;
}

int MPI_Send(const void *buffer, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    count("MPI_Send", to == MPI_PROC_NULL ? 0 : bytes(n, type), 0);
    return PMPI_Send(buffer, n, type, to, tag, comm);
}

int MPI_Recv(void *buffer, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Status own;
    int result = PMPI_Recv(buffer, n, type, from, tag, comm, &own);
    count("MPI_Recv", 0, from == MPI_PROC_NULL ? 0 : got(&own));
    if (status != MPI_STATUS_IGNORE) *status = own;
    return result;
}

int MPI_Isend(const void *buffer, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
    count("MPI_Isend", bytes(n, type), 0);
    return PMPI_Isend(buffer, n, type, to, tag, comm, request);
}

int MPI_Irecv(void *buffer, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request) {
    count("MPI_Irecv", 0, 0);
    return PMPI_Irecv(buffer, n, type, from, tag, comm, request);
}

int MPI_Waitall(int n, MPI_Request *requests, MPI_Status *statuses) {
    MPI_Status own[16];
    int result = PMPI_Waitall(n, requests, own);
    if (statuses != MPI_STATUSES_IGNORE) memcpy(statuses, own, (size_t)n * sizeof *own);
    uint64_t received = 0;
    /* The program waits for one receive, then one send. */
    for (int i = 0; i < n; i += 2) received += got(&own[i]);
    count("MPI_Waitall", 0, received);
    return result;
}

int MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    int size;
    PMPI_Comm_size(comm, &size);
    count("MPI_Allreduce", bytes(n, type) * (uint64_t)size, bytes(n, type) * (uint64_t)size);
    return PMPI_Allreduce(from, to, n, type, op, comm);
}

int MPI_Bcast(void *buffer, int n, MPI_Datatype type, int root, MPI_Comm comm) {
    int size, rank;
    PMPI_Comm_size(comm, &size);
    PMPI_Comm_rank(comm, &rank);
    count("MPI_Bcast", rank == root ? bytes(n, type) * (uint64_t)size : 0, bytes(n, type));
    return PMPI_Bcast(buffer, n, type, root, comm);
}

int MPI_Gatherv(const void *from, int n, MPI_Datatype type, void *to, const int *counts, const int *places,
                MPI_Datatype to_type, int root, MPI_Comm comm) {
    int size, rank;
    PMPI_Comm_size(comm, &size);
    PMPI_Comm_rank(comm, &rank);
    uint64_t received = 0;
    for (int i = 0; rank == root && i < size; i++) received += bytes(counts[i], to_type);
    count("MPI_Gatherv", bytes(n, type), received);
    return PMPI_Gatherv(from, n, type, to, counts, places, to_type, root, comm);
}

int MPI_Finalize(void) {
    char path[4096];
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/%d", getenv("COUNT_DIR"), rank);
    FILE *out = fopen(path, "w");
    if (out == NULL) abort();
    for (int i = 0; i < n_rows; i++)
        fprintf(out, "%s %llu %llu %llu\n", rows[i].name, (unsigned long long)rows[i].n_calls,
                (unsigned long long)rows[i].sent, (unsigned long long)rows[i].received);
    fclose(out);
    return PMPI_Finalize();
}
