/* Start and end of MPI, communicators, and what all wrappers share; see wrap.h.
 *
 * Law: every wrapper does what MPI says its call does, over the profiling interface.
 * Messages are in messages.c, collectives in collectives.c.
 */
#define _GNU_SOURCE
#include "wrap.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t zoo_message_ns, zoo_collective_ns;
struct communicator zoo_comms[N_COMMS_MAX];
uint32_t zoo_n_comms;

static uint64_t start_ns;
static MPI_Comm comm_handles[N_COMMS_MAX];

void zoo_fail(const char *what) {
    fprintf(stderr, "zoo: rank %d: %s\n", zoo_rank, what);
    PMPI_Abort(MPI_COMM_WORLD, 1);
}

void zoo_network(double us_per_message, double us_per_collective) {
    zoo_message_ns = (uint64_t)(us_per_message * 1e3);
    zoo_collective_ns = (uint64_t)(us_per_collective * 1e3);
}

/* ---- waiting and recording ---- */
void zoo_sleep_ns(uint64_t ns) { if (ns != 0) zoo_sleep_until(zoo_now_ns() + ns); }

uint64_t zoo_pause(uint64_t pause_ns) {
    zoo_sleep_ns(pause_ns);
    return pause_ns * 2 < POLL_NS_MAX ? pause_ns * 2 : POLL_NS_MAX;
}

void zoo_finish(MPI_Request *request, MPI_Status *status) {
    int done = 0;
    uint64_t pause_ns = POLL_NS_MIN;
    for (PMPI_Test(request, &done, status); !done; PMPI_Test(request, &done, status)) pause_ns = zoo_pause(pause_ns);
}

void zoo_begin(const char *name, enum region_kind kind) {
    zoo_push(zoo_region(name, NULL, 0, kind), zoo_now_ns());
}

int zoo_end(void) {
    zoo_wait_ended();
    zoo_pop(zoo_now_ns());
    return MPI_SUCCESS;
}

uint64_t zoo_bytes(int count, MPI_Datatype type) {
    int size;
    PMPI_Type_size(type, &size);
    return (uint64_t)count * (uint64_t)size;
}

/* ---- communicators ---- */
static struct communicator *find_comm(MPI_Comm comm) {
    for (uint32_t i = 0; i < zoo_n_comms; i++)
        if (comm_handles[i] == comm) return &zoo_comms[i];
    zoo_fail("a communicator that no wrapped call has made");
    return NULL;
}

uint32_t zoo_comm_key(MPI_Comm comm) { return comm == MPI_COMM_WORLD ? 0 : find_comm(comm)->key; }

/* Its first member numbers it, so that no two have the same number. */
void zoo_comm_made(MPI_Comm comm, MPI_Comm parent) {
    static uint32_t n_numbered;
    if (comm == MPI_COMM_NULL) return;
    if (zoo_n_comms == N_COMMS_MAX) zoo_fail("too many communicators");
    comm_handles[zoo_n_comms] = comm;
    struct communicator *new = &zoo_comms[zoo_n_comms++];
    MPI_Group group, world;
    int local[N_MEMBERS_MAX], n_members, rank;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &n_members);
    if (N_MEMBERS_MAX < n_members) zoo_fail("too many members of a communicator");
    if (rank == 0) new->key = (uint32_t)zoo_rank * N_COMMS_MAX + ++n_numbered;
    PMPI_Bcast(&new->key, 1, MPI_UINT32_T, 0, comm);
    new->parent = zoo_comm_key(parent);
    new->is_first = rank == 0;
    new->n_members = n_members;
    for (int i = 0; i < n_members; i++) local[i] = i;
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, n_members, local, world, new->members);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
}

/* Members wait for each other asleep before they make it. */
static void begin_making(const char *name, MPI_Comm comm) {
    MPI_Request request;
    zoo_begin(name, REGION_MPI_OTHER);
    zoo_record((struct event){.time_ns = zoo_now_ns(), .kind = EVENT_COLLECTIVE_BEGIN});
    PMPI_Ibarrier(comm, &request);
    zoo_finish(&request, MPI_STATUS_IGNORE);
}

static int end_making(MPI_Comm comm) {
    zoo_record((struct event){.time_ns = zoo_now_ns(), .kind = EVENT_COMM_MADE, .comm = zoo_comm_key(comm)});
    return zoo_end();
}

int MPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm *new) {
    begin_making("MPI_Comm_split", comm);
    PMPI_Comm_split(comm, colour, key, new);
    zoo_comm_made(*new, comm);
    return end_making(comm);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *new) {
    begin_making("MPI_Comm_dup", comm);
    PMPI_Comm_dup(comm, new);
    zoo_comm_made(*new, comm);
    return end_making(comm);
}

int MPI_Comm_set_name(MPI_Comm comm, const char *name) {
    struct communicator *known = find_comm(comm);
    snprintf(known->name, sizeof known->name, "%s", name);
    return PMPI_Comm_set_name(comm, name);
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

static int ended(uint64_t now_ns) {
    uint64_t end_ns;
    be_real_time(0);
    PMPI_Allreduce(&now_ns, &end_ns, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (zoo_rank == 0) printf("zoo wall_ns=%llu\n", (unsigned long long)(end_ns - start_ns));
    if (getenv("ZOO_TRACE") != NULL) zoo_write(getenv("ZOO_TRACE"), start_ns, end_ns);
    return PMPI_Finalize();
}

int MPI_Finalize(void) {
    MPI_Request request;
    zoo_begin("MPI_Finalize", REGION_MPI);
    PMPI_Ibarrier(MPI_COMM_WORLD, &request);
    zoo_finish(&request, MPI_STATUS_IGNORE);
    uint64_t now_ns = zoo_now_ns();
    zoo_close_all(now_ns);
    return ended(now_ns);
}

void zoo_killed(void) {
    uint64_t now_ns = zoo_now_ns();
    zoo_cut_all();
    exit(ended(now_ns) != MPI_SUCCESS);
}
