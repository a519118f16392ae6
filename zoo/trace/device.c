/* A stand-in for an accelerator: one stream for each rank, whose kernels take the time they
 * are said to take, one after the other. Recorded like CUDA.
 *
 * Law: when a kernel starts and ends is known when it is launched, as a stream keeps its
 * order; so both are recorded then, and nothing runs. Not here: copies and events of CUDA.
 */
#include "record.h"
#include "zoo.h"

enum { LAUNCH_NS = 8000, LATENCY_NS = 12000 };

static uint64_t free_ns;

static void enter(const char *name) { zoo_push(zoo_region(name, NULL, 0, REGION_CUDA), zoo_now_ns()); }

static void leave(void) {
    zoo_wait_ended();
    zoo_pop(zoo_now_ns());
}

void zoo_launch(const char *kernel, double ms) {
    enter("cudaLaunchKernel");
    uint64_t now_ns = zoo_now_ns();
    uint64_t start_ns = now_ns + LATENCY_NS < free_ns ? free_ns : now_ns + LATENCY_NS;
    free_ns = start_ns + (uint64_t)(ms * zoo_jitter() * 1e6);
    uint32_t region = zoo_region(kernel, NULL, 0, REGION_CUDA_KERNEL);
    zoo_record_device((struct event){.time_ns = start_ns, .kind = EVENT_ENTER, .region = region});
    zoo_record_device((struct event){.time_ns = free_ns, .kind = EVENT_LEAVE, .region = region});
    zoo_sleep_until(now_ns + LAUNCH_NS);
    leave();
}

void zoo_synchronise_device(void) {
    enter("cudaStreamSynchronize");
    zoo_sleep_until(free_ns);
    leave();
}
