/* churn TIMES [PAUSE]: gets twenty buffers of 200,000 bytes to 3.81 MB, writes the first page of each, and frees them in the reverse order, so
   many times. With a pause of so many milliseconds after each time it writes all of each buffer, and gets and frees a small one eight
   times during the pause. Says how long that took (without the pauses, and then without the first time), how often the program's break moved
   (each time is a call of the kernel), and the page faults after the first time. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static long long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static char *last;
static long long breaks;

static void look(void) {
    char *here = sbrk(0);
    breaks += here != last;
    last = here;
}

int main(int count, char **words) {
    long times = count > 1 ? atol(words[1]) : 2000, pause = count > 2 ? atol(words[2]) : 0, sum = 0, first = 0;
    long long paused = 0;
    struct rusage usage;
    char *buffers[20];
    last = sbrk(0);
    long long start = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    for (long at = 0; at < times; at++) {
        for (int one = 0; one < 20; one++) {
            buffers[one] = malloc(200000 + 190000L * one);
            if (!buffers[one]) return 1;
            look();
            memset(buffers[one], (int)at, pause ? 200000 + 190000L * one : 4096);
            sum += buffers[one][7];
        }
        for (int one = 19; one >= 0; one--) {
            free(buffers[one]);
            look();
        }
        getrusage(RUSAGE_SELF, &usage);
        if (at == 0) first = usage.ru_minflt;
        if (at == 0 && pause) start = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
        for (int slice = 0; slice < 8 && pause; slice++) {
            struct timespec rest = {pause / 8000, pause * 125000 % 1000000000};
            long long begin = now(CLOCK_MONOTONIC);
            nanosleep(&rest, NULL);
            paused += now(CLOCK_MONOTONIC) - begin;
            char *volatile small = malloc(300000);
            free(small);
        }
    }
    printf("elapsed_ns=%lld\ncpu_ns=%lld\ncalls=%ld\nbreaks=%lld\nfaults=%ld\nsum=%ld\n", now(CLOCK_MONOTONIC) - start - paused,
           now(CLOCK_PROCESS_CPUTIME_ID) - cpu, times, breaks, usage.ru_minflt - first, sum);
    return 0;
}
