/* timers_chance HOW SEED: sets, ends and reads one-shot timers by chance, and compares what it is told with its own clock.
   HOW: alone (also from the handler), threads (each with a timer of its own), fork (children by fork and vfork begin with none, and end
   without a signal; the parent's goes on), exec (the process's own timer goes on in the next program), rights (the user changes). */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <dirent.h>

#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            printf("line %d: %s\n", __LINE__, #what);                                                                  \
            fflush(stdout);                                                                                            \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

/* One timer, with what the program knows of it. */
struct known {
    int is_real;
    timer_t timer;
    volatile long long due, latest; /* between these two; 0: it is not set */
    volatile int signals;
    uint64_t seed;
};

static struct known real = {.is_real = 1}, posix[2];
static const long long SLACK = 2000; /* microseconds are rounded */

static long long now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static uint64_t chance(struct known *known, uint64_t below) {
    known->seed ^= known->seed << 13, known->seed ^= known->seed >> 7, known->seed ^= known->seed << 17;
    return known->seed % below;
}

static long long set(struct known *known, long long nanos) {
    if (known->is_real) {
        struct itimerval new = {{0, 0}, {nanos / 1000000000, nanos % 1000000000 / 1000}}, old;
        CHECK(setitimer(ITIMER_REAL, &new, &old) == 0);
        CHECK(old.it_interval.tv_sec == 0 && old.it_interval.tv_usec == 0);
        return old.it_value.tv_sec * 1000000000LL + old.it_value.tv_usec * 1000LL;
    }
    struct itimerspec new = {{0, 0}, {nanos / 1000000000, nanos % 1000000000}}, old;
    CHECK(timer_settime(known->timer, 0, &new, &old) == 0);
    CHECK(old.it_interval.tv_sec == 0 && old.it_interval.tv_nsec == 0);
    return old.it_value.tv_sec * 1000000000LL + old.it_value.tv_nsec;
}

static long long left(struct known *known) {
    if (known->is_real) {
        struct itimerval at;
        CHECK(getitimer(ITIMER_REAL, &at) == 0);
        return at.it_value.tv_sec * 1000000000LL + at.it_value.tv_usec * 1000LL;
    }
    struct itimerspec at;
    CHECK(timer_gettime(known->timer, &at) == 0);
    return at.it_value.tv_sec * 1000000000LL + at.it_value.tv_nsec;
}

/* Its signal has come: not before its time. */
static void comes(struct known *known) {
    long long due = known->due;
    CHECK(due != 0 && now() >= due - SLACK);
    known->due = 0;
    known->signals++;
    /* From the handler, too: far away. */
    if (chance(known, 4) == 0) {
        long long begin = now();
        CHECK(set(known, 50000000000LL) == 0);
        known->due = begin + 50000000000LL;
        known->latest = now() + 50000000000LL;
    }
}

static void on_real(int signal) {
    (void)signal;
    comes(&real);
}

static void on_posix(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    CHECK(info->si_code == SI_TIMER);
    comes(info->si_value.sival_ptr);
}

static sigset_t of(int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    return set;
}

static void steps(struct known *known, int signal, int many) {
    sigset_t mine = of(signal), before;
    for (int at = 0; at < many; at++) {
        int is_near = chance(known, 40) == 0, is_end = chance(known, 6) == 0;
        long long nanos = is_end ? 0 : is_near ? 1000 * (50 + (long long)chance(known, 2000)) : 1000000000LL * (20 + (long long)chance(known, 50));
        pthread_sigmask(SIG_BLOCK, &mine, &before);
        long long begin = now(), told = set(known, nanos), end = now(), due = known->due, latest = known->latest;
        /* What was left is what the program knows; a timer whose time is over has nothing left, or its signal waits. */
        if (due == 0) CHECK(told == 0);
        else if (due > end + SLACK) CHECK(told > 0 && told <= latest - begin + SLACK && told >= due - end - SLACK);
        else CHECK(told <= SLACK || told <= latest - begin + SLACK);
        sigset_t waits;
        sigpending(&waits);
        if (sigismember(&waits, signal) && known->is_real && !(is_near && nanos && now() >= begin + nanos)) {
            /* The old time's signal: it counts for that time. (The new time's waits for the handler.) */
            CHECK(due != 0 && now() >= due - SLACK);
            int taken;
            sigwait(&mine, &taken);
            known->signals++;
        }
        known->due = nanos ? begin + nanos : 0;
        known->latest = end + nanos;
        if (!is_near && nanos) {
            long long rest = left(known);
            CHECK(rest > 0 && rest <= nanos + SLACK && rest >= nanos - (now() - begin) - SLACK);
        }
        if (is_end) CHECK(left(known) == 0);
        int seen = known->signals;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (is_near && nanos) {
            while (known->signals == seen && known->due != 0) {}
        }
    }
    set(known, 0);
    known->due = 0;
}

