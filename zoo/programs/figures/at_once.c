/* at_once N: N threads at one time, which get nothing. */
#include <pthread.h>
#include <stdlib.h>

static pthread_barrier_t all;

static void *run(void *unused) {
    pthread_barrier_wait(&all);
    return unused;
}

int main(int argc, char **arguments) {
    static pthread_t threads[200];
    int count = argc > 1 ? atoi(arguments[1]) : 0;
    if (count < 1 || count > 200) return 2;
    pthread_barrier_init(&all, NULL, count);
    for (int at = 0; at < count; at++) {
        if (pthread_create(&threads[at], NULL, run, NULL)) return 1;
    }
    for (int at = 0; at < count; at++) pthread_join(threads[at], NULL);
    return 0;
}
