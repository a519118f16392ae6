/* A device that starves: each host reads and augments a batch, 14 ms, while the accelerator
 * (a stand-in) trains on the one before, 6 ms, and then has nothing to do.
 * --fixed: augmentation is vectorised, 4.5 ms in all, and the accelerator is always busy. */
#include "program.h"

enum { N_BATCHES = 40, N_GRADIENTS = 16 };

static void read_batch(void) { ZOO_REGION("read_batch"); zoo_work(faulty ? 3 : 1.5); }
static void augment_batch(void) { ZOO_REGION("augment_batch"); zoo_work(faulty ? 11 : 3); }

static void prepare_batch(void) {
    ZOO_REGION("prepare_batch");
    read_batch();
    augment_batch();
}

static void launch_training(void) {
    ZOO_REGION("launch_training");
    zoo_launch("forward", 2);
    zoo_launch("backward", 4);
}

static void average_gradients(void) {
    ZOO_REGION("average_gradients");
    static double mine[N_GRADIENTS], sum[N_GRADIENTS];
    MPI_Allreduce(mine, sum, N_GRADIENTS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* The batch that was prepared is trained on while the next is prepared. */
static void train_batch(void) {
    ZOO_REGION("train_batch");
    launch_training();
    prepare_batch();
    zoo_synchronise_device();
    average_gradients();
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    ZOO_REGION("main");
    program_begin(argc, argv);
    prepare_batch();
    for (int batch = 0; batch < N_BATCHES; batch++) train_batch();
    return MPI_Finalize();
}
