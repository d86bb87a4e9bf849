/* A library that is loaded before the heap: it passes all requests to the next malloc, and counts the program's storage by
   malloc_usable_size, exactly, at each request. When a process ends, it writes the maximum, and its
   program, to $LIVE_PEAK.PROCESS. An independent count of "used at most". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *(*next_malloc)(size_t), *(*next_calloc)(size_t, size_t), *(*next_realloc)(void *, size_t),
    *(*next_memalign)(size_t, size_t);
static void (*next_free)(void *);
static size_t (*next_usable)(void *);
static atomic_long held, most;
/* Storage for dlsym while it looks for the next calloc. */
static _Alignas(16) char early[1 << 14];
static atomic_size_t early_used;

static void begin(void) {
    if (next_free) return;
    next_usable = dlsym(RTLD_NEXT, "malloc_usable_size");
    next_malloc = dlsym(RTLD_NEXT, "malloc");
    next_calloc = dlsym(RTLD_NEXT, "calloc");
    next_realloc = dlsym(RTLD_NEXT, "realloc");
    next_memalign = dlsym(RTLD_NEXT, "memalign");
    next_free = dlsym(RTLD_NEXT, "free");
}

static int is_early(void *block) { return (uintptr_t)block - (uintptr_t)early < sizeof early; }

static void *got(void *block) {
    if (block) {
        long now = atomic_fetch_add(&held, (long)next_usable(block)) + (long)next_usable(block);
        long before = most;
        while (before < now && !atomic_compare_exchange_weak(&most, &before, now)) {}
    }
    return block;
}

static void gone(void *block) {
    if (block) atomic_fetch_sub(&held, (long)next_usable(block));
}

void *malloc(size_t size) {
    begin();
    return got(next_malloc(size));
}

void *calloc(size_t count, size_t size) {
    static __thread int is_within;
    if (!next_free) {
        if (is_within) {
            size_t at = atomic_fetch_add(&early_used, (count * size + 15) / 16 * 16);
            return at + count * size <= sizeof early ? early + at : NULL;
        }
        is_within = 1;
        begin();
        is_within = 0;
    }
    return got(next_calloc(count, size));
}

void free(void *block) {
    begin();
    if (is_early(block)) return;
    gone(block);
    next_free(block);
}

/* A block that moves is held twice for a moment. */
void *realloc(void *block, size_t size) {
    begin();
    if (is_early(block)) {
        void *moved = malloc(size);
        return moved ? memcpy(moved, block, size) : NULL;
    }
    long before = block ? (long)next_usable(block) : 0;
    void *now = next_realloc(block, size);
    if (now == block && now) atomic_fetch_sub(&held, before);
    got(now);
    if (now != block && (now || (block && !size))) atomic_fetch_sub(&held, before);
    return now;
}

void *reallocarray(void *block, size_t count, size_t size) { return realloc(block, count * size); }

void *memalign(size_t align, size_t size) {
    begin();
    return got(next_memalign(align, size));
}

void *aligned_alloc(size_t align, size_t size) { return memalign(align, size); }

int posix_memalign(void **result, size_t align, size_t size) {
    void *block = memalign(align, size);
    if (block) *result = block;
    return block ? 0 : ENOMEM;
}

/* operator new and delete, as C++ calls them. */
void *_Znwm(size_t size) { return malloc(size); }
void *_Znam(size_t size) { return malloc(size); }
void *_ZnwmRKSt9nothrow_t(size_t size, const void *tag) { return (void)tag, malloc(size); }
void *_ZnamRKSt9nothrow_t(size_t size, const void *tag) { return (void)tag, malloc(size); }
void _ZdlPv(void *block) { free(block); }
void _ZdaPv(void *block) { free(block); }
void _ZdlPvm(void *block, size_t size) { (void)size, free(block); }
void _ZdaPvm(void *block, size_t size) { (void)size, free(block); }

/* A child by fork holds its parent's storage. */
static void in_child(void) { most = held; }

__attribute__((constructor)) static void starts(void) { pthread_atfork(NULL, NULL, in_child); }

__attribute__((destructor)) static void ends(void) {
    char text[512];
    const char *prefix = getenv("LIVE_PEAK");
    long said = most;
    if (!prefix || snprintf(text, sizeof text, "%s.%d", prefix, (int)getpid()) >= (int)sizeof text) return;
    int file = open(text, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int length = snprintf(text, sizeof text, "%ld ", said);
    ssize_t more = readlink("/proc/self/exe", text + length, sizeof text - length);
    if (more > 0) length += more;
    if (file >= 0 && write(file, text, length) != length) _exit(1);
    close(file);
}
