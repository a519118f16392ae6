/* Rank 0 runs ahead of the others, soon by 25 steps at least and by 75 at most: at each moment, messages and broadcasts
 * are under way. Their sizes count steps, so that an archive of a part of the run shows which ends are one message.
 *
 * Usage: window SECONDS, since the start of the program.
 */
#include <mpi.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static double now(void) {
    struct timeval at;
    gettimeofday(&at, NULL);
    return at.tv_sec + 1e-6 * at.tv_usec;
}

/* The others wait after each 50 steps until rank 0 is 25 steps further. */
enum { BYTES_MAX = 1024, PACE = 50, AHEAD = 25 };

static void broadcast(int step, MPI_Comm comm) {
    char bytes[BYTES_MAX];
    MPI_Request request;
    if (step % 3 == 0) {
        MPI_Ibcast(bytes, step % 50 + 1, MPI_BYTE, 0, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Bcast(bytes, step % 50 + 1, MPI_BYTE, 0, comm);
    }
}

static void lead(double end, int n_ranks, MPI_Comm comm, MPI_Comm pace) {
    char bytes[BYTES_MAX] = "";
    int n_steps = 0, n_waited = 0;
    for (int step = 1, n_last = 0; n_last < 2; step++) {
        int length = n_last == 0 && now() < end ? step % 1000 + 1 : 0;
        n_last += length == 0;
        for (int rank = 1; rank < n_ranks; rank++) {
            MPI_Request request;
            MPI_Isend(bytes, length, MPI_BYTE, rank, step % 2, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        if (length) {
            broadcast(step, comm);
            n_steps = step;
        }
        if ((n_waited + 1) * PACE + AHEAD <= n_steps) {
            MPI_Barrier(pace);
            n_waited++;
        }
        usleep(2000);
    }
    while (n_waited++ < n_steps / PACE) MPI_Barrier(pace);
}

static void follow(MPI_Comm comm, MPI_Comm pace) {
    char bytes[2][BYTES_MAX];
    MPI_Request requests[2];
    for (int tag = 0; tag < 2; tag++)
        MPI_Irecv(bytes[tag], BYTES_MAX, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &requests[tag]);
    for (int step = 1, n_last = 0; n_last < 2; step++) {
        MPI_Status status;
        int tag = step % 2, length;
        MPI_Wait(&requests[tag], &status);
        MPI_Get_count(&status, MPI_BYTE, &length);
        n_last += length == 0;
        if (length) {
            MPI_Irecv(bytes[tag], BYTES_MAX, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &requests[tag]);
            broadcast(step, comm);
            if (step % PACE == 0) MPI_Barrier(pace);
        }
        usleep(3000);
    }
}

int main(int argc, char **argv) {
    double end = now() + atof(argv[1]);
    int rank, n_ranks;
    MPI_Comm comm, pace;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &pace);
    if (rank == 0) lead(end, n_ranks, comm, pace);
    else follow(comm, pace);
    MPI_Finalize();
    return 0;
}
