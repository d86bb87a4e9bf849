/* Threads that use the heap while they end: keys' destructors in several rounds, more keys than the C library
 * has room for in the thread, a thread that only frees, and one that ends in the middle of everything. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 200, BLOCKS = 5000 };
static pthread_key_t keys[KEYS];
static _Atomic long rounds, wrong;

struct value {
    int round;
    pthread_key_t key;
    unsigned char *block;
};

static void ends(void *argument) {
    struct value *value = argument;
    for (int i = 0; i < 500; i++)
        if (value->block[i] != (unsigned char)value->key) wrong++;
    value->block = realloc(value->block, 500 + (size_t)value->round * 20000);
    char *small[20];
    for (int i = 0; i < 20; i++) memset(small[i] = malloc((size_t)i * 100), 1, (size_t)i * 100);
    for (int i = 0; i < 20; i++) free(small[i]);
    rounds++;
    if (value->round++ < 3) {
        pthread_setspecific(value->key, value);
    } else {
        free(value->block);
        free(value);
    }
}

static void *with_keys(void *argument) {
    for (int i = 0; i < KEYS; i++) {
        struct value *value = malloc(sizeof *value);
        value->round = 0;
        value->key = keys[i];
        memset(value->block = malloc(500), (unsigned char)keys[i], 500);
        pthread_setspecific(keys[i], value);
    }
    return argument;
}

static void *only_frees(void *argument) {
    void **blocks = argument;
    for (int i = 0; i < BLOCKS; i++) free(blocks[i]);
    return NULL;
}

static void *only_gets(void *argument) {
    void **blocks = argument;
    for (int i = 0; i < BLOCKS; i++) memset(blocks[i] = malloc((size_t)(i % 900)), 3, (size_t)(i % 900));
    return argument;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < KEYS; i++) pthread_key_create(&keys[i], ends);
    for (int turn = 0; turn < 10; turn++) {
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, with_keys, NULL);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    }
    printf("%ld destructors, %ld wrong\n", rounds, wrong);
    static void *blocks[BLOCKS];
    for (int turn = 0; turn < 20; turn++) {
        pthread_create(&threads[0], NULL, only_gets, blocks);
        pthread_join(threads[0], NULL);
        pthread_create(&threads[1], NULL, only_frees, blocks);
        pthread_join(threads[1], NULL);
    }
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, with_keys, NULL);
    printf("main ends as a thread\n");
    fflush(stdout);
    pthread_exit(NULL);
}
