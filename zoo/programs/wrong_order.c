/* Messages received in another order than they are sent: even ranks send the near field after
 * 4 ms and the far field after 16 ms; their odd neighbours wait for the far field first, and
 * for its 8 ms of work, while the near field has long been there.
 * --fixed: they take the near field first. The same messages, the same work. */
#include "program.h"

enum { N_STEPS = 24, N_VALUES = 128 };
enum field { NEAR = 0, FAR = 1 };

static double values[N_VALUES];

static void near_field(void) { ZOO_REGION("near_field"); zoo_work(4); }
static void far_field(void) { ZOO_REGION("far_field"); zoo_work(12); }
static void own_forces(void) { ZOO_REGION("own_forces"); zoo_work(7); }
static void add_forces(void) { ZOO_REGION("add_forces"); zoo_work(8); }

static void send_fields(int step) {
    ZOO_REGION("send_fields");
    near_field();
    MPI_Send(values, N_VALUES, MPI_DOUBLE, rank + 1, 2 * step + NEAR, MPI_COMM_WORLD);
    far_field();
    MPI_Send(values, N_VALUES, MPI_DOUBLE, rank + 1, 2 * step + FAR, MPI_COMM_WORLD);
}

static void receive_field(int step, enum field field) {
    MPI_Recv(values, N_VALUES, MPI_DOUBLE, rank - 1, 2 * step + (int)field, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    add_forces();
}

static void receive_fields(int step) {
    ZOO_REGION("receive_fields");
    receive_field(step, faulty ? FAR : NEAR);
    receive_field(step, faulty ? NEAR : FAR);
}

static void timestep(int step) {
    ZOO_REGION("timestep");
    if (rank % 2 == 0) {
        send_fields(step);
        own_forces();
    } else {
        receive_fields(step);
    }
    agree_on_time_step(step);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    for (int step = 0; step < N_STEPS; step++) timestep(step);
    return MPI_Finalize();
}
