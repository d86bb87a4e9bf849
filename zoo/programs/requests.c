/* requests MODE: makes requests for storage in every way, and prints at its end how many of each size it and its libraries
   made, before main and after it, a line each:

     PROCESS SIZE COUNT

   The functions here are found before those of any preloaded library, and pass everything on to the next ones. A realloc counts
   if the storage moved. An aligned request up to 1024 counts with its size as a multiple of the alignment.

     requests ends | killed | waits | forks */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Requests up to 32 KiB by their size, larger ones by the power of two that holds them. */
enum { SMALL = 32768, POWERS = 48 };
static _Atomic long small[SMALL + 1], large[POWERS];

static void count(void *block, size_t size) {
    if (!block) return;
    if (size <= SMALL) small[size]++;
    else large[64 - __builtin_clzl(size - 1)]++;
}

static void *next_function(const char *name, void **place) {
    if (!*place) *place = dlsym(RTLD_NEXT, name);
    return *place;
}
#define NEXT(name) ((__typeof__(&name))next_function(#name, &next_##name))
static void *next_malloc, *next_calloc, *next_realloc, *next_posix_memalign, *next_aligned_alloc;

void *malloc(size_t size) {
    void *block = NEXT(malloc)(size);
    count(block, size);
    return block;
}
void *calloc(size_t number, size_t size) {
    void *block = NEXT(calloc)(number, size);
    count(block, number * size);
    return block;
}
void *realloc(void *block, size_t size) {
    uintptr_t old = (uintptr_t)block;
    void *new = NEXT(realloc)(block, size);
    if ((uintptr_t)new != old) count(new, size);
    return new;
}
static size_t rounded(size_t alignment, size_t size) {
    return alignment <= 1024 ? (size + alignment - 1) / alignment * alignment : size;
}
int posix_memalign(void **result, size_t alignment, size_t size) {
    int error = NEXT(posix_memalign)(result, alignment, size);
    if (!error) count(*result, rounded(alignment, size));
    return error;
}
void *aligned_alloc(size_t alignment, size_t size) {
    void *block = NEXT(aligned_alloc)(alignment, size);
    count(block, rounded(alignment, size));
    return block;
}

static char *number(char *at, long value) {
    char digits[24];
    int length = 0;
    do digits[length++] = '0' + value % 10;
    while (value /= 10);
    while (length) *at++ = digits[--length];
    return at;
}

static char text[SMALL * 40];

__attribute__((destructor)) static void say(void) {
    char *at = text;
    for (long row = 0; row <= SMALL + POWERS; row++) {
        long size = row <= SMALL ? row : 1L << (row - SMALL - 1);
        long requests = row <= SMALL ? small[row] : large[row - SMALL - 1];
        if (!requests) continue;
        at = number(at, getpid());
        *at++ = ' ';
        at = number(at, size);
        *at++ = ' ';
        at = number(at, requests);
        *at++ = '\n';
    }
    for (char *from = text; from < at;) {
        ssize_t written = write(1, from, at - from);
        if (written <= 0) _Exit(9);
        from += written;
    }
}

enum { HELD = 500 };

/* Requests of many sizes, of which a few are held. */
static void get(uint64_t state, long rounds) {
    static _Thread_local void *held[HELD];
    for (long round = 0; round < rounds; round++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        void **at = &held[state % HELD];
        size_t size = state / HELD % 100 < 90 ? state / 50000 % 600 : state / 50000 % 30000;
        if (round % 3 == 2) {
            *at = realloc(*at, size + 1);
            continue;
        }
        free(*at);
        switch (round % 50) {
        case 0: *at = malloc(33000 + size * 20); break;
        case 1: if (posix_memalign(at, 256, 1 + size % 256)) _Exit(8); break;
        case 3: *at = aligned_alloc(64, size % 240 + 1); break;
        case 4: if (posix_memalign(at, 4096, 5000)) _Exit(8); break;
        case 6: case 7: *at = calloc(3, size); break;
        case 9: *at = malloc(0); break;
        default: *at = malloc(size);
        }
        if (!*at) _Exit(8);
    }
    /* The aligned storage that realloc cannot shrink or grow is among the rest. */
    for (int i = 0; i < HELD; i += 2) {
        free(held[i]);
        held[i] = NULL;
    }
}

static void *thread(void *seed) {
    get((uintptr_t)seed, 40000);
    return NULL;
}

static void get_by_threads(void) {
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, thread, (void *)(i * 7919 + 1))) _Exit(8);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

int main(int words, char **word) {
    const char *mode = words > 1 ? word[1] : "";
    get(88172645463325252u, 60000);
    if (!strcmp(mode, "forks")) {
        pid_t child = fork();
        if (child < 0) return 3;
        if (!child) {
            memset(small, 0, sizeof small);
            memset(large, 0, sizeof large);
            get(4711, 30000);
            return 0;
        }
        get(9, 20000);
        int status;
        return waitpid(child, &status, 0) == child && !status ? 0 : 4;
    }
    get_by_threads();
    if (!strcmp(mode, "killed") || !strcmp(mode, "waits")) {
        say();
        if (write(1, "end\n", 4) != 4) return 5;
        if (!strcmp(mode, "killed")) raise(SIGKILL);
        for (;;) pause();
    }
    return strcmp(mode, "ends") ? 2 : 0;
}
