/* MPI calls of the programs: recorded, and waiting without burning a core.
 *
 * Shape: one wrapper per MPI call that the programs use, over the profiling interface.
 * Law: each does what MPI says it does. Blocking calls start the non-blocking form and test
 * it with short sleeps between, because ranks that spin would take the two cores from those
 * that work. An emulated network (zoo_network) costs time inside of the call.
 * Only MPI_COMM_WORLD is known; any other communicator ends the program.
 */
#define _GNU_SOURCE
#include "record.h"
#include "zoo.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <otf2/OTF2_Definitions.h>
#include <otf2/OTF2_Events.h>

enum { N_REQUESTS_MAX = 4096, POLL_NS_MIN = 20000, POLL_NS_MAX = 80000 };

static uint64_t start_ns, message_ns, collective_ns;

/* ---- requests that are under way ---- */
struct pending { MPI_Request handle; uint64_t id; int is_send; };
static struct pending pending[N_REQUESTS_MAX];
static int n_pending;
static uint64_t n_requests;

static void fail(const char *what) {
    fprintf(stderr, "zoo: rank %d: %s\n", zoo_rank, what);
    PMPI_Abort(MPI_COMM_WORLD, 1);
}

static void world_only(MPI_Comm comm) {
    if (comm != MPI_COMM_WORLD) fail("a communicator other than MPI_COMM_WORLD");
}

static void sleep_ns(uint64_t ns) { if (ns != 0) zoo_sleep_until(zoo_now_ns() + ns); }

/* The next pause between two tests: longer, the longer the wait. */
static uint64_t pause_after(uint64_t pause_ns) {
    sleep_ns(pause_ns);
    return pause_ns * 2 < POLL_NS_MAX ? pause_ns * 2 : POLL_NS_MAX;
}

static void finish(MPI_Request *request, MPI_Status *status) {
    int done = 0;
    uint64_t pause_ns = POLL_NS_MIN;
    for (PMPI_Test(request, &done, status); !done; PMPI_Test(request, &done, status))
        pause_ns = pause_after(pause_ns);
}

static void begin(const char *name, enum region_kind kind) {
    zoo_push(zoo_region(name, NULL, 0, kind), zoo_now_ns());
}

static int end(void) {
    zoo_wait_ended();
    zoo_pop(zoo_now_ns());
    return MPI_SUCCESS;
}

static uint64_t bytes_of(int count, MPI_Datatype type) {
    int size;
    PMPI_Type_size(type, &size);
    return (uint64_t)count * (uint64_t)size;
}

static void record_message(enum event_kind kind, int peer, int tag, uint64_t bytes, uint64_t request) {
    zoo_record((struct event){.time_ns = zoo_now_ns(), .kind = kind, .peer = (uint32_t)peer,
                              .tag = (uint32_t)tag, .bytes = bytes, .request = request});
}

static void record_received(enum event_kind kind, MPI_Status *status, uint64_t request) {
    int bytes;
    PMPI_Get_count(status, MPI_BYTE, &bytes);
    record_message(kind, status->MPI_SOURCE, status->MPI_TAG, (uint64_t)bytes, request);
}

/* ---- start and end ---- */
static void be_real_time(int on) {
    struct sched_param parameters = {.sched_priority = on ? 10 : 0};
    int refused = sched_setscheduler(0, on ? SCHED_RR : SCHED_OTHER, &parameters);
    if (zoo_rank == 0 && on) printf("zoo real_time=%d\n", !refused);
}

