/* Threads get, fill, check, resize, pass on and free storage at random; every byte is checked before it goes.
 *
 *   torture THREADS OPERATIONS SHAPE SEED
 *   SHAPE  small   up to 1 KiB           mixed  0 to 1 MiB, mostly small      large  64 KiB to 1 MiB
 *          pass    small, all through slots that all threads share            churn  threads end all the time
 *
 * Prints one line with sums that depend on the seed only. Exit 1 at the first wrong byte. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OWN = 400, SHARED = 512 };

struct block {
    unsigned char *address;
    size_t size;
    uint64_t seed;
};

static _Atomic(struct block *) shared[SHARED];
static long operations;
static const char *shape;

static uint64_t next(uint64_t *state) {
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void die(const char *what, struct block *b, size_t at) {
    fprintf(stderr, "torture: %s: block %p of %zu bytes at %zu\n", what, (void *)b->address, b->size, at);
    _Exit(1);
}

static unsigned char pattern(uint64_t seed, size_t at) {
    return (unsigned char)(seed + at * 7 + (at >> 8) * 13);
}

/* Large blocks: all of the first and last page, and a byte of every 64 between. */
static size_t step(const struct block *b, size_t at) {
    return at < 4096 || at + 4097 > b->size ? 1 : (b->size - 4096 - at < 64 ? b->size - 4096 - at : 64);
}

static void fill(struct block *b) {
    for (size_t at = 0; at < b->size; at += step(b, at) ? step(b, at) : 1) b->address[at] = pattern(b->seed, at);
}

static void check(struct block *b, size_t up_to) {
    for (size_t at = 0; at < up_to; at += step(b, at) ? step(b, at) : 1)
        if (b->address[at] != pattern(b->seed, at)) die("content changed", b, at);
}

static size_t a_size(uint64_t *random) {
    uint64_t r = next(random);
    switch (shape[0]) {
    case 's': case 'p': return r % 1025;
    case 'l': return 65536 + r % (1 << 20);
    default: {
        unsigned bits = (unsigned)(r % 100) < 90 ? r / 100 % 11 : r / 100 % 21;
        return (size_t)(next(random) % ((uint64_t)1 << bits)) + (r >> 60 == 0);
    }
    }
}

static void get(struct block *b, uint64_t *random) {
    b->size = a_size(random);
    b->seed = next(random);
    size_t align = 16;
    switch (next(random) % 8) {
    case 0:
        b->address = calloc(1, b->size);
        for (size_t at = 0; b->address && at < b->size; at++)
            if (b->address[at]) die("calloc is not zero", b, at);
        break;
    case 1:
        align = (size_t)16 << next(random) % 10;
        b->address = aligned_alloc(align, b->size);
        break;
    case 2:
        align = (size_t)16 << next(random) % 13;
        if (posix_memalign((void **)&b->address, align, b->size)) b->address = NULL;
        break;
    default: b->address = malloc(b->size);
    }
    if (!b->address) die("no storage", b, 0);
    if ((uintptr_t)b->address & (align - 1)) die("not aligned", b, align);
    if (malloc_usable_size(b->address) < b->size) die("usable size too small", b, 0);
    fill(b);
}

static void resize(struct block *b, uint64_t *random) {
    size_t old = b->size, new = next(random) % 4 ? a_size(random) : old + next(random) % (old + 64);
    if (new == 0) new = 1;
    unsigned char *address = realloc(b->address, new);
    if (!address) die("no storage to resize", b, new);
    b->address = address;
    /* Sparsely written bytes are checked where both sizes wrote them. */
    struct block before = {address, old, b->seed};
    if (new >= old) {
        check(&before, old);
    } else {
        for (size_t at = 0; at < new; at += step(&before, at) ? step(&before, at) : 1)
            if (address[at] != pattern(b->seed, at)) die("content lost by realloc", b, at);
    }
    b->size = new;
    fill(b);
}

static void give(struct block *b) {
    check(b, b->size);
    errno = 77;
    free(b->address);
    if (errno != 77) die("free changed errno", b, 0);
    b->address = NULL;
}

/* Through a shared slot: the next thread frees the block in it. */
static void pass(struct block *b, uint64_t *random) {
    struct block *parcel = malloc(sizeof *parcel);
    *parcel = *b;
    b->address = NULL;
    parcel = atomic_exchange(&shared[next(random) % SHARED], parcel);
    if (parcel) {
        give(parcel);
        free(parcel);
    }
}

static void *work(void *argument) {
    uint64_t random = (uint64_t)(uintptr_t)argument;
    struct block own[OWN] = {{0}};
    for (long i = 0; i < operations; i++) {
        struct block *b = &own[next(&random) % OWN];
        if (!b->address) {
            get(b, &random);
        } else {
            unsigned what = next(&random) % 16;
            if (what < 3) resize(b, &random);
            else if (what < 7 || shape[0] == 'p') pass(b, &random);
            else give(b);
        }
    }
    for (int i = 0; i < OWN; i++)
        if (own[i].address) {
            if (i % 2) pass(&own[i], &random);
            else give(&own[i]);
        }
    return NULL;
}

int main(int count, char **words) {
    if (count != 5) return 2;
    int threads = atoi(words[1]);
    operations = atol(words[2]);
    shape = words[3];
    uint64_t seed = strtoull(words[4], NULL, 0);
    int generations = 1;
    if (!strcmp(shape, "churn")) {
        generations = 50;
        operations = operations / generations + 1;
    }
    pthread_t ids[64];
    if (threads > 64) threads = 64;
    for (int g = 0; g < generations; g++) {
        for (int t = 0; t < threads; t++)
            if (pthread_create(&ids[t], NULL, work, (void *)(uintptr_t)next(&seed))) return 3;
        for (int t = 0; t < threads; t++) pthread_join(ids[t], NULL);
    }
    for (int i = 0; i < SHARED; i++) {
        struct block *b = atomic_exchange(&shared[i], NULL);
        if (b) {
            give(b);
            free(b);
        }
    }
    printf("torture %s: %d threads well\n", shape, threads);
    return 0;
}
