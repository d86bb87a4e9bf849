/* ECBs at work, for the demos requests, locate and pj47265.
 *
 *     ecb WHAT [--ecb CLASS] [--times N] [--tags N] [--list]
 *
 *   requests  a server of one thread: each request gets 40 buffers with the sizes of the document's report, frees 36, and leaks 4;
 *             --ecb: each request is an ECB of this class
 *   locate    so many tagged buffers are searched so many times; --list: in a list that the program makes of them
 *   entries   ECBs of one buffer, created and ended
 *   lifo      one buffer got and freed again and again, after 4,000 were
 *   align     two threads get small buffers in turns, then each writes its own
 *   lists     two threads in one ECB get and free buffers
 *
 * Prints lines NAME=FIGURE; cpu_ns is of all threads. Exit status 3: no ECBs here.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The functions of underbar/ecb.h that are called here; weak, so that the program starts without underbar as well. */
typedef uint64_t underbar_ecb;
__attribute__((weak)) underbar_ecb underbar_ecb_create(const char *class_name);
__attribute__((weak)) int underbar_ecb_enter(underbar_ecb ecb);
__attribute__((weak)) int underbar_ecb_leave(void);
__attribute__((weak)) int underbar_ecb_end(underbar_ecb ecb);
__attribute__((weak)) int underbar_ecb_tag(void *buffer, const void *name, size_t length);
__attribute__((weak)) void *underbar_ecb_locate(const void *name, size_t length, void *after);

enum { GETS = 40, LEAKS = 4, NAME = 8, MANY = 4000, OWN = 512, HELD = 8 };

static const char *ecb_class;
static uint64_t times = 1000, tags = 10;
static int is_list;

static void fail(const char *why) {
    fprintf(stderr, "ecb: %s\n", why);
    exit(2);
}

