/* Messages between two ranks: recorded, and waiting without burning a core; see wrap.h.
 *
 * Shape: one wrapper per MPI call, a table of requests that are under way, and one of
 * persistent requests. Blocking calls start the non-blocking form and wait for it.
 * An emulated network (zoo_network) costs the sender time inside of the call.
 */
#include "wrap.h"

enum { N_REQUESTS_MAX = 4096 };

/* A request under way. */
struct pending { MPI_Request handle; uint64_t id; uint32_t comm; int is_send; };
/* A persistent request: what each start of it does. */
struct persistent { MPI_Request handle; MPI_Comm comm; uint64_t bytes; int is_send, peer, tag; };

static struct pending pending[N_REQUESTS_MAX];
static struct persistent persistent[N_REQUESTS_MAX];
static int n_pending, n_persistent;
static uint64_t n_requests;

static void record_message(enum event_kind kind, uint32_t comm, int peer, int tag, uint64_t bytes, uint64_t request) {
    if (peer == MPI_PROC_NULL) return;
    zoo_record((struct event){.time_ns = zoo_now_ns(), .kind = kind, .comm = comm, .peer = (uint32_t)peer,
                              .tag = (uint32_t)tag, .bytes = bytes, .request = request});
}

static void record_received(enum event_kind kind, uint32_t comm, MPI_Status *status, uint64_t request) {
    int bytes;
    PMPI_Get_count(status, MPI_BYTE, &bytes);
    record_message(kind, comm, status->MPI_SOURCE, status->MPI_TAG, (uint64_t)bytes, request);
}

/* ---- blocking ---- */
typedef int (*start_send)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static int send(const char *name, start_send start, const void *buffer, int count, MPI_Datatype type, int to, int tag,
                MPI_Comm comm) {
    MPI_Request request;
    zoo_begin(name, REGION_MPI_MESSAGE);
    record_message(EVENT_SEND, zoo_comm_key(comm), to, tag, zoo_bytes(count, type), 0);
    zoo_sleep_ns(zoo_message_ns);
    start(buffer, count, type, to, tag, comm, &request);
    zoo_finish(&request, MPI_STATUS_IGNORE);
    return zoo_end();
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    return send("MPI_Send", PMPI_Isend, buffer, count, type, to, tag, comm);
}

int MPI_Ssend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    return send("MPI_Ssend", PMPI_Issend, buffer, count, type, to, tag, comm);
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Request request;
    MPI_Status own;
    zoo_begin("MPI_Recv", REGION_MPI_MESSAGE);
    PMPI_Irecv(buffer, count, type, from, tag, comm, &request);
    zoo_finish(&request, &own);
    record_received(EVENT_RECV, zoo_comm_key(comm), &own, 0);
    if (status != MPI_STATUS_IGNORE) *status = own;
    return zoo_end();
}

int MPI_Sendrecv(const void *out, int n_out, MPI_Datatype out_type, int to, int out_tag, void *in, int n_in,
                 MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Request requests[2];
    MPI_Status own;
    zoo_begin("MPI_Sendrecv", REGION_MPI_MESSAGE);
    record_message(EVENT_SEND, zoo_comm_key(comm), to, out_tag, zoo_bytes(n_out, out_type), 0);
    PMPI_Irecv(in, n_in, in_type, from, in_tag, comm, &requests[0]);
    zoo_sleep_ns(zoo_message_ns);
    PMPI_Isend(out, n_out, out_type, to, out_tag, comm, &requests[1]);
    zoo_finish(&requests[0], &own);
    zoo_finish(&requests[1], MPI_STATUS_IGNORE);
    record_received(EVENT_RECV, zoo_comm_key(comm), &own, 0);
    if (status != MPI_STATUS_IGNORE) *status = own;
    return zoo_end();
}

/* ---- starting ---- */
static void keep(MPI_Request handle, int is_send, uint32_t comm, int peer) {
    if (n_pending == N_REQUESTS_MAX) zoo_fail("too many requests");
    n_requests++;
    if (peer != MPI_PROC_NULL) pending[n_pending++] = (struct pending){handle, n_requests, comm, is_send};
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
    zoo_begin("MPI_Isend", REGION_MPI_MESSAGE);
    record_message(EVENT_ISEND, zoo_comm_key(comm), to, tag, zoo_bytes(count, type), n_requests + 1);
    zoo_sleep_ns(zoo_message_ns);
    PMPI_Isend(buffer, count, type, to, tag, comm, request);
    keep(*request, 1, zoo_comm_key(comm), to);
    return zoo_end();
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request) {
    zoo_begin("MPI_Irecv", REGION_MPI_MESSAGE);
    record_message(EVENT_IRECV_POSTED, 0, from, 0, 0, n_requests + 1);
    PMPI_Irecv(buffer, count, type, from, tag, comm, request);
    keep(*request, 0, zoo_comm_key(comm), from);
    return zoo_end();
}

static int make_persistent(struct persistent new) {
    if (n_persistent == N_REQUESTS_MAX) zoo_fail("too many requests");
    persistent[n_persistent++] = new;
    return zoo_end();
}

