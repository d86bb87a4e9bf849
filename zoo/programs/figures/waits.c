/* waits asleep TIMES LOCKS: so often a thread waits for one of so many mutexes, and sleeps for it, before it gets it.
   waits briefly TIMES: two threads take one mutex so often each, for a moment; says how often one of them slept for it.
   waits kinds [1]: locks a mutex of each kind that is not the usual one, twice; with 1 in the other order. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

static pthread_mutex_t locks[1000];
static atomic_long turn, done;
static long times, count, least, most, longest_least, longest_most;
static atomic_int waiter;

static void *waits(void *ignored) {
    waiter = gettid();
    for (long i = 0; i < times; i++) {
        while (turn <= i) sched_yield();
        long before = now();
        pthread_mutex_lock(&locks[i % count]);
        long took = now() - before;
        pthread_mutex_unlock(&locks[i % count]);
        most += took;
        if (took > longest_most) longest_most = took;
        done = i + 1;
    }
    return ignored;
}

static int sleeps_for_a_lock(void) {
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", waiter);
    int fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof text - 1) < 0) exit(3);
    close(fd);
    return atoi(text) == 202;
}

static void asleep(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, waits, NULL);
    for (long i = 0; i < times; i++) {
        pthread_mutex_lock(&locks[i % count]);
        turn = i + 1;
        while (waiter == 0 || !sleeps_for_a_lock()) {}
        long seen = now();
        if (i % 4 == 0) usleep(3000);
        long waited = now() - seen;
        pthread_mutex_unlock(&locks[i % count]);
        least += waited;
        if (waited > longest_least) longest_least = waited;
        while (done <= i) sched_yield();
    }
    pthread_join(thread, NULL);
    printf("least %ld most %ld longest-least %ld longest-most %ld\n", least, most, longest_least, longest_most);
}

static long switches(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

static atomic_long slept, took;
static volatile int work;

static void *briefly(void *ignored) {
    for (long i = 0; i < times; i++) {
        long before = switches(), began = now();
        pthread_mutex_lock(&locks[0]);
        took += now() - began;
        slept += switches() != before;
        for (int n = 0; n < 200; n++) work++;
        pthread_mutex_unlock(&locks[0]);
        for (int n = 0; n < 100; n++) __builtin_ia32_pause();
    }
    return ignored;
}

static void kinds(void) {
    pthread_mutex_t mutex;
    for (int which = 0; which < 12; which++) {
        int kind_of = (times ? 11 - which : which) % 6;
        pthread_mutexattr_t kind;
        pthread_mutexattr_init(&kind);
        if (kind_of == 0) pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
        if (kind_of == 1) pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
        if (kind_of == 2) pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
        if (kind_of == 3) pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
        if (kind_of == 4) pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT);
        if (kind_of == 5) pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_PROTECT);
        pthread_mutex_init(&mutex, &kind);
        if (pthread_mutex_lock(&mutex) == 0) pthread_mutex_unlock(&mutex);
        pthread_mutex_destroy(&mutex);
    }
}

int main(int words, char **argv) {
    if (words < 2) return 2;
    times = words > 2 ? atol(argv[2]) : 0;
    count = words > 3 ? atol(argv[3]) : 1;
    for (int i = 0; i < 1000; i++) pthread_mutex_init(&locks[i], NULL);
    if (!strcmp(argv[1], "asleep")) {
        asleep();
    } else if (!strcmp(argv[1], "briefly")) {
        pthread_t threads[2];
        for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, briefly, NULL);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
        printf("slept %ld most %ld\n", slept, took);
    } else {
        kinds();
    }
    return 0;
}
