/* threads: threads on stacks of the C library or of underbar, by parts. Each prints "all held", or the first thing that did not.

     turns      4,000 threads, one after the other, joined in each way; prints the number of stacks on standard error
     together   64 threads at one time, three times
     deep       20 threads that use 200 KiB of stack, one after the other
     detached   2,000 detached threads, in both ways, each awaited until the kernel has cleared its number
     cancelled  threads that are cancelled, one of them in a join
     fork       children of a thread, while others run; each makes threads
     brought    threads with a stack, a size or a guard of their own
     results    threads that end and are joined much later
     exhausted  more threads than there is room for */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static __thread int local[1000];

#define CHECK(what) do { if (!(what)) { printf("%d: %s\n", __LINE__, #what); exit(1); } } while (0)

/* Different stacks, by where a frame on them was. */
static uintptr_t seen[8192];
static int stacks;

static void note(uintptr_t frame) {
    for (int at = 0; at < stacks; at++)
        if (seen[at] == frame >> 20) return;
    if (stacks < 8192) seen[stacks++] = frame >> 20;
}

/* Thread storage is zero at the start, and the frame has the alignment that code of a compiler relies on. */
static void *shallow(void *argument) {
    char frame[64] __attribute__((aligned(16)));
    for (int at = 0; at < 1000; at++)
        if (local[at]) return NULL;
    memset(local, 1, sizeof local);
    memset(frame, 1, sizeof frame);
    if ((uintptr_t)frame % 16) return NULL;
    if (argument) *(uintptr_t *)argument = (uintptr_t)frame;
    return (void *)((uintptr_t)frame | 1);
}

static void *deep(void *argument) {
    volatile char block[200 * 1024];
    for (size_t at = 0; at < sizeof block; at += 1024) block[at] = 1;
    return argument;
}

static void turns(void) {
    for (int turn = 0; turn < 4000; turn++) {
        pthread_t thread;
        void *result = NULL;
        struct timespec later = {.tv_sec = 4102444800};
        CHECK(!pthread_create(&thread, NULL, shallow, NULL));
        switch (turn % 4) {
            case 0: CHECK(!pthread_join(thread, &result)); break;
            case 1: while (pthread_tryjoin_np(thread, &result)) sched_yield(); break;
            case 2: CHECK(!pthread_timedjoin_np(thread, &result, &later)); break;
            default: CHECK(!pthread_clockjoin_np(thread, &result, CLOCK_REALTIME, &later));
        }
        CHECK(result);
        note((uintptr_t)result);
    }
    fprintf(stderr, "%d\n", stacks);
}

static pthread_barrier_t barrier;

static void *meets(void *argument) {
    pthread_barrier_wait(&barrier);
    return shallow(argument);
}

static void together(void) {
    pthread_barrier_init(&barrier, NULL, 64);
    for (int turn = 0; turn < 3; turn++) {
        pthread_t threads[64];
        uintptr_t frames[64];
        for (int at = 0; at < 64; at++) CHECK(!pthread_create(&threads[at], NULL, meets, &frames[at]));
        for (int at = 0; at < 64; at++) {
            void *result;
            CHECK(!pthread_join(threads[at], &result) && result);
            for (int other = 0; other < at; other++) CHECK(frames[other] != frames[at]);
        }
    }
}

static void sinks(void) {
    for (int turn = 0; turn < 20; turn++) {
        pthread_t thread;
        void *result;
        CHECK(!pthread_create(&thread, NULL, deep, local) && !pthread_join(thread, &result) && result == local);
    }
}

static volatile int number;

static void *tells(void *argument) {
    if (argument) pthread_detach(pthread_self());
    CHECK(shallow(NULL));
    __atomic_store_n(&number, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
    return NULL;
}

static void detached(void) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    for (int turn = 0; turn < 2000; turn++) {
        pthread_t thread;
        int it;
        number = 0;
        if (turn % 2) CHECK(!pthread_create(&thread, &attributes, tells, NULL));
        else CHECK(!pthread_create(&thread, NULL, tells, local));
        while (!(it = __atomic_load_n(&number, __ATOMIC_ACQUIRE))) sched_yield();
        while (!syscall(SYS_tgkill, getpid(), it, 0)) sched_yield();
    }
}

static void *waits(void *argument) {
    CHECK(shallow(NULL));
    for (;;) pause();
    return argument;
}

static void *joins(void *argument) {
    CHECK(shallow(NULL));
    pthread_join(*(pthread_t *)argument, NULL);
    return NULL;
}

