/* Storage that always crosses: producers get, end after a while and are replaced; consumers only free. The storage
 * in transit is bounded, so the resident size, printed on standard error, must be, too. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { BELT = 1024, GENERATIONS = 60, EACH = 20000 };
static void *belt[BELT];
static int first, filled, over;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, less = PTHREAD_COND_INITIALIZER;

static void *produce(void *argument) {
    unsigned random = (unsigned)(size_t)argument * 77 + 1;
    for (int i = 0; i < EACH; i += 16) {
        void *batch[16];
        for (int k = 0; k < 16; k++) {
            random = random * 1103515245 + 12345;
            size_t size = random >> 16 & (random & 0x3c00 ? 0x1ff : 0x3fff);
            memset(batch[k] = malloc(size), 1, size);
        }
        pthread_mutex_lock(&lock);
        for (int k = 0; k < 16; k++) {
            while (filled == BELT) pthread_cond_wait(&less, &lock);
            belt[(first + filled++) % BELT] = batch[k];
        }
        pthread_cond_signal(&more);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *consume(void *argument) {
    for (;;) {
        void *batch[64];
        int count = 0;
        pthread_mutex_lock(&lock);
        while (filled == 0 && !over) pthread_cond_wait(&more, &lock);
        while (filled && count < 64) {
            batch[count++] = belt[first];
            first = (first + 1) % BELT;
            filled--;
        }
        pthread_cond_broadcast(&less);
        pthread_mutex_unlock(&lock);
        if (count == 0) return argument;
        while (count) free(batch[--count]);
    }
}

int main(void) {
    pthread_t producers[3], consumers[2];
    for (int i = 0; i < 2; i++) pthread_create(&consumers[i], NULL, consume, NULL);
    for (int generation = 0; generation < GENERATIONS; generation++) {
        for (int i = 0; i < 3; i++) pthread_create(&producers[i], NULL, produce, (void *)(size_t)(generation * 3 + i));
        for (int i = 0; i < 3; i++) pthread_join(producers[i], NULL);
    }
    pthread_mutex_lock(&lock);
    over = 1;
    pthread_cond_broadcast(&more);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 2; i++) pthread_join(consumers[i], NULL);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    fprintf(stderr, "%ld\n", usage.ru_maxrss);
    printf("all crossed\n");
    return 0;
}
