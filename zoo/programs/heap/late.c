/* Loads the preload library late, as no one should: its eight bytes of thread-local storage still find room, also
 * for threads that exist already. Argument: the library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *(*their_malloc)(size_t);
static void (*their_free)(void *);
static pthread_barrier_t barrier;

static void *work(void *argument) {
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 20000; i++) {
        char *p = their_malloc((size_t)(i % 3000));
        memset(p, 1, (size_t)(i % 3000));
        their_free(p);
    }
    return argument;
}

int main(int count, char **words) {
    if (count < 2) return 2;
    pthread_t threads[2];
    pthread_barrier_init(&barrier, NULL, 3);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, NULL);
    pthread_barrier_wait(&barrier);
    void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        printf("%s\n", dlerror());
        return 1;
    }
    their_malloc = dlsym(library, "malloc");
    their_free = dlsym(library, "free");
    void *ours = malloc(100);
    their_free(ours);
    free(ours);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("served late\n");
    return 0;
}
