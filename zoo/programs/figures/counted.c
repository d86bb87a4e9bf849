/* counted MODE...: counts by itself every request for storage that it and its libraries make, before main and after
   it, and prints its counts at the very end. The functions here are found before those of any preloaded library,
   and pass everything on to the next ones.

     counted small | random | realloc | large | fails | remote | threads N | foreign | peak | small-peak N
             hold THREADS BLOCKS | aligned | killed N SIZE | freed-killed N SIZE KEEP | sleep */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic long gets, frees, held, failed, moved, stayed, largest;
static _Atomic long peak;

static void *next_function(const char *name, void **place) {
    if (!*place) *place = dlsym(RTLD_NEXT, name);
    return *place;
}
#define NEXT(name) ((__typeof__(&name))next_function(#name, &next_##name))
static void *next_malloc, *next_free, *next_calloc, *next_realloc, *next_posix_memalign, *next_malloc_usable_size;

static size_t usable(void *block) { return NEXT(malloc_usable_size)(block); }

/* Storage that is no cell has a header of eight bytes: with it, it is a multiple of 16 as a cell is without. */
static size_t header(size_t room) { return room % 16; }

static void *got(void *block, size_t size) {
    if (!block) {
        failed++;
        return block;
    }
    gets++;
    size_t room = usable(block);
    long now = held += room + header(room);
    if (now > peak) peak = now;
    if ((long)size > largest) largest = size;
    return block;
}

static void gone(void *block) {
    size_t room = usable(block);
    held -= room + header(room);
    frees++;
}

void *malloc(size_t size) { return got(NEXT(malloc)(size), size); }
void *calloc(size_t count, size_t size) { return got(NEXT(calloc)(count, size), count * size); }
void free(void *block) {
    if (block) gone(block);
    NEXT(free)(block);
}
int posix_memalign(void **result, size_t alignment, size_t size) {
    int error = NEXT(posix_memalign)(result, alignment, size);
    if (error == 0) got(*result, size);
    if (error == ENOMEM) failed++;
    return error;
}
void *realloc(void *block, size_t size) {
    if (!block) return got(NEXT(realloc)(block, size), size);
    size_t room = usable(block);
    long before = room + header(room);
    void *new = NEXT(realloc)(block, size);
    if (!new && size) {
        failed++;
        return new;
    }
    held -= before;
    if (!new) {
        frees++;
        return new;
    }
    room = usable(new);
    long now = held += room + header(room);
    if (now > peak) peak = now;
    if ((long)size > largest) largest = size;
    if (new == block) stayed++;
    else {
        moved++;
        gets++;
        frees++;
    }
    return new;
}

__attribute__((destructor)) static void say(void) {
    char text[400];
    int length = snprintf(text, sizeof text,
                          "gets %ld frees %ld held %ld peak %ld failed %ld moved %ld stayed %ld largest %ld\n", gets,
                          frees, held, peak, failed, moved, stayed, largest);
    if (write(1, text, length) != length) _Exit(9);
}

static uint64_t state = 88172645463325252u;
static uint64_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

enum { MANY = 100000 };
static void *blocks[MANY];
static pthread_barrier_t barrier;

static void *free_all(void *unused) {
    for (int i = 0; i < MANY; i++) free(blocks[i]);
    return unused;
}

static void *meet(void *unused) {
    void *volatile block = malloc(100);
    free(block);
    pthread_barrier_wait(&barrier);
    return unused;
}

/* Each thread has so many blocks at the same time as all others. */
static long held_by_each;
static void *hold(void *unused) {
    void *mine[1000];
    for (int i = 0; i < held_by_each; i++) mine[i] = malloc(1000);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < held_by_each; i++) free(mine[i]);
    return unused;
}

static void start(pthread_t *thread, void *(*function)(void *)) {
    if (pthread_create(thread, NULL, function, NULL)) _Exit(8);
}

