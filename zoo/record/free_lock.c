// A mutex that is always free, taken so often that samples are taken in the recorder, which tries it first.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile long n_updates;

static __attribute__((noinline)) void update(void) {
    pthread_mutex_lock(&mutex);
    n_updates++;
    pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv) {
    for (long n = argc > 1 ? atol(argv[1]) : 1000; n > 0; n--) update();
    return 0;
}
