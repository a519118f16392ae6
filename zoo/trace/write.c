/* From the events of all ranks to an OTF2 archive, on rank 0, after the run.
 *
 * Shape: rank after rank, thread after thread; one location for each thread, numbered
 * rank * 64 + thread, the accelerator's stream as the last thread. Law: the clock is that of the recording, the trace begins at the
 * common start and ends with the last rank. Not here: what is recorded.
 */
#include "record.h"

#include <mpi.h>
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                            \
    do {                                                                                       \
        if ((call) != OTF2_SUCCESS) fail(#call);                                               \
    } while (0)

enum { TAG_HEAD = 1, TAG_REGIONS, TAG_COMMS, TAG_EVENTS, LOCATIONS_PER_RANK = N_THREADS_MAX, COMM_WORLD_ID = 0,
       N_KNOWN_COMMS_MAX = 256 };

/* What a rank says of itself: numbers of regions, of communicators, and of events of each thread. */
struct head {
    uint64_t n_regions, n_comms, n_threads;
    uint64_t n_events[N_THREADS_MAX];
};

static OTF2_GlobalDefWriter *definitions;
static uint64_t start_ns, end_ns;
static uint32_t n_strings;
static struct region known[N_REGIONS_MAX];
static uint32_t n_known;
/* Numbers of communicators, at their ids in the archive. The first is that of the world. */
static uint32_t known_comms[N_KNOWN_COMMS_MAX];
static uint32_t n_known_comms = 1;
/* The first two groups are those of the world. */
static uint32_t n_groups = 2;

static void fail(const char *what) {
    fprintf(stderr, "zoo: cannot write the trace: %s\n", what);
    PMPI_Abort(MPI_COMM_WORLD, 1);
}

static OTF2_FlushType flush(void *data, OTF2_FileType file, OTF2_LocationRef location, void *caller, bool final) {
    (void)data, (void)file, (void)location, (void)caller, (void)final;
    return OTF2_FLUSH;
}

static OTF2_FlushCallbacks flush_callbacks = {.otf2_pre_flush = flush, .otf2_post_flush = NULL};

static uint32_t string(const char *text) {
    CHECK(OTF2_GlobalDefWriter_WriteString(definitions, n_strings, text));
    return n_strings++;
}

static void define_region(uint32_t id, const struct region *region) {
    static const OTF2_RegionRole roles[] = {
        [REGION_USER] = OTF2_REGION_ROLE_FUNCTION,
        [REGION_MPI] = OTF2_REGION_ROLE_FUNCTION,
        [REGION_MPI_COLLECTIVE] = OTF2_REGION_ROLE_COLL_ALL2ALL,
        [REGION_MPI_BARRIER] = OTF2_REGION_ROLE_BARRIER,
        [REGION_MPI_MESSAGE] = OTF2_REGION_ROLE_POINT2POINT,
        [REGION_MPI_ONE2ALL] = OTF2_REGION_ROLE_COLL_ONE2ALL,
        [REGION_MPI_ALL2ONE] = OTF2_REGION_ROLE_COLL_ALL2ONE,
        [REGION_MPI_OTHER] = OTF2_REGION_ROLE_COLL_OTHER,
        [REGION_OPENMP_PARALLEL] = OTF2_REGION_ROLE_PARALLEL,
        [REGION_OPENMP_BARRIER] = OTF2_REGION_ROLE_IMPLICIT_BARRIER,
        [REGION_OPENMP_LOOP] = OTF2_REGION_ROLE_LOOP,
        [REGION_OPENMP_LOCK] = OTF2_REGION_ROLE_WRAPPER,
        [REGION_PTHREAD] = OTF2_REGION_ROLE_WRAPPER,
        [REGION_CUDA] = OTF2_REGION_ROLE_WRAPPER,
        [REGION_CUDA_KERNEL] = OTF2_REGION_ROLE_FUNCTION,
    };
    OTF2_Paradigm paradigm = region->kind == REGION_USER             ? OTF2_PARADIGM_USER
                             : region->kind < REGION_OPENMP_PARALLEL ? OTF2_PARADIGM_MPI
                             : region->kind < REGION_PTHREAD         ? OTF2_PARADIGM_OPENMP
                             : region->kind == REGION_PTHREAD        ? OTF2_PARADIGM_PTHREAD
                                                                     : OTF2_PARADIGM_CUDA;
    uint32_t name = string(region->name), file = string(region->file);
    uint32_t line = region->line > 0 ? (uint32_t)region->line : OTF2_UNDEFINED_UINT32;
    CHECK(OTF2_GlobalDefWriter_WriteRegion(definitions, id, name, name, 0, roles[region->kind], paradigm,
                                           OTF2_REGION_FLAG_NONE, file, line, OTF2_UNDEFINED_UINT32));
}

/* The id of the region in the archive. */
static uint32_t known_region(const struct region *region) {
    for (uint32_t id = 0; id < n_known; id++)
        if (memcmp(&known[id], region, sizeof *region) == 0) return id;
    if (n_known == N_REGIONS_MAX) fail("too many regions");
    known[n_known] = *region;
    define_region(n_known, region);
    return n_known++;
}

/* The id of the communicator in the archive. */
static uint32_t known_comm(uint32_t key) {
    for (uint32_t id = 0; id < n_known_comms; id++)
        if (known_comms[id] == key) return id;
    if (n_known_comms == N_KNOWN_COMMS_MAX) fail("too many communicators");
    known_comms[n_known_comms] = key;
    return n_known_comms++;
}

static void write_event(OTF2_EvtWriter *writer, const struct event *event, const uint32_t *region_ids) {
    OTF2_AttributeList *none = NULL;
    uint64_t time = event->time_ns;
    uint32_t comm = known_comm(event->comm);
    OTF2_Paradigm lock = event->tag ? OTF2_PARADIGM_PTHREAD : OTF2_PARADIGM_OPENMP;
    switch (event->kind) {
    case EVENT_ENTER: CHECK(OTF2_EvtWriter_Enter(writer, none, time, region_ids[event->region])); break;
    case EVENT_LEAVE: CHECK(OTF2_EvtWriter_Leave(writer, none, time, region_ids[event->region])); break;
    case EVENT_SEND:
        CHECK(OTF2_EvtWriter_MpiSend(writer, none, time, event->peer, comm, event->tag, event->bytes));
        break;
    case EVENT_RECV:
        CHECK(OTF2_EvtWriter_MpiRecv(writer, none, time, event->peer, comm, event->tag, event->bytes));
        break;
    case EVENT_ISEND:
        CHECK(OTF2_EvtWriter_MpiIsend(writer, none, time, event->peer, comm, event->tag, event->bytes,
                                      event->request));
        break;
    case EVENT_ISEND_DONE: CHECK(OTF2_EvtWriter_MpiIsendComplete(writer, none, time, event->request)); break;
    case EVENT_IRECV_POSTED: CHECK(OTF2_EvtWriter_MpiIrecvRequest(writer, none, time, event->request)); break;
    case EVENT_IRECV:
        CHECK(OTF2_EvtWriter_MpiIrecv(writer, none, time, event->peer, comm, event->tag, event->bytes,
                                      event->request));
        break;
    case EVENT_COLLECTIVE_BEGIN: CHECK(OTF2_EvtWriter_MpiCollectiveBegin(writer, none, time)); break;
    case EVENT_COLLECTIVE_END:
        CHECK(OTF2_EvtWriter_MpiCollectiveEnd(writer, none, time, (OTF2_CollectiveOp)event->region, comm,
                                              event->peer, event->bytes, event->request));
        break;
    case EVENT_COMM_MADE:
        CHECK(OTF2_EvtWriter_MpiCollectiveEnd(writer, none, time, OTF2_COLLECTIVE_OP_CREATE_HANDLE, comm,
                                              OTF2_UNDEFINED_UINT32, 0, 0));
        break;
    case EVENT_LOCK:
        CHECK(OTF2_EvtWriter_ThreadAcquireLock(writer, none, time, lock, event->region, event->peer));
        break;
    case EVENT_UNLOCK:
        CHECK(OTF2_EvtWriter_ThreadReleaseLock(writer, none, time, lock, event->region, event->peer));
        break;
    default: fail("an event of no kind");
    }
}

static void write_location(OTF2_Archive *archive, uint64_t location, const struct event *events, uint64_t n_events,
                           const uint32_t *region_ids) {
    OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(archive, location);
    for (uint64_t i = 0; i < n_events; i++) write_event(writer, &events[i], region_ids);
    CHECK(OTF2_Archive_CloseEvtWriter(archive, writer));
    /* The clocks of all ranks are one clock, which is what two offsets of zero say. */
    OTF2_DefWriter *local = OTF2_Archive_GetDefWriter(archive, location);
    CHECK(OTF2_DefWriter_WriteClockOffset(local, start_ns, 0, 0.0));
    CHECK(OTF2_DefWriter_WriteClockOffset(local, end_ns, 0, 0.0));
    CHECK(OTF2_Archive_CloseDefWriter(archive, local));
}

/* A thread that enters what OpenMP or a program does belongs to OpenMP unless it locks mutexes. */
static int is_pthread(const struct event *events, uint64_t n_events, const struct region *regions) {
    for (uint64_t i = 0; i < n_events; i++)
        if (events[i].kind == EVENT_ENTER && regions[events[i].region].kind == REGION_PTHREAD) return 1;
    return 0;
}

static void define_thread(int rank, uint64_t location, int thread, int is_pthread, uint64_t n_events) {
    char name[64];
    if (thread == 0) snprintf(name, sizeof name, "Master thread");
    else snprintf(name, sizeof name, is_pthread ? "Pthread thread %d" : "OMP thread %d", thread);
    CHECK(OTF2_GlobalDefWriter_WriteLocation(definitions, location, string(name), OTF2_LOCATION_TYPE_CPU_THREAD,
                                             n_events, (uint32_t)rank));
}

/* The stream is in a group of its own, which the process has made. */
static void define_stream(int rank, uint64_t location, uint64_t n_events) {
    uint32_t context = (uint32_t)(zoo_n_ranks + rank);
    CHECK(OTF2_GlobalDefWriter_WriteLocationGroup(definitions, context, string("CUDA Context 1"),
                                                  OTF2_LOCATION_GROUP_TYPE_ACCELERATOR, 1, (uint32_t)rank));
    CHECK(OTF2_GlobalDefWriter_WriteLocation(definitions, location, string("CUDA[0:7]"),
                                             OTF2_LOCATION_TYPE_ACCELERATOR_STREAM, n_events, context));
}

static void write_rank(OTF2_Archive *archive, int rank, const struct head *head, const struct region *regions,
                       const struct event *events) {
    char name[64];
    uint32_t ids[N_REGIONS_MAX];
    snprintf(name, sizeof name, "MPI Rank %d", rank);
    CHECK(OTF2_GlobalDefWriter_WriteLocationGroup(definitions, (uint32_t)rank, string(name),
                                                  OTF2_LOCATION_GROUP_TYPE_PROCESS, 1,
                                                  OTF2_UNDEFINED_LOCATION_GROUP));
    for (uint64_t i = 0; i < head->n_regions; i++) ids[i] = known_region(&regions[i]);
    for (uint64_t thread = 0; thread < head->n_threads; thread++) {
        uint64_t location = (uint64_t)rank * LOCATIONS_PER_RANK + thread;
        if (thread != 0 && head->n_events[thread] == 0) continue;
        if (thread == DEVICE) define_stream(rank, location, head->n_events[thread]);
        else define_thread(rank, location, (int)thread, is_pthread(events, head->n_events[thread], regions),
                           head->n_events[thread]);
        write_location(archive, location, events, head->n_events[thread], ids);
        events += head->n_events[thread];
    }
}

static void define_world(int n_ranks) {
    uint64_t ranks[1024], locations[1024];
    if (1024 < n_ranks) fail("more than 1024 ranks");
    for (int rank = 0; rank < n_ranks; rank++) {
        ranks[rank] = (uint64_t)rank;
        locations[rank] = (uint64_t)rank * LOCATIONS_PER_RANK;
    }
    CHECK(OTF2_GlobalDefWriter_WriteGroup(definitions, 0, string("MPI locations"), OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                          OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, (uint32_t)n_ranks, locations));
    CHECK(OTF2_GlobalDefWriter_WriteGroup(definitions, 1, string("world"), OTF2_GROUP_TYPE_COMM_GROUP,
                                          OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, (uint32_t)n_ranks, ranks));
    CHECK(OTF2_GlobalDefWriter_WriteComm(definitions, COMM_WORLD_ID, string("MPI_COMM_WORLD"), 1, OTF2_UNDEFINED_COMM,
                                         OTF2_COMM_FLAG_NONE));
}

static void define_comm(const struct communicator *comm) {
    uint64_t members[N_MEMBERS_MAX];
    uint32_t id = known_comm(comm->key), name = string(comm->name);
    for (int i = 0; i < comm->n_members; i++) members[i] = (uint64_t)comm->members[i];
    CHECK(OTF2_GlobalDefWriter_WriteGroup(definitions, n_groups, name, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                          OTF2_GROUP_FLAG_NONE, (uint32_t)comm->n_members, members));
    CHECK(OTF2_GlobalDefWriter_WriteComm(definitions, id, name, n_groups, known_comm(comm->parent),
                                         OTF2_COMM_FLAG_NONE));
    n_groups++;
}

/* Takes the parts of one rank: its own, or what it has sent. */
static void receive(int rank, struct head *head, struct region *regions, struct communicator *comms,
                    struct event **events) {
    uint64_t n_events = 0;
    PMPI_Recv(head, sizeof *head, MPI_BYTE, rank, TAG_HEAD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    PMPI_Recv(regions, (int)(head->n_regions * sizeof *regions), MPI_BYTE, rank, TAG_REGIONS, MPI_COMM_WORLD,
              MPI_STATUS_IGNORE);
    PMPI_Recv(comms, (int)(head->n_comms * sizeof *comms), MPI_BYTE, rank, TAG_COMMS, MPI_COMM_WORLD,
              MPI_STATUS_IGNORE);
    for (uint64_t i = 0; i < head->n_threads; i++) n_events += head->n_events[i];
    *events = malloc((n_events + 1) * sizeof **events);
    if (*events == NULL) fail("out of memory");
    PMPI_Recv(*events, (int)(n_events * sizeof **events), MPI_BYTE, rank, TAG_EVENTS, MPI_COMM_WORLD,
              MPI_STATUS_IGNORE);
}

static void write_archive(const char *folder) {
    OTF2_Archive *archive = OTF2_Archive_Open(folder, "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_MIN,
                                              OTF2_CHUNK_SIZE_MIN, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (archive == NULL) fail("OTF2_Archive_Open");
    CHECK(OTF2_Archive_SetCreator(archive, "zootrace 1"));
    CHECK(OTF2_Archive_SetFlushCallbacks(archive, &flush_callbacks, NULL));
    CHECK(OTF2_Archive_SetSerialCollectiveCallbacks(archive));
    CHECK(OTF2_Archive_OpenEvtFiles(archive));
    CHECK(OTF2_Archive_OpenDefFiles(archive));
    definitions = OTF2_Archive_GetGlobalDefWriter(archive);
    string("");
    CHECK(OTF2_GlobalDefWriter_WriteClockProperties(definitions, 1000000000u, start_ns, end_ns - start_ns,
                                                    OTF2_UNDEFINED_TIMESTAMP));
    CHECK(OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions, 0, string("zoo"), string("machine"),
                                                   OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    CHECK(OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions, 1, string("node"), string("node"), 0));
    CHECK(OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(definitions, 1, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY));
    static struct communicator made[N_KNOWN_COMMS_MAX];
    int n_made = 0;
    for (int rank = 0; rank < zoo_n_ranks; rank++) {
        struct head head;
        static struct region regions[N_REGIONS_MAX];
        struct communicator comms[N_COMMS_MAX];
        struct event *events;
        receive(rank, &head, regions, comms, &events);
        write_rank(archive, rank, &head, regions, events);
        for (uint64_t i = 0; i < head.n_comms; i++) {
            if (n_made == N_KNOWN_COMMS_MAX) fail("too many communicators");
            if (comms[i].is_first) made[n_made++] = comms[i];
        }
        free(events);
    }
    define_world(zoo_n_ranks);
    for (int i = 0; i < n_made; i++) define_comm(&made[i]);
    CHECK(OTF2_Archive_CloseDefFiles(archive));
    CHECK(OTF2_Archive_CloseEvtFiles(archive));
    CHECK(OTF2_Archive_Close(archive));
}

void zoo_write(const char *folder, uint64_t from_ns, uint64_t to_ns) {
    start_ns = from_ns, end_ns = to_ns;
    struct head head = {.n_regions = zoo_n_regions, .n_comms = zoo_n_comms};
    uint64_t n_events = 0;
    for (uint64_t i = 0; i < N_THREADS_MAX; i++) {
        head.n_events[i] = zoo_buffers[i].n_events;
        n_events += head.n_events[i];
        if (head.n_events[i] != 0) head.n_threads = i + 1;
    }
    struct event *all = malloc((n_events + 1) * sizeof *all);
    if (all == NULL) fail("out of memory");
    uint64_t at = 0;
    for (uint64_t i = 0; i < head.n_threads; i++) {
        if (head.n_events[i] != 0) memcpy(all + at, zoo_buffers[i].events, head.n_events[i] * sizeof *all);
        at += head.n_events[i];
    }
    MPI_Request requests[4];
    PMPI_Isend(&head, sizeof head, MPI_BYTE, 0, TAG_HEAD, MPI_COMM_WORLD, &requests[0]);
    PMPI_Isend(zoo_regions, (int)(head.n_regions * sizeof *zoo_regions), MPI_BYTE, 0, TAG_REGIONS, MPI_COMM_WORLD,
               &requests[1]);
    PMPI_Isend(all, (int)(n_events * sizeof *all), MPI_BYTE, 0, TAG_EVENTS, MPI_COMM_WORLD, &requests[2]);
    PMPI_Isend(zoo_comms, (int)(head.n_comms * sizeof *zoo_comms), MPI_BYTE, 0, TAG_COMMS, MPI_COMM_WORLD,
               &requests[3]);
    if (zoo_rank == 0) write_archive(folder);
    PMPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    free(all);
}
