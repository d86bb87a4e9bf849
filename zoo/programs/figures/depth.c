/* depth WHAT BYTES: uses stack to a known depth, and prints the bytes between its beginning and the deepest
   byte: for the first thread from the environment, for others from where their function was entered. And how deep the
   first thread's stack was used before `main`, to a page: the share of the loader and libraries is the machine's
   affair.

     main     the first thread
     thread   another thread
     asked    another thread, which asks for a stack as large as the default
     brought  another thread, on a stack that the program maps for it
     again    as brought, and after its end a shallow thread on the same stack, and then one twice as deep
     recycled a deep thread, and after its end a shallow one on its stack next to a deep one on another
     together four threads at one time
     locked, locked-main
              as thread and main, with all memory locked, so that stacks are resident from the start */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern char **environ;
static long bytes;
static pthread_barrier_t barrier;
static char *environment;

/* Touches each page of this many bytes of stack; returns the lowest address. */
static __attribute__((noinline)) char *go_down(long depth) {
    volatile char *block = __builtin_alloca(depth);
    for (long at = depth - 1; at >= 0; at -= 1024) block[at] = 1;
    block[0] = 1;
    return (char *)block;
}

/* The lowest page of this stack that anything was written to: pages never written to may be between. */
static char *lowest(void) {
    enum { PAGE = 4096 };
    unsigned char present;
    char *page = (char *)((uintptr_t)__builtin_frame_address(0) & -(uintptr_t)PAGE), *found = page;
    for (; !mincore(page, PAGE, &present); page -= PAGE)
        if (present & 1) found = page;
    return found;
}

static void *deep(void *unused) {
    (void)unused;
    char *base = __builtin_frame_address(0);
    return (void *)(intptr_t)(base - go_down(bytes));
}

static void *deep_beside(void *unused) {
    void *depth = deep(unused);
    pthread_barrier_wait(&barrier);
    return depth;
}

static void *shallow_beside(void *unused) {
    pthread_barrier_wait(&barrier);
    return unused;
}

static int is_locked;

static pthread_t start_with(void *(*function)(void *), pthread_attr_t *attributes) {
    pthread_t thread;
    /* An ordinary user may lock less than a stack. */
    if (pthread_create(&thread, attributes, function, NULL)) _exit(is_locked ? 4 : 8);
    return thread;
}

static pthread_t start(void *(*function)(void *)) { return start_with(function, NULL); }

static long end(pthread_t thread) {
    void *depth;
    pthread_join(thread, &depth);
    return (intptr_t)depth;
}

/* A thread of this depth, and where `again` is set another of none and one of twice the depth, on one mapping. */
static long on_own_mapping(int again) {
    enum { STACK = 32 << 20 };
    pthread_attr_t attributes;
    void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED) _exit(8);
    madvise(stack, STACK, MADV_NOHUGEPAGE);
    pthread_attr_init(&attributes);
    if (pthread_attr_setstack(&attributes, stack, STACK)) _exit(8);
    long depth = end(start_with(deep, &attributes));
    if (again) {
        long all = bytes;
        bytes = 1;
        end(start_with(deep, &attributes));
        bytes = 2 * all;
        depth = end(start_with(deep, &attributes));
    }
    return depth;
}

int main(int count, char **words) {
    if (count < 3) return 2;
    bytes = atol(words[2]);
    environment = (char *)environ;
    long depth = 0, before = environment - lowest();
    if (!strncmp(words[1], "locked", 6)) {
        if (mlockall(MCL_CURRENT | MCL_FUTURE)) return 4;
        is_locked = 1;
        words[1] = strcmp(words[1], "locked") ? "main" : "thread";
    }
    if (!strcmp(words[1], "main")) {
        depth = environment - go_down(bytes);
    } else if (!strcmp(words[1], "thread")) {
        depth = end(start(deep));
    } else if (!strcmp(words[1], "asked")) {
        pthread_attr_t attributes;
        size_t size;
        pthread_attr_init(&attributes);
        if (pthread_attr_getstacksize(&attributes, &size)) _exit(8);
        if (pthread_attr_setstacksize(&attributes, size)) _exit(8);
        depth = end(start_with(deep, &attributes));
    } else if (!strcmp(words[1], "brought") || !strcmp(words[1], "again")) {
        depth = on_own_mapping(*words[1] == 'a');
    } else if (!strcmp(words[1], "recycled")) {
        depth = end(start(deep));
        pthread_barrier_init(&barrier, NULL, 2);
        pthread_t recycled = start(shallow_beside), other = start(deep_beside);
        end(other);
        end(recycled);
    } else if (!strcmp(words[1], "together")) {
        pthread_t threads[4];
        pthread_barrier_init(&barrier, NULL, 4);
        for (int i = 0; i < 4; i++) threads[i] = start(deep_beside);
        for (int i = 0; i < 4; i++) depth += end(threads[i]);
    } else {
        return 2;
    }
    char text[64];
    int length = snprintf(text, sizeof text, "depth %ld before %ld\n", depth, before);
    return write(1, text, length) != length;
}
