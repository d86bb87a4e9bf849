/* seen blocked: a thread waits for the mutex `hot` while its holder is in read, long enough for a look.
   seen crossed: two threads hold `first` and `second`, and wait for the other's, for ever; the process ends in spite of that. */
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

pthread_mutex_t hot = PTHREAD_MUTEX_INITIALIZER, first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static atomic_int held;
static int ends[2];

static long word(int thread, const char *file, const char *before) {
    char path[64], text[4096] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/%s", thread, file);
    int fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof text - 1) < 0) exit(3);
    close(fd);
    char *at = before ? strstr(text, before) : text;
    return at ? atol(at + (before ? strlen(before) : 0)) : -1;
}

/* The data of a thread before it waits: its number last. */
struct thread {
    atomic_int number;
    long switches;
};
static struct thread waiter, other;

static void goes_to_wait(struct thread *me) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    me->switches = usage.ru_nvcsw;
    me->number = gettid();
}

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Until the thread has slept for a mutex this often, waking by itself in between; not before that is possible. */
static void sleeps(struct thread *thread, int times, long least) {
    while (thread->number == 0) {}
    long began = now();
    while (word(thread->number, "status", "\nvoluntary_ctxt_switches:") < thread->switches + times) {}
    while (now() - began < least || word(thread->number, "syscall", NULL) != 202) {}
}

__attribute__((noinline)) static void *waits_for_hot(void *ignored) {
    goes_to_wait(&waiter);
    pthread_mutex_lock(&hot);
    pthread_mutex_unlock(&hot);
    return ignored;
}

static void *reads_while_holding(void *ignored) {
    char byte;
    pthread_mutex_lock(&hot);
    held = 1;
    if (read(ends[0], &byte, 1) != 1) exit(4);
    pthread_mutex_unlock(&hot);
    return ignored;
}

static void *takes_first_then_second(void *ignored) {
    pthread_mutex_lock(&first);
    held++;
    while (held < 2) {}
    goes_to_wait(&waiter);
    pthread_mutex_lock(&second);
    return ignored;
}

static void *takes_second_then_first(void *ignored) {
    pthread_mutex_lock(&second);
    held++;
    while (held < 2) {}
    goes_to_wait(&other);
    pthread_mutex_lock(&first);
    return ignored;
}

int main(int words, char **argv) {
    pthread_t one, two;
    if (words > 1 && !strcmp(argv[1], "blocked")) {
        if (pipe(ends)) return 5;
        pthread_create(&one, NULL, reads_while_holding, NULL);
        while (!held) {}
        pthread_create(&two, NULL, waits_for_hot, NULL);
        sleeps(&waiter, 2, 5000000);
        if (write(ends[1], "x", 1) != 1) return 6;
        pthread_join(one, NULL);
        pthread_join(two, NULL);
        printf("hot %p\n", (void *)&hot);
    } else {
        pthread_create(&one, NULL, takes_first_then_second, NULL);
        pthread_create(&two, NULL, takes_second_then_first, NULL);
        /* Both look what they hold after 100 ms, and one of them before the other is known. They look again after a second. */
        sleeps(&waiter, 4, 1100000000);
        sleeps(&other, 4, 150000000);
        printf("first %p second %p\n", (void *)&first, (void *)&second);
    }
    fflush(stdout);
    _exit(0);
}
