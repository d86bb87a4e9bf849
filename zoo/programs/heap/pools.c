/* pools: gets storage in every way and checks its contents, alignment and usable size, in several threads and in a forked child.
   Prints "checked" and nothing else if all is well. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { fprintf(stderr, "line %d: %s\n", __LINE__, #what); _Exit(9); } } while (0)

enum { LARGEST = 9000, HELD = 400, THREADS = 4, ROUNDS = 12000, BELT = 64 };

/* A block whose usable bytes all have a value of its own. */
struct block { unsigned char *at; size_t bytes; unsigned char value; };

static void fill(struct block *block, unsigned char value) {
    block->bytes = malloc_usable_size(block->at);
    block->value = value;
    memset(block->at, value, block->bytes);
}

static void check(const struct block *block, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) CHECK(block->at[i] == block->value);
}

static void drop(struct block *block) {
    if (!block->at) return;
    CHECK(malloc_usable_size(block->at) == block->bytes);
    check(block, block->bytes);
    free(block->at);
    block->at = NULL;
}

static void get(struct block *block, uint64_t random) {
    size_t size = random % 100 < 80 ? random / 100 % 700 : random / 100 % LARGEST;
    size_t alignment = 16;
    switch (random % 23) {
    case 0:
        alignment = 32 << random / 1000 % 8;
        CHECK(!posix_memalign((void **)&block->at, alignment, size));
        break;
    case 1:
        block->at = calloc(1, size);
        for (size_t i = 0; block->at && i < size; i++) CHECK(!block->at[i]);
        break;
    default:
        block->at = malloc(size);
    }
    CHECK(block->at && (uintptr_t)block->at % alignment == 0);
    fill(block, random >> 32);
    CHECK(block->bytes >= size);
}

/* From each size to sizes on both sides of it: over the borders of pools, and to the heap behind them. */
static void over_borders(void) {
    for (size_t size = 0; size < 5000; size += 7) {
        struct block block = { malloc(size), 0, 0 };
        CHECK(block.at);
        fill(&block, size);
        size_t sizes[] = { size + 1, size * 2 + 1, size / 2 + 1, size + 3000, 1, 70000, size + 1 };
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            block.at = realloc(block.at, sizes[i]);
            CHECK(block.at && malloc_usable_size(block.at) >= sizes[i]);
            check(&block, sizes[i] < block.bytes ? sizes[i] : block.bytes);
            fill(&block, block.value + 1);
        }
        drop(&block);
    }
}

/* Blocks that one thread puts here and another one takes and frees. */
static struct block belt[BELT];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *seed) {
    struct block held[HELD] = { 0 };
    uint64_t state = (uintptr_t)seed;
    for (int round = 0; round < ROUNDS; round++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        struct block *at = &held[state % HELD];
        drop(at);
        get(at, state);
        if (round % 3 == 0) {
            struct block *place = &belt[state / HELD % BELT];
            pthread_mutex_lock(&lock);
            struct block other = *place;
            *place = *at;
            pthread_mutex_unlock(&lock);
            *at = other;
        }
    }
    for (int i = 0; i < HELD; i++) drop(&held[i]);
    return NULL;
}

static void threads(void) {
    pthread_t all[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) CHECK(!pthread_create(&all[i], NULL, work, (void *)(i * 977 + 5)));
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_join(all[i], NULL));
}

int main(void) {
    struct block before = { 0 };
    get(&before, 12345);
    over_borders();
    threads();
    pid_t child = fork();
    CHECK(child >= 0);
    if (!child) {
        drop(&before);
        over_borders();
        threads();
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && !status);
    drop(&before);
    for (int i = 0; i < BELT; i++) drop(&belt[i]);
    puts("checked");
    return 0;
}