int MPI_Send_init(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request *request) {
    zoo_begin("MPI_Send_init", REGION_MPI_MESSAGE);
    PMPI_Send_init(buffer, count, type, to, tag, comm, request);
    return make_persistent((struct persistent){*request, comm, zoo_bytes(count, type), 1, to, tag});
}

int MPI_Recv_init(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request) {
    zoo_begin("MPI_Recv_init", REGION_MPI_MESSAGE);
    PMPI_Recv_init(buffer, count, type, from, tag, comm, request);
    return make_persistent((struct persistent){*request, comm, zoo_bytes(count, type), 0, from, tag});
}

static void start_one(MPI_Request *request) {
    int i = 0;
    while (i < n_persistent && persistent[i].handle != *request) i++;
    if (i == n_persistent) zoo_fail("a request is started that is not persistent");
    const struct persistent *known = &persistent[i];
    uint32_t comm = zoo_comm_key(known->comm);
    record_message(known->is_send ? EVENT_ISEND : EVENT_IRECV_POSTED, comm, known->peer, known->tag, known->bytes,
                   n_requests + 1);
    if (known->is_send) zoo_sleep_ns(zoo_message_ns);
    PMPI_Start(request);
    keep(*request, known->is_send, comm, known->peer);
}

int MPI_Start(MPI_Request *request) {
    zoo_begin("MPI_Start", REGION_MPI_MESSAGE);
    start_one(request);
    return zoo_end();
}

int MPI_Startall(int count, MPI_Request requests[]) {
    zoo_begin("MPI_Startall", REGION_MPI_MESSAGE);
    for (int i = 0; i < count; i++) start_one(&requests[i]);
    return zoo_end();
}

/* ---- completing ---- */
/* The newest pending request of this handle. MPI may use a handle again, so it is forgotten. */
static void complete(MPI_Request handle, MPI_Status *status) {
    for (int i = n_pending - 1; 0 <= i; i--) {
        if (pending[i].handle != handle) continue;
        if (pending[i].is_send) record_message(EVENT_ISEND_DONE, 0, 0, 0, 0, pending[i].id);
        else record_received(EVENT_IRECV, pending[i].comm, status, pending[i].id);
        pending[i] = pending[--n_pending];
        return;
    }
}

/* The handles before MPI takes back those of completed requests. */
static const MPI_Request *remember(int count, const MPI_Request requests[]) {
    static MPI_Request handles[N_REQUESTS_MAX];
    if (N_REQUESTS_MAX < count) zoo_fail("too many requests");
    for (int i = 0; i < count; i++) handles[i] = requests[i];
    return handles;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    MPI_Request handle = *request;
    MPI_Status own;
    zoo_begin("MPI_Wait", REGION_MPI_MESSAGE);
    zoo_finish(request, &own);
    complete(handle, &own);
    if (status != MPI_STATUS_IGNORE) *status = own;
    return zoo_end();
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    static MPI_Status own[N_REQUESTS_MAX];
    const MPI_Request *handles = remember(count, requests);
    zoo_begin("MPI_Waitall", REGION_MPI_MESSAGE);
    int done = 0;
    uint64_t pause_ns = POLL_NS_MIN;
    for (PMPI_Testall(count, requests, &done, own); !done; PMPI_Testall(count, requests, &done, own))
        pause_ns = zoo_pause(pause_ns);
    for (int i = 0; i < count; i++) {
        complete(handles[i], &own[i]);
        if (statuses != MPI_STATUSES_IGNORE) statuses[i] = own[i];
    }
    return zoo_end();
}

int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status) {
    MPI_Status own;
    const MPI_Request *handles = remember(count, requests);
    zoo_begin("MPI_Waitany", REGION_MPI_MESSAGE);
    int done = 0;
    uint64_t pause_ns = POLL_NS_MIN;
    for (PMPI_Testany(count, requests, index, &done, &own); !done;
         PMPI_Testany(count, requests, index, &done, &own))
        pause_ns = zoo_pause(pause_ns);
    if (*index != MPI_UNDEFINED) complete(handles[*index], &own);
    if (status != MPI_STATUS_IGNORE) *status = own;
    return zoo_end();
}

int MPI_Waitsome(int count, MPI_Request requests[], int *n_done, int indices[], MPI_Status statuses[]) {
    static MPI_Status own[N_REQUESTS_MAX];
    const MPI_Request *handles = remember(count, requests);
    zoo_begin("MPI_Waitsome", REGION_MPI_MESSAGE);
    uint64_t pause_ns = POLL_NS_MIN;
    for (PMPI_Testsome(count, requests, n_done, indices, own); *n_done == 0;
         PMPI_Testsome(count, requests, n_done, indices, own))
        pause_ns = zoo_pause(pause_ns);
    for (int i = 0; i < *n_done; i++) {
        complete(handles[indices[i]], &own[i]);
        if (statuses != MPI_STATUSES_IGNORE) statuses[i] = own[i];
    }
    return zoo_end();
}
