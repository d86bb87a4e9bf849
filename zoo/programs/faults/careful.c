/* Gets and gives back correctly in every way there is, and writes each usable byte: none of it is misuse.
   careful OPERATIONS. Ends with "done". */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, SHARED = 256, OWN = 64 };

struct block {
    unsigned char *at;
    size_t bytes;
    unsigned char mark;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block shared[SHARED];
static long operations;

static uint64_t next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Mostly small, some of each size up to a few mebibytes. */
static size_t a_size(uint64_t *state) {
    uint64_t of = next(state) % 1000;
    if (of < 900) return next(state) % 600;
    if (of < 980) return next(state) % 40000;
    if (of < 998) return next(state) % 400000;
    return next(state) % 3000000;
}

/* All usable bytes, not only the requested ones. */
static void mark(struct block *block, uint64_t *state) {
    block->bytes = malloc_usable_size(block->at);
    block->mark = (unsigned char)next(state);
    if (block->bytes < 4096 || block->bytes % 7 == 0) {
        memset(block->at, block->mark, block->bytes);
    } else {
        memset(block->at, block->mark, 64);
        memset(block->at + block->bytes - 64, block->mark, 64);
    }
}

static void check(const struct block *block, size_t kept) {
    size_t bytes = kept < block->bytes ? kept : block->bytes;
    for (size_t at = 0; at < bytes && at < 64; at++)
        if (block->at[at] != block->mark) abort();
    if (kept < block->bytes) return;
    for (size_t at = 0; at < 64 && at < bytes; at++)
        if (block->at[bytes - 1 - at] != block->mark) abort();
}

static void get(struct block *block, uint64_t *state) {
    size_t size = a_size(state), align = (size_t)16 << next(state) % 9;
    void *aligned = NULL;
    switch (next(state) % 8) {
    case 0: block->at = calloc(1 + next(state) % 4, size); break;
    case 1: block->at = memalign(align, size); break;
    case 2: block->at = posix_memalign(&aligned, align, size) == 0 ? aligned : NULL; break;
    case 3: block->at = aligned_alloc(align, size); break;
    default: block->at = malloc(size);
    }
    if (block->at == NULL) abort();
    /* Unchanged: a block may hold its last user's data, and may be given back with it. */
    if (next(state) % 4 == 0) {
        struct block copy = {malloc(size), size, 0};
        if (copy.at == NULL) abort();
        memcpy(copy.at, block->at, size);
        free(copy.at);
    }
    mark(block, state);
}

static void change(struct block *block, uint64_t *state) {
    size_t size = 1 + a_size(state);
    struct block old = *block;
    block->at = realloc(block->at, size);
    if (block->at == NULL) abort();
    old.at = block->at;
    check(&old, size);
    mark(block, state);
}

static void step(struct block *own, uint64_t *state) {
    struct block *block = &own[next(state) % OWN];
    if (block->at == NULL) {
        get(block, state);
    } else if (next(state) % 8 == 0) {
        change(block, state);
    } else {
        check(block, block->bytes);
        free(block->at);
        block->at = NULL;
    }
    if (next(state) % 4 == 0) {
        /* One thread gives back blocks of another. */
        struct block *other = &shared[next(state) % SHARED];
        pthread_mutex_lock(&lock);
        struct block mine = *block;
        *block = *other;
        *other = mine;
        pthread_mutex_unlock(&lock);
    }
}

static void *work(void *seed) {
    struct block own[OWN] = {{NULL, 0, 0}};
    uint64_t state = (uintptr_t)seed * 0x9e3779b97f4a7c15u + 1;
    for (long at = 0; at < operations; at++) step(own, &state);
    for (int at = 0; at < OWN; at++) free(own[at].at);
    return NULL;
}

static void *fork_now_and_then(void *rounds) {
    for (uintptr_t round = 0; round < (uintptr_t)rounds; round++) {
        pid_t child = fork();
        if (child < 0) abort();
        if (child == 0) {
            /* Blocks that other threads had are the child's, too. */
            for (int at = 0; at < SHARED; at++) free(shared[at].at);
            memset(shared, 0, sizeof shared);
            operations /= 10;
            work((void *)(round + 100));
            _exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status != 0) abort();
    }
    return NULL;
}

int main(int count, char **words) {
    if (count != 2) return 2;
    operations = atol(words[1]);
    for (int round = 0; round < 3; round++) {
        pthread_t threads[THREADS];
        for (uintptr_t at = 0; at < THREADS; at++)
            if (pthread_create(&threads[at], NULL, work, (void *)(at + (uintptr_t)round * THREADS + 1)) != 0) abort();
        for (int at = 0; at < THREADS; at++)
            if (pthread_join(threads[at], NULL) != 0) abort();
        fork_now_and_then((void *)(uintptr_t)2);
    }
    for (int at = 0; at < SHARED; at++) free(shared[at].at);
    puts("done");
    return 0;
}
