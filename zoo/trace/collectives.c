/* Collectives: recorded, and waiting without burning a core; see wrap.h.
 *
 * Shape: one wrapper per MPI call, which starts the non-blocking form and waits for it.
 * Law: bytes are those that a rank itself sends and receives, as Score-P counts them.
 * An emulated network (zoo_network) costs everybody time inside of the call.
 */
#include "wrap.h"

#include <otf2/OTF2_Definitions.h>
#include <otf2/OTF2_Events.h>

/* What is recorded when a collective ends. `root` is a rank of the communicator. */
struct collective {
    OTF2_CollectiveOp op;
    MPI_Comm comm;
    uint32_t root;
    uint64_t n_sent, n_received;
};

static void begin(const char *name, enum region_kind kind) {
    zoo_begin(name, kind);
    zoo_record((struct event){.time_ns = zoo_now_ns(), .kind = EVENT_COLLECTIVE_BEGIN});
}

static int end(MPI_Request *request, struct collective what) {
    zoo_finish(request, MPI_STATUS_IGNORE);
    zoo_sleep_ns(zoo_collective_ns);
    zoo_record((struct event){.time_ns = zoo_now_ns(), .kind = EVENT_COLLECTIVE_END, .region = what.op,
                              .comm = zoo_comm_key(what.comm), .peer = what.root, .bytes = what.n_sent,
                              .request = what.n_received});
    return zoo_end();
}

static uint64_t members(MPI_Comm comm) {
    int size;
    PMPI_Comm_size(comm, &size);
    return (uint64_t)size;
}

/* `bytes` times the members at the root, 0 elsewhere. */
static uint64_t at_root(uint64_t bytes, int root, MPI_Comm comm) {
    int rank;
    PMPI_Comm_rank(comm, &rank);
    return rank == root ? bytes * members(comm) : 0;
}

int MPI_Barrier(MPI_Comm comm) {
    MPI_Request request;
    begin("MPI_Barrier", REGION_MPI_BARRIER);
    PMPI_Ibarrier(comm, &request);
    return end(&request, (struct collective){OTF2_COLLECTIVE_OP_BARRIER, comm, OTF2_UNDEFINED_UINT32, 0, 0});
}

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    MPI_Request request;
    uint64_t bytes = zoo_bytes(count, type) * members(comm);
    begin("MPI_Allreduce", REGION_MPI_COLLECTIVE);
    PMPI_Iallreduce(from, to, count, type, op, comm, &request);
    return end(&request,
               (struct collective){OTF2_COLLECTIVE_OP_ALLREDUCE, comm, OTF2_UNDEFINED_UINT32, bytes, bytes});
}

int MPI_Allgather(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
                  MPI_Comm comm) {
    MPI_Request request;
    uint64_t bytes = zoo_bytes(count, type) * members(comm);
    begin("MPI_Allgather", REGION_MPI_COLLECTIVE);
    PMPI_Iallgather(from, count, type, to, to_count, to_type, comm, &request);
    return end(&request,
               (struct collective){OTF2_COLLECTIVE_OP_ALLGATHER, comm, OTF2_UNDEFINED_UINT32, bytes, bytes});
}

int MPI_Alltoall(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
                 MPI_Comm comm) {
    MPI_Request request;
    uint64_t bytes = zoo_bytes(count, type) * members(comm);
    begin("MPI_Alltoall", REGION_MPI_COLLECTIVE);
    PMPI_Ialltoall(from, count, type, to, to_count, to_type, comm, &request);
    return end(&request,
               (struct collective){OTF2_COLLECTIVE_OP_ALLTOALL, comm, OTF2_UNDEFINED_UINT32, bytes, bytes});
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    MPI_Request request;
    uint64_t bytes = zoo_bytes(count, type), sent = at_root(bytes, root, comm);
    begin("MPI_Bcast", REGION_MPI_ONE2ALL);
    PMPI_Ibcast(buffer, count, type, root, comm, &request);
    return end(&request, (struct collective){OTF2_COLLECTIVE_OP_BCAST, comm, (uint32_t)root, sent, bytes});
}

int MPI_Scatter(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type, int root,
                MPI_Comm comm) {
    MPI_Request request;
    uint64_t bytes = zoo_bytes(to_count, to_type), sent = at_root(bytes, root, comm);
    begin("MPI_Scatter", REGION_MPI_ONE2ALL);
    PMPI_Iscatter(from, count, type, to, to_count, to_type, root, comm, &request);
    return end(&request, (struct collective){OTF2_COLLECTIVE_OP_SCATTER, comm, (uint32_t)root, sent, bytes});
}

int MPI_Reduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
    MPI_Request request;
    uint64_t bytes = zoo_bytes(count, type), received = at_root(bytes, root, comm);
    begin("MPI_Reduce", REGION_MPI_ALL2ONE);
    PMPI_Ireduce(from, to, count, type, op, root, comm, &request);
    return end(&request, (struct collective){OTF2_COLLECTIVE_OP_REDUCE, comm, (uint32_t)root, bytes, received});
}

int MPI_Gather(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type, int root,
               MPI_Comm comm) {
    MPI_Request request;
    uint64_t bytes = zoo_bytes(count, type), received = at_root(bytes, root, comm);
    begin("MPI_Gather", REGION_MPI_ALL2ONE);
    PMPI_Igather(from, count, type, to, to_count, to_type, root, comm, &request);
    return end(&request, (struct collective){OTF2_COLLECTIVE_OP_GATHER, comm, (uint32_t)root, bytes, received});
}

int MPI_Scan(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    MPI_Request request;
    int rank;
    uint64_t bytes = zoo_bytes(count, type), n_after;
    PMPI_Comm_rank(comm, &rank);
    n_after = members(comm) - (uint64_t)rank;
    begin("MPI_Scan", REGION_MPI_OTHER);
    PMPI_Iscan(from, to, count, type, op, comm, &request);
    return end(&request, (struct collective){OTF2_COLLECTIVE_OP_SCAN, comm, OTF2_UNDEFINED_UINT32, bytes * n_after,
                                             bytes * ((uint64_t)rank + 1)});
}
