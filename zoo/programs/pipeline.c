/* A pipeline: images go from rank to rank, each of which does one stage and checks what it
 * got and what it passes on, 1.5 ms each. Stage 3 takes 14 ms for an image, the others 8 ms:
 * those before it wait to send, those behind it to receive.
 * --fixed: stages are cut differently; the same work in total, 9 ms for each. */
#include "program.h"

enum { N_IMAGES = 40, N_VALUES = 1024, SLOW = 3 };

static double image[N_VALUES];
static double cost;

static void transform(void) { ZOO_REGION("transform"); zoo_work(5 * cost); }
static void filter(void) { ZOO_REGION("filter"); zoo_work(3 * cost); }

static void process_image(void) {
    ZOO_REGION("process_image");
    transform();
    filter();
}

static void check_image(void) { ZOO_REGION("check_image"); zoo_work(1.5); }

static void run_stage(void) {
    ZOO_REGION("run_stage");
    for (int i = 0; i < N_IMAGES; i++) {
        if (0 < rank) MPI_Recv(image, N_VALUES, MPI_DOUBLE, rank - 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_image();
        process_image();
        check_image();
        if (rank + 1 < n_ranks) MPI_Ssend(image, N_VALUES, MPI_DOUBLE, rank + 1, i, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    cost = !faulty ? 9.0 / 8 : rank == SLOW ? 14.0 / 8 : 1;
    run_stage();
    return MPI_Finalize();
}
