/* sizes: prints the sizes of threads' stacks, by the kind of request. All live until the end except the deep one, so
   that none gets the stack of another.

     null   without attributes          fresh  with attributes in which no size was set
     same   the default, set as a size  less   1 MiB, set as a size
     after  as null, once a thread has ended that used 200 KiB */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static __thread volatile char local[100000];
static pthread_barrier_t barrier;
static pthread_mutex_t until_the_end = PTHREAD_MUTEX_INITIALIZER;
static size_t found;

static void *look(void *unused) {
    pthread_attr_t attributes;
    void *stack;
    local[1] = 1;
    if (pthread_getattr_np(pthread_self(), &attributes)) exit(3);
    pthread_attr_getstack(&attributes, &stack, &found);
    pthread_attr_destroy(&attributes);
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&until_the_end);
    pthread_mutex_unlock(&until_the_end);
    return unused;
}

static void *deep(void *unused) {
    volatile char block[200 * 1024];
    for (size_t at = 0; at < sizeof block; at += 1024) block[at] = 1;
    return unused;
}

static pthread_t threads[5];
static int started;

static void start(const char *name, pthread_attr_t *attributes) {
    if (pthread_create(&threads[started++], attributes, look, NULL)) exit(4);
    pthread_barrier_wait(&barrier);
    printf("%s %zu\n", name, found);
}

int main(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    size_t size;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_mutex_lock(&until_the_end);
    start("null", NULL);
    pthread_attr_init(&attributes);
    start("fresh", &attributes);
    pthread_attr_getstacksize(&attributes, &size);
    pthread_attr_setstacksize(&attributes, size);
    start("same", &attributes);
    pthread_attr_setstacksize(&attributes, 1 << 20);
    start("less", &attributes);
    if (pthread_create(&thread, NULL, deep, NULL)) return 5;
    pthread_join(thread, NULL);
    start("after", NULL);
    pthread_mutex_unlock(&until_the_end);
    for (int at = 0; at < started; at++) pthread_join(threads[at], NULL);
    return 0;
}