/* Ranks start together: nobody's start-up is a loss. */
static int started(void) {
    PMPI_Comm_rank(MPI_COMM_WORLD, &zoo_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &zoo_n_ranks);
    be_real_time(1);
    PMPI_Barrier(MPI_COMM_WORLD);
    start_ns = zoo_now_ns() + 50000000u;
    PMPI_Bcast(&start_ns, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    zoo_sleep_until(start_ns);
    zoo_recording = getenv("ZOO_TRACE") != NULL;
    return MPI_SUCCESS;
}

int MPI_Init(int *argc, char ***argv) {
    PMPI_Init(argc, argv);
    return started();
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    PMPI_Init_thread(argc, argv, required, provided);
    return started();
}

int MPI_Finalize(void) {
    MPI_Request request;
    begin("MPI_Finalize", REGION_MPI);
    PMPI_Ibarrier(MPI_COMM_WORLD, &request);
    finish(&request, MPI_STATUS_IGNORE);
    uint64_t now_ns = zoo_now_ns(), end_ns;
    zoo_close_all(now_ns);
    be_real_time(0);
    PMPI_Allreduce(&now_ns, &end_ns, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (zoo_rank == 0) printf("zoo wall_ns=%llu\n", (unsigned long long)(end_ns - start_ns));
    if (getenv("ZOO_TRACE") != NULL) zoo_write(getenv("ZOO_TRACE"), start_ns, end_ns);
    return PMPI_Finalize();
}

void zoo_network(double us_per_message, double us_per_collective) {
    message_ns = (uint64_t)(us_per_message * 1e3);
    collective_ns = (uint64_t)(us_per_collective * 1e3);
}

/* ---- messages ---- */
int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    MPI_Request request;
    world_only(comm);
    begin("MPI_Send", REGION_MPI_MESSAGE);
    record_message(EVENT_SEND, to, tag, bytes_of(count, type), 0);
    sleep_ns(message_ns);
    PMPI_Isend(buffer, count, type, to, tag, comm, &request);
    finish(&request, MPI_STATUS_IGNORE);
    return end();
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Request request;
    MPI_Status own;
    world_only(comm);
    begin("MPI_Recv", REGION_MPI_MESSAGE);
    PMPI_Irecv(buffer, count, type, from, tag, comm, &request);
    finish(&request, &own);
    record_received(EVENT_RECV, &own, 0);
    if (status != MPI_STATUS_IGNORE) *status = own;
    return end();
}

static uint64_t keep(MPI_Request handle, int is_send) {
    if (n_pending == N_REQUESTS_MAX) fail("too many requests");
    pending[n_pending++] = (struct pending){handle, ++n_requests, is_send};
    return n_requests;
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
    world_only(comm);
    begin("MPI_Isend", REGION_MPI_MESSAGE);
    record_message(EVENT_ISEND, to, tag, bytes_of(count, type), n_requests + 1);
    sleep_ns(message_ns);
    PMPI_Isend(buffer, count, type, to, tag, comm, request);
    keep(*request, 1);
    return end();
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request) {
    world_only(comm);
    begin("MPI_Irecv", REGION_MPI_MESSAGE);
    record_message(EVENT_IRECV_POSTED, 0, 0, 0, n_requests + 1);
    PMPI_Irecv(buffer, count, type, from, tag, comm, request);
    keep(*request, 0);
    return end();
}

/* The newest pending request of this handle. MPI may use a handle again, so it is forgotten. */
static void complete(MPI_Request handle, MPI_Status *status) {
    for (int i = n_pending - 1; 0 <= i; i--) {
        if (pending[i].handle != handle) continue;
        if (pending[i].is_send) record_message(EVENT_ISEND_DONE, 0, 0, 0, pending[i].id);
        else record_received(EVENT_IRECV, status, pending[i].id);
        pending[i] = pending[--n_pending];
        return;
    }
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    MPI_Request handles[N_REQUESTS_MAX];
    static MPI_Status own[N_REQUESTS_MAX];
    if (N_REQUESTS_MAX < count) fail("too many requests");
    for (int i = 0; i < count; i++) handles[i] = requests[i];
    begin("MPI_Waitall", REGION_MPI_MESSAGE);
    int done = 0;
    uint64_t pause_ns = POLL_NS_MIN;
    for (PMPI_Testall(count, requests, &done, own); !done; PMPI_Testall(count, requests, &done, own))
        pause_ns = pause_after(pause_ns);
    for (int i = 0; i < count; i++) {
        complete(handles[i], &own[i]);
        if (statuses != MPI_STATUSES_IGNORE) statuses[i] = own[i];
    }
    return end();
}

/* ---- collectives ---- */
static void begin_collective(const char *name, enum region_kind kind, MPI_Comm comm) {
    world_only(comm);
    begin(name, kind);
    zoo_record((struct event){.time_ns = zoo_now_ns(), .kind = EVENT_COLLECTIVE_BEGIN});
}

static int end_collective(MPI_Request *request, OTF2_CollectiveOp op, uint32_t root, uint64_t sent, uint64_t received) {
    finish(request, MPI_STATUS_IGNORE);
    sleep_ns(collective_ns);
    zoo_record((struct event){.time_ns = zoo_now_ns(), .kind = EVENT_COLLECTIVE_END, .region = op,
                              .peer = root, .bytes = sent, .request = received});
    return end();
}

int MPI_Barrier(MPI_Comm comm) {
    MPI_Request request;
    begin_collective("MPI_Barrier", REGION_MPI_BARRIER, comm);
    PMPI_Ibarrier(comm, &request);
    return end_collective(&request, OTF2_COLLECTIVE_OP_BARRIER, OTF2_UNDEFINED_UINT32, 0, 0);
}

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    MPI_Request request;
    uint64_t bytes = bytes_of(count, type) * (uint64_t)zoo_n_ranks;
    begin_collective("MPI_Allreduce", REGION_MPI_COLLECTIVE, comm);
    PMPI_Iallreduce(from, to, count, type, op, comm, &request);
    return end_collective(&request, OTF2_COLLECTIVE_OP_ALLREDUCE, OTF2_UNDEFINED_UINT32, bytes, bytes);
}