static void cancelled(void) {
    for (int turn = 0; turn < 100; turn++) {
        pthread_t waiter, joiner;
        void *result;
        CHECK(!pthread_create(&waiter, NULL, waits, NULL) && !pthread_create(&joiner, NULL, joins, &waiter));
        CHECK(!pthread_cancel(joiner) && !pthread_join(joiner, &result) && result == PTHREAD_CANCELED);
        /* A join that was cancelled leaves its thread to others. */
        CHECK(!pthread_cancel(waiter) && !pthread_join(waiter, &result) && result == PTHREAD_CANCELED);
    }
}

static void *forks(void *argument) {
    char mine[1000];
    int status;
    memset(mine, 7, sizeof mine);
    pid_t child = fork();
    if (!child) {
        for (int turn = 0; turn < 3; turn++) together();
        sinks();
        for (size_t at = 0; at < sizeof mine; at++)
            if (mine[at] != 7) _exit(9);
        _exit(5);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
    return argument;
}

static void forked(void) {
    pthread_t threads[8], last;
    void *result;
    for (int at = 0; at < 8; at++) CHECK(!pthread_create(&threads[at], NULL, waits, NULL));
    for (int turn = 0; turn < 3; turn++)
        CHECK(!pthread_create(&last, NULL, forks, local) && !pthread_join(last, &result) && result == local);
    for (int at = 0; at < 8; at++) CHECK(!pthread_cancel(threads[at]) && !pthread_join(threads[at], NULL));
}

static size_t found, guard;
static void *lowest;

static void *looks(void *argument) {
    pthread_attr_t attributes;
    CHECK(!pthread_getattr_np(pthread_self(), &attributes));
    pthread_attr_getstack(&attributes, &lowest, &found);
    pthread_attr_getguardsize(&attributes, &guard);
    CHECK((char *)lowest < (char *)&attributes && (char *)&attributes < (char *)lowest + found);
    pthread_attr_destroy(&attributes);
    return argument;
}

static void look(pthread_attr_t *attributes) {
    pthread_t thread;
    CHECK(!pthread_create(&thread, attributes, looks, NULL) && !pthread_join(thread, NULL));
}

static void brought(void) {
    pthread_attr_t attributes;
    char *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    look(NULL);
    CHECK(found >= 2 << 20);
    pthread_attr_init(&attributes);
    pthread_attr_setguardsize(&attributes, 1 << 16);
    look(&attributes);
    CHECK(guard == 1 << 16);
    pthread_attr_setstacksize(&attributes, 300 * 1024);
    look(&attributes);
    CHECK(found <= 300 * 1024);
    pthread_attr_setstack(&attributes, memory, 1 << 20);
    look(&attributes);
    CHECK(lowest == memory && found == 1 << 20);
}

static void results(void) {
    enum { COUNT = 300 };
    pthread_t threads[COUNT];
    for (int at = 0; at < COUNT; at++) CHECK(!pthread_create(&threads[at], NULL, shallow, NULL));
    for (int at = 0; at < COUNT; at++) {
        void *result;
        CHECK(!pthread_join(threads[at], &result) && result);
    }
    for (int at = 0; at < COUNT; at++) {
        pthread_t thread;
        void *result;
        CHECK(!pthread_create(&thread, NULL, shallow, NULL) && !pthread_join(thread, &result) && result);
    }
}

static void exhausted(void) {
    enum { COUNT = 400 };
    pthread_t threads[COUNT];
    struct rlimit limit = {.rlim_cur = 1000 << 20, .rlim_max = 1000 << 20};
    int made = 0;
    CHECK(!setrlimit(RLIMIT_AS, &limit));
    while (made < COUNT && !pthread_create(&threads[made], NULL, waits, NULL)) made++;
    CHECK(made > 10 && made < COUNT);
    for (int at = 0; at < made; at++) CHECK(!pthread_cancel(threads[at]) && !pthread_join(threads[at], NULL));
    turns();
}

int main(int count, char **arguments) {
    static const struct { const char *name; void (*run)(void); } parts[] = {
        {"turns", turns}, {"together", together}, {"deep", sinks}, {"detached", detached}, {"cancelled", cancelled},
        {"fork", forked}, {"brought", brought}, {"results", results}, {"exhausted", exhausted},
    };
    for (size_t at = 0; count == 2 && at < sizeof parts / sizeof *parts; at++)
        if (!strcmp(arguments[1], parts[at].name)) {
            parts[at].run();
            puts("all held");
            return 0;
        }
    return 2;
}