static uint64_t cpu(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint64_t below(uint64_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % limit;
}

static void *got(size_t bytes) {
    unsigned char *buffer = malloc(bytes);
    if (!buffer) fail("no memory");
    buffer[0] = buffer[bytes - 1] = 1;
    return buffer;
}

static underbar_ecb inside(const char *class_name) {
    if (!underbar_ecb_create) exit(3);
    underbar_ecb ecb = underbar_ecb_create(class_name);
    if (!ecb || underbar_ecb_enter(ecb)) fail("no ECB");
    return ecb;
}

static void ended(underbar_ecb ecb) {
    if (underbar_ecb_end(ecb)) fail("an ECB did not end");
}

/* The sizes of the report with PJ47265: 9, 5,564, 1, 24, 2 and 4 of 5,604 requests. Within a class any size is as likely. */
static size_t drawn(void) {
    uint64_t at = below(5604);
    if (at < 9) return 1 + below(32);
    if (at < 5573) return 33 + below(32);
    if (at < 5574) return 65 + below(64);
    if (at < 5598) return 129 + below(128);
    if (at < 5600) return 257 + below(256);
    return 1025 + below(3072);
}

static void requests(void) {
    uint64_t leaked = 0, before = cpu();
    for (uint64_t request = 0; request < times; request++) {
        underbar_ecb ecb = ecb_class ? inside(ecb_class) : 0;
        void *buffers[GETS];
        size_t sizes[GETS];
        for (int at = 0; at < GETS; at++) buffers[at] = got(sizes[at] = drawn());
        for (int at = GETS; at-- > LEAKS;) free(buffers[at]);
        for (int at = 0; at < LEAKS; at++) leaked += sizes[at];
        if (ecb) ended(ecb);
    }
    printf("requests=%llu cpu_ns=%llu leaked_bytes=%llu\n", (unsigned long long)times, (unsigned long long)(cpu() - before),
           (unsigned long long)leaked);
}

struct node {
    struct node *next;
    char name[NAME];
    void *buffer;
};

/* A name of 8 bytes for each number. */
static void named(char name[NAME], uint64_t number) {
    for (int at = NAME; at-- > 0; number /= 26) name[at] = (char)('A' + number % 26);
}

static void locate(void) {
    underbar_ecb ecb = inside("TAGS");
    struct node *first = NULL;
    void **buffers = malloc(tags * sizeof *buffers);
    char name[NAME];
    for (uint64_t at = 0; at < tags; at++) {
        buffers[at] = got(64);
        named(name, at);
        if (is_list) {
            struct node *node = got(sizeof *node);
            memcpy(node->name, name, NAME);
            node->next = first, node->buffer = buffers[at];
            first = node;
        } else if (underbar_ecb_tag(buffers[at], name, NAME)) {
            fail("a name was refused");
        }
    }
    uint64_t found = 0, before = cpu();
    for (uint64_t at = 0; at < times; at++) {
        uint64_t number = below(tags);
        named(name, number);
        void *buffer;
        if (is_list) {
            struct node *node = first;
            while (node && memcmp(node->name, name, NAME)) node = node->next;
            buffer = node ? node->buffer : NULL;
        } else {
            buffer = underbar_ecb_locate(name, NAME, NULL);
        }
        found += buffer == buffers[number];
    }
    uint64_t all = cpu() - before;
    printf("locates=%llu found=%llu cpu_ns=%llu\n", (unsigned long long)times, (unsigned long long)found, (unsigned long long)all);
    ended(ecb);
}

static void entries(void) {
    uint64_t before = cpu();
    for (uint64_t at = 0; at < times; at++) {
        underbar_ecb ecb = inside("ENTRIES");
        got(48);
        ended(ecb);
    }
    printf("ops=%llu cpu_ns=%llu\n", (unsigned long long)times, (unsigned long long)(cpu() - before));
}

static void lifo(void) {
    static void *buffers[MANY];
    underbar_ecb ecb = inside("LIFO");
    for (int at = 0; at < MANY; at++) buffers[at] = got(500);
    for (int at = 0; at < MANY; at++) free(buffers[at]);
    uint64_t before = cpu();
    for (uint64_t at = 0; at < times; at++) {
        unsigned char *buffer = malloc(500);
        memset(buffer, (int)at, 500);
        __asm__ volatile("" : : "r"(buffer) : "memory");
        free(buffer);
    }
    printf("ops=%llu cpu_ns=%llu\n", (unsigned long long)times, (unsigned long long)(cpu() - before));
    ended(ecb);
}

static underbar_ecb shared;
static atomic_uint turn;
static pthread_barrier_t barrier;

static void *aligned(void *argument) {
    unsigned own = (unsigned)(uintptr_t)argument;
    if (underbar_ecb_enter(shared)) fail("no ECB");
    volatile uint64_t *buffers[OWN];
    pthread_barrier_wait(&barrier);
    for (unsigned at = 0; at < OWN; at++) {
        while (atomic_load(&turn) % 2 != own) sched_yield();
        buffers[at] = got(32);
        atomic_fetch_add(&turn, 1);
    }
    pthread_barrier_wait(&barrier);
    for (uint64_t at = 0; at < times; at++) ++*buffers[at % OWN];
    underbar_ecb_leave();
    return NULL;
}

static void *listed(void *argument) {
    (void)argument;
    if (underbar_ecb_enter(shared)) fail("no ECB");
    pthread_barrier_wait(&barrier);
    for (uint64_t at = 0; at < times; at++) {
        void *buffers[HELD];
        for (int held = 0; held < HELD; held++) buffers[held] = got(48);
        for (int held = 0; held < HELD; held++) free(buffers[held]);
    }
    underbar_ecb_leave();
    return NULL;
}

static void in_two(void *(*work)(void *)) {
    pthread_t threads[2];
    if (!underbar_ecb_create) exit(3);
    shared = underbar_ecb_create("THREADS");
    pthread_barrier_init(&barrier, NULL, 2);
    uint64_t before = cpu();
    for (uintptr_t at = 0; at < 2; at++)
        if (pthread_create(&threads[at], NULL, work, (void *)at)) fail("no thread");
    for (int at = 0; at < 2; at++) pthread_join(threads[at], NULL);
    printf("ops=%llu cpu_ns=%llu\n", (unsigned long long)(2 * times), (unsigned long long)(cpu() - before));
    ended(shared);
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    for (int at = 2; at < count; at++) {
        if (!strcmp(arguments[at], "--list")) is_list = 1;
        else if (at + 1 == count) fail("a value is missing");
        else if (!strcmp(arguments[at], "--ecb")) ecb_class = arguments[++at];
        else if (!strcmp(arguments[at], "--times")) times = strtoull(arguments[++at], NULL, 10);
        else if (!strcmp(arguments[at], "--tags")) tags = strtoull(arguments[++at], NULL, 10);
        else fail("an argument is not known");
    }
    if (!strcmp(what, "requests")) requests();
    else if (!strcmp(what, "locate")) locate();
    else if (!strcmp(what, "entries")) entries();
    else if (!strcmp(what, "lifo")) lifo();
    else if (!strcmp(what, "align")) in_two(aligned);
    else if (!strcmp(what, "lists")) in_two(listed);
    else fail("no such work");
    return 0;
}
