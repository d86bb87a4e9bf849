/* A thread and the first thread compute, and say how much CPU time that took: placed LIBRARY TIMES. The library writes so often in between.
   Each time that is computed ends with a write of the program. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int null;

static long now(void) {
    struct timespec time;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)) abort();
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void compute(long nanoseconds) {
    for (long end = now() + nanoseconds; now() < end;) continue;
    if (write(null, "x", 1) != 1) abort();
}

static void *thread(void *said) {
    compute(40000000);
    *(long *)said = now();
    return NULL;
}

int main(int count, char **words) {
    if (count != 3) return 2;
    void *library = dlopen(words[1], RTLD_NOW);
    int (*call)(int, int) = library ? (int (*)(int, int))dlsym(library, "call_me") : NULL;
    null = open("/dev/null", O_WRONLY);
    pthread_t one;
    long said = 0;
    if (!call || pthread_create(&one, NULL, thread, &said)) return 3;
    pthread_join(one, NULL);
    for (int i = 0; i < atoi(words[2]); i++) {
        compute(100000);
        if (call(null, 1) != 1) return 4;
    }
    compute(20000000);
    printf("thread %ld main %ld\n", said, now());
    fflush(stdout);
    return 0;
}
