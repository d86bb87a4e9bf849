/* A program that brings half an allocator of its own, as one with jemalloc inside does: malloc, free, calloc and
 * realloc are its own, the rest of the family is the process's. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(16) char room[64 << 20];
static _Atomic size_t used;
static _Atomic long foreign;

__attribute__((noinline)) void *malloc(size_t size) {
    size_t need = (size + 31) & ~(size_t)15;
    size_t at = used;
    while (!__atomic_compare_exchange_n((size_t *)&used, &at, at + need, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
    if (at + need > sizeof room) return NULL;
    *(size_t *)(room + at) = size;
    return room + at + 16;
}

void free(void *address) {
    if (address && ((char *)address < room || (char *)address >= room + sizeof room)) foreign++;
}

void *calloc(size_t count, size_t size) {
    void *got = malloc(count * size);
    return got ? memset(got, 0, count * size) : NULL;
}

void *realloc(void *address, size_t size) {
    void *got = malloc(size);
    if (!got || !address) return got;
    size_t old = *(size_t *)((char *)address - 16);
    return memcpy(got, address, old < size ? old : size);
}

static void *work(void *argument) {
    for (int i = 0; i < 1000; i++) {
        char *text = strdup("text");
        char *line = NULL;
        if (asprintf(&line, "%s %d", text, i) < 0) return argument;
        free(text), free(line);
    }
    return argument;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    void *aligned = NULL;
    if (posix_memalign(&aligned, 64, 1000) || (uintptr_t)aligned % 64) printf("WRONG\n");
    memset(aligned, 1, 1000);
    free(aligned);
    free(memalign(4096, 100));
    void *grown = reallocarray(malloc(10), 10, 100);
    free(grown);
    printf("got along, %s\n", foreign >= 2 ? "foreign ones seen" : "WRONG");
    return 0;
}
