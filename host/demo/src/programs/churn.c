/* churn TIMES: gets twenty buffers of 200,000 bytes to 3.81 MB, writes the first page of each, and frees them in the reverse order, so many
   times. Says how long that took, and how often the program's break moved: each time is a call of the kernel. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    long times = count > 1 ? atol(words[1]) : 2000, sum = 0;
    char *buffers[20];
    last = sbrk(0);
    long long start = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    for (long at = 0; at < times; at++) {
        for (int one = 0; one < 20; one++) {
            buffers[one] = malloc(200000 + 190000L * one);
            if (!buffers[one]) return 1;
            look();
            memset(buffers[one], (int)at, 4096);
            sum += buffers[one][7];
        }
        for (int one = 19; one >= 0; one--) {
            free(buffers[one]);
            look();
        }
    }
    printf("elapsed_ns=%lld\ncpu_ns=%lld\ncalls=%ld\nbreaks=%lld\nsum=%ld\n", now(CLOCK_MONOTONIC) - start,
           now(CLOCK_PROCESS_CPUTIME_ID) - cpu, times, breaks, sum);
    return 0;
}
