/* starts HOW TIMES: calls a program so many times, and says how long that took.
   HOW: timer (a timer is set at each start, and none is ended: each start sets it anew), none, burn (uses CPU time until SIGXCPU comes). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void beyond(int signal) {
    (void)signal;
    printf("limited_ns=%lld\n", now(CLOCK_PROCESS_CPUTIME_ID));
    fflush(stdout);
    _exit(0);
}

/* Some work, as a small program does. */
static __attribute__((noinline)) unsigned program(unsigned seed) {
    for (int at = 0; at < 64; at++) seed = seed * 1664525u + 1013904223u;
    return seed;
}

int main(int count, char **words) {
    if (count < 3) return 2;
    long times = atol(words[2]), set = 0;
    unsigned sum = 1;
    if (!strcmp(words[1], "burn")) {
        signal(SIGXCPU, beyond);
        for (;;) sum = program(sum);
    }
    signal(SIGALRM, SIG_DFL);
    int is_timed = !strcmp(words[1], "timer");
    struct itimerval limit = {{0, 0}, {3600, 0}}, none = {{0, 0}, {0, 0}};
    long long start = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    for (long at = 0; at < times; at++) {
        if (is_timed) {
            setitimer(ITIMER_REAL, &limit, 0);
            set++;
        }
        sum = program(sum);
    }
    long long elapsed = now(CLOCK_MONOTONIC) - start, used = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    setitimer(ITIMER_REAL, &none, 0);
    printf("elapsed_ns=%lld\ncpu_ns=%lld\nstarts=%ld\nset=%ld\nsum=%u\n", elapsed, used, times, set, sum);
    return 0;
}