static void prepare(int count, uint64_t seed) {
    struct sigaction action = {.sa_handler = on_real};
    sigaction(SIGALRM, &action, NULL);
    real.seed = seed * 0x9e3779b97f4a7c15u | 1;
    for (int at = 0; at < count; at++) {
        struct sigaction action = {.sa_sigaction = on_posix, .sa_flags = SA_SIGINFO};
        int signal = at ? SIGUSR2 : SIGUSR1;
        sigaction(signal, &action, NULL);
        struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal, .sigev_value.sival_ptr = &posix[at]};
        CHECK(timer_create(CLOCK_MONOTONIC, &event, &posix[at].timer) == 0);
        posix[at].seed = (seed + 77 + at) * 0x9e3779b97f4a7c15u | 1;
    }
}

static void *with_real(void *unused) {
    steps(&real, SIGALRM, 1500);
    return unused;
}

static void *with_posix(void *which) {
    struct known *known = which;
    steps(known, known == posix ? SIGUSR1 : SIGUSR2, 1500);
    return NULL;
}

/* Signals go to the thread that sets its timer: the others block them. */
static void by_threads(void) {
    pthread_t threads[3];
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    void *(*work[3])(void *) = {with_real, with_posix, with_posix};
    void *given[3] = {NULL, &posix[0], &posix[1]};
    int signals[3] = {SIGALRM, SIGUSR1, SIGUSR2};
    for (int at = 0; at < 3; at++) {
        sigset_t mine = of(signals[at]);
        pthread_sigmask(SIG_UNBLOCK, &mine, NULL);
        CHECK(pthread_create(&threads[at], NULL, work[at], given[at]) == 0);
        pthread_sigmask(SIG_BLOCK, &mine, NULL);
    }
    for (int at = 0; at < 3; at++) pthread_join(threads[at], NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* A timer that is set again often enough to be kept. */
static void keep(long long nanos) {
    for (int at = 0; at < 30; at++) set(&real, nanos);
    real.due = now() + nanos;
}

static void by_forks(void) {
    for (volatile int at = 0; at < 8; at++) {
        keep(300000000000LL);
        pid_t child = at % 2 ? fork() : vfork();
        if (child == 0) {
            /* A child has no timer, and sets its own. */
            struct itimerval at, far = {{0, 0}, {100, 0}}, none = {{0, 0}, {0, 0}};
            if (getitimer(ITIMER_REAL, &at) || at.it_value.tv_sec || at.it_value.tv_usec) _exit(1);
            if (setitimer(ITIMER_REAL, &far, &at) || at.it_value.tv_sec) _exit(2);
            if (setitimer(ITIMER_REAL, &none, &at) || at.it_value.tv_sec < 90) _exit(3);
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        long long rest = left(&real);
        CHECK(rest > 200000000000LL && rest <= 300000001000LL);
    }
    set(&real, 0);
}

static int threads_now(void) {
    int found = 0;
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks);
    for (struct dirent *one; (one = readdir(tasks));) found += one->d_name[0] != '.';
    closedir(tasks);
    return found;
}

int main(int count, char **words) {
    if (count < 3) return 2;
    uint64_t seed = strtoull(words[2], NULL, 10);
    const char *how = words[1];
    prepare(strcmp(how, "threads") ? 1 : 2, seed);
    if (!strcmp(how, "alone")) {
        steps(&real, SIGALRM, 1500);
        steps(&posix[0], SIGUSR1, 1500);
    } else if (!strcmp(how, "threads")) {
        by_threads();
    } else if (!strcmp(how, "fork")) {
        by_forks();
    } else if (!strcmp(how, "exec")) {
        keep(400000000000LL);
        /* An exec that fails changes nothing. */
        execl("/nonexistent/program", "program", (char *)NULL);
        long long rest = left(&real);
        CHECK(rest > 300000000000LL);
        keep(400000000000LL);
        execl("/proc/self/exe", words[0], "executed", words[2], (char *)NULL);
        return 3;
    } else if (!strcmp(how, "executed")) {
        long long rest = left(&real);
        CHECK(rest > 300000000000LL && rest <= 400000001000LL);
        set(&real, 0);
    } else if (!strcmp(how, "rights")) {
        keep(400000000000LL);
        CHECK(setuid(getuid()) == 0);
        CHECK(threads_now() == 1);
        long long rest = left(&real);
        CHECK(rest > 300000000000LL && rest <= 400000001000LL);
        keep(200000000000LL);
        CHECK(threads_now() == 1);
        set(&real, 0);
    } else
        return 2;
    puts("right");
    return 0;
}