int main(int count, char **words) {
    const char *mode = count > 1 ? words[1] : "";
    long number = count > 2 ? atol(words[2]) : 0;
    long size = count > 3 ? atol(words[3]) : 0;
    if (!strcmp(mode, "small")) {
        for (int i = 0; i < MANY; i++) blocks[i] = malloc(1 + i % 1000);
        for (int i = 0; i < MANY; i += 3) free(blocks[i]);
    } else if (!strcmp(mode, "random")) {
        for (int i = 0; i < 400000; i++) {
            int at = next() % 5000;
            free(blocks[at]);
            uint64_t kind = next() % 100;
            size_t bytes = next() % (kind < 90 ? 512 : kind < 99 ? 32768 : 500000);
            blocks[at] = kind % 4 ? malloc(bytes) : calloc(1, bytes);
        }
    } else if (!strcmp(mode, "realloc")) {
        for (int i = 0; i < 100000; i++) {
            int at = next() % 1000;
            blocks[at] = realloc(blocks[at], next() % 8000);
        }
    } else if (!strcmp(mode, "large")) {
        for (int i = 0; i < 500; i++) blocks[i] = malloc(100000 + i * 1000);
        for (int i = 0; i < 500; i += 2) free(blocks[i]);
        for (int i = 0; i < 500; i += 2) blocks[i] = malloc(40000 + i * 10);
    } else if (!strcmp(mode, "aligned")) {
        for (int i = 0; i < 5000; i++)
            if (posix_memalign(&blocks[i], 16u << (next() % 10), next() % 60000)) return 3;
        for (int i = 0; i < 5000; i += 2) free(blocks[i]);
    } else if (!strcmp(mode, "fails")) {
        volatile size_t much = (size_t)-1 / 2;
        for (int i = 0; i < number; i++) {
            blocks[0] = malloc(much - 4096);
            blocks[1] = calloc(much, 16);
            blocks[2] = malloc(50);
            if (blocks[0] || blocks[1] || errno != ENOMEM || realloc(blocks[2], much - 8192)) return 3;
            if (posix_memalign(&blocks[3], 64, much - 65536) != ENOMEM) return 4;
            if (reallocarray(blocks[2], much, 32)) return 5;
            failed++; /* the one function above that does not pass through here */
            free(blocks[2]);
        }
    } else if (!strcmp(mode, "remote")) {
        pthread_t thread;
        for (int i = 0; i < MANY; i++) blocks[i] = malloc(48);
        start(&thread, free_all);
        pthread_join(thread, NULL);
    } else if (!strcmp(mode, "threads")) {
        pthread_t threads[64];
        pthread_barrier_init(&barrier, NULL, 8);
        for (int round = 0; round < number; round++) {
            for (int i = 0; i < 7; i++) start(&threads[i], meet);
            pthread_barrier_wait(&barrier);
            for (int i = 0; i < 7; i++) pthread_join(threads[i], NULL);
        }
    } else if (!strcmp(mode, "hold")) {
        static pthread_t threads[4000];
        held_by_each = size;
        pthread_barrier_init(&barrier, NULL, number);
        for (int i = 0; i < number; i++) start(&threads[i], hold);
        for (int i = 0; i < number; i++) pthread_join(threads[i], NULL);
    } else if (!strcmp(mode, "peak")) {
        for (int i = 0; i < MANY; i++) blocks[i] = malloc(100);
        for (int i = 0; i < MANY; i++) free(blocks[i]);
        for (int i = 0; i < MANY / 2; i++) blocks[i] = malloc(100);
    } else if (!strcmp(mode, "small-peak")) {
        for (int i = 0; i < number; i++) blocks[i] = malloc(1 + i * 7 % 200);
        for (int i = 0; i < number; i++) free(blocks[i]);
    } else if (!strcmp(mode, "killed")) {
        for (int i = 0; i < number; i++) blocks[i] = malloc(size ? size : 1 + i % 1000);
        say();
        raise(SIGKILL);
    } else if (!strcmp(mode, "freed-killed")) {
        long keep = atol(words[4]);
        for (int i = 0; i < number; i++) blocks[i] = malloc(size);
        for (int i = 0; i < number; i++)
            if (i % keep) free(blocks[i]);
        say();
        raise(SIGKILL);
    } else if (*mode) {
        return 2;
    }
    return 0;
}
