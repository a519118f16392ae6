/* What the wrappers of MPI calls have in common: recording, waiting, communicators.
 *
 * Shape: free functions over one table of communicators. Law: waiting tests and sleeps in
 * turn, because ranks that spin would take the two cores from those that work.
 */
#ifndef ZOO_WRAP_H
#define ZOO_WRAP_H

#include "record.h"
#include "zoo.h"

#include <mpi.h>

enum { POLL_NS_MIN = 20000, POLL_NS_MAX = 80000 };

/* Emulated costs of a message and of a collective, see zoo_network. */
extern uint64_t zoo_message_ns, zoo_collective_ns;

void zoo_fail(const char *what);
void zoo_sleep_ns(uint64_t ns);
/* Sleeps, and returns the next pause between two tests: longer, the longer the wait. */
uint64_t zoo_pause(uint64_t pause_ns);
/* Waits for a request. */
void zoo_finish(MPI_Request *request, MPI_Status *status);
void zoo_begin(const char *name, enum region_kind kind);
int zoo_end(void);
uint64_t zoo_bytes(int count, MPI_Datatype type);

/* The number of a communicator that all its members know it by; 0 is MPI_COMM_WORLD. */
uint32_t zoo_comm_key(MPI_Comm comm);
/* Gives a new communicator its number. Collective over it. */
void zoo_comm_made(MPI_Comm comm, MPI_Comm parent);

#endif
