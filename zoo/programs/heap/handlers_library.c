/* A library that guards its table over a fork: its constructor registers handlers, which take its lock and get storage. */
#include <pthread.h>
#include <stdlib.h>

pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;

static void get_storage(void) {
    void *volatile blocks[200];
    for (int i = 0; i < 200; i++) blocks[i] = malloc((size_t)i * 2000 + 1);
    for (int i = 0; i < 200; i++) free(blocks[i]);
}

static void before(void) {
    pthread_mutex_lock(&table);
    get_storage();
}

static void after(void) {
    get_storage();
    pthread_mutex_unlock(&table);
}

__attribute__((constructor)) static void at_start(void) {
    pthread_atfork(before, after, after);
}
