/* timers: timers that are set again and again before they expire, as servers set them. Prints what it counts itself.
   timers TIMER SETS HOW   TIMER: alarm, setitimer, posix (CLOCK_MONOTONIC).
     all     sets it SETS times to times far away, ends it between some of them, then sets it to near times, and waits for each signal: none
             may come before its time, and each must come
     later   sets it SETS times, each later than the last, and ends it
     early   sets it SETS times to 0.3 s from now, then far away, and waits until that time is over */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t signals, last_code;
static int is_posix, is_alarm;
static timer_t timer;
static long sets, wrong, near, early;

static long long now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static void handler(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    signals++;
    last_code = info->si_code;
}

/* Sets the timer to so many microseconds from now; returns what was left. */
static long long set(long long micros) {
    sets++;
    if (is_alarm) return alarm((unsigned)(micros / 1000000)) * 1000000LL;
    if (is_posix) {
        struct itimerspec new = {{0, 0}, {micros / 1000000, micros % 1000000 * 1000}}, old;
        if (timer_settime(timer, 0, &new, &old)) wrong++;
        return old.it_value.tv_sec * 1000000LL + old.it_value.tv_nsec / 1000;
    }
    struct itimerval new = {{0, 0}, {micros / 1000000, micros % 1000000}}, old;
    if (setitimer(ITIMER_REAL, &new, &old)) wrong++;
    return old.it_value.tv_sec * 1000000LL + old.it_value.tv_usec;
}

static long long left(void) {
    if (is_posix) {
        struct itimerspec at;
        timer_gettime(timer, &at);
        return at.it_value.tv_sec * 1000000LL + at.it_value.tv_nsec / 1000;
    }
    struct itimerval at;
    getitimer(ITIMER_REAL, &at);
    return at.it_value.tv_sec * 1000000LL + at.it_value.tv_usec;
}

static void far_and_near(long many, const sigset_t *none) {
    /* Far away, later and earlier; every tenth is ended first. What was left is between the times. */
    set(100 * 1000000LL);
    for (long at = 1; at < many; at++) {
        long long far = (60 + at % 7 * 10) * 1000000LL;
        long long old = set(at % 10 ? far : 0);
        int was_ended = at > 1 && at % 10 == 1;
        if (was_ended ? old != 0 : old < 30 * 1000000LL || old > 125 * 1000000LL) wrong++;
        if (at % 10 && (left() > far || left() < far - 30 * 1000000LL)) wrong++;
        if (at % 10 == 0 && left() != 0) wrong++;
    }
    if (signals) wrong++;
    /* Near: each one comes, not before its time, and once. */
    near = is_alarm ? 1 : 20;
    long code = is_posix ? SI_TIMER : SI_KERNEL;
    for (long at = 0; at < near; at++) {
        long long wait = is_alarm ? 1000000 : 1000 + at * 500;
        long long begin = now(), seen = signals;
        for (int again = 0; again < 12; again++) set(60 * 1000000LL);
        set(wait);
        while (signals == seen) sigsuspend(none);
        if (now() - begin < wait * 1000) early++;
        if (last_code != code) wrong++;
        if (left() != 0) wrong++;
    }
    if (signals != near) wrong++;
    /* An interval: it is the kernel's. */
    if (!is_alarm) {
        long long seen = signals;
        struct itimerval every = {{0, 1000}, {0, 1000}};
        struct itimerspec each = {{0, 1000000}, {0, 1000000}};
        for (int at = 0; at < 20; at++) set(60 * 1000000LL);
        if (is_posix ? timer_settime(timer, 0, &each, 0) : setitimer(ITIMER_REAL, &every, 0)) wrong++;
        while (signals < seen + 3) sigsuspend(none);
        memset(&every, 0, sizeof every);
        memset(&each, 0, sizeof each);
        if (is_posix ? timer_settime(timer, 0, &each, 0) : setitimer(ITIMER_REAL, &every, 0)) wrong++;
        /* How many of these came depends on the machine. */
        signals = near;
    }
}

int main(int count, char **words) {
    if (count != 4) return 2;
    long many = atol(words[2]);
    is_posix = !strcmp(words[1], "posix");
    is_alarm = !strcmp(words[1], "alarm");
    int signal = is_posix ? SIGUSR1 : SIGALRM;
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(signal, &action, 0);
    sigset_t blocked, before, none;
    sigemptyset(&blocked);
    sigaddset(&blocked, signal);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    none = before;
    sigdelset(&none, signal);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal, .sigev_value.sival_int = 42};
    if (is_posix && timer_create(CLOCK_MONOTONIC, &event, &timer)) return 3;

    if (!strcmp(words[3], "later")) {
        for (long at = 0; at < many; at++) set((60 + at) * 1000000LL);
        set(0);
    } else if (!strcmp(words[3], "early")) {
        for (long at = 0; at < many; at++) set(300000);
        long long begin = now();
        sigprocmask(SIG_SETMASK, &none, 0);
        /* Whoever sleeps for the timer sleeps by then. */
        while (now() - begin < 100000000LL) {}
        set(60 * 1000000LL);
        while (now() - begin < 400000000LL) {}
        set(0);
    } else
        far_and_near(many, &none);
    printf("sets %ld signals %d near %ld early %ld wrong %ld\n", sets, (int)signals, near, early, wrong);
    return wrong || early ? 1 : 0;
}
