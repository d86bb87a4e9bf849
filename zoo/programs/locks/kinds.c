/* kinds CASE: one row of the table of kinds of mutex. Prints its results, which must be the same for all ways of
   waiting. Each case with contention has threads add to two numbers that must be equal whenever the mutex is held. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static void must(int yes, const char *what) {
    if (!yes) {
        printf("not so: %s\n", what);
        fflush(stdout);
        _exit(1);
    }
}
#define MUST(x) must(x, #x)

enum { THREADS = 6, TIMES = 3000 };
static pthread_mutex_t fixed = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

static struct shared {
    pthread_mutex_t *mutex;
    volatile long first, second;
    int how;
} all;

static int take(pthread_mutex_t *mutex, int how) {
    struct timespec far = {0};
    switch (how) {
    case 1: {
        int reason;
        while ((reason = pthread_mutex_trylock(mutex)) == EBUSY) sched_yield();
        return reason;
    }
    case 2:
        clock_gettime(CLOCK_REALTIME, &far);
        far.tv_sec += 1000;
        return pthread_mutex_timedlock(mutex, &far);
    case 3:
        clock_gettime(CLOCK_MONOTONIC, &far);
        far.tv_sec += 1000;
        return pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &far);
    default: return pthread_mutex_lock(mutex);
    }
}

static void *adds(void *which) {
    for (int i = 0; i < TIMES; i++) {
        errno = 77;
        MUST(take(all.mutex, all.how < 0 ? (int)(long)which % 4 : all.how) == 0);
        MUST(all.first == all.second);
        all.first++;
        if (i % 64 == 0) usleep(1);
        else MUST(errno == 77);
        all.second++;
        MUST(pthread_mutex_unlock(all.mutex) == 0);
    }
    return NULL;
}

static void contend(pthread_mutex_t *mutex, int how) {
    pthread_t threads[THREADS];
    all = (struct shared){mutex, 0, 0, how};
    for (long i = 0; i < THREADS; i++) MUST(pthread_create(&threads[i], NULL, adds, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    MUST(all.first == THREADS * TIMES && all.second == all.first);
    printf("added %ld\n", all.first);
}

static void of_kind(pthread_mutex_t *mutex, int kind, int shared, int robust, int protocol) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    MUST(pthread_mutexattr_settype(&attributes, kind) == 0);
    if (shared) MUST(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0);
    if (robust) MUST(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0);
    if (protocol) MUST(pthread_mutexattr_setprotocol(&attributes, protocol) == 0);
    if (protocol == PTHREAD_PRIO_PROTECT) MUST(pthread_mutexattr_setprioceiling(&attributes, 1) == 0);
    MUST(pthread_mutex_init(mutex, &attributes) == 0);
    pthread_mutexattr_destroy(&attributes);
}

static void whole(int kind) {
    pthread_mutex_t mutex;
    of_kind(&mutex, kind, 0, 0, 0);
    for (int how = -1; how < 4; how++) contend(&mutex, how);
    MUST(pthread_mutex_destroy(&mutex) == 0);
}

static void *dies_holding(void *mutex) {
    MUST(pthread_mutex_lock(mutex) == 0);
    return NULL;
}

/* A recursive mutex is taken twice, an error-checking one returns an error, and no other thread can unlock either. */
static void *gives_up(void *mutex) { return (void *)(long)pthread_mutex_unlock(mutex); }
static void owners(pthread_mutex_t *twice, pthread_mutex_t *told) {
    void *said;
    pthread_t other;
    MUST(pthread_mutex_lock(twice) == 0 && pthread_mutex_lock(twice) == 0 && pthread_mutex_trylock(twice) == 0);
    MUST(pthread_mutex_unlock(twice) == 0 && pthread_mutex_unlock(twice) == 0);
    pthread_create(&other, NULL, gives_up, twice);
    pthread_join(other, &said);
    printf("not its owner: %s\n", strerror((int)(long)said));
    MUST(pthread_mutex_unlock(twice) == 0);
    printf("unlocked: %s\n", strerror(pthread_mutex_unlock(twice)));
    MUST(pthread_mutex_lock(told) == 0);
    printf("again: %s\n", strerror(pthread_mutex_lock(told)));
    pthread_create(&other, NULL, gives_up, told);
    pthread_join(other, &said);
    printf("not its owner: %s\n", strerror((int)(long)said));
    MUST(pthread_mutex_unlock(told) == 0);
    contend(twice, 0);
    contend(told, 0);
}

/* Whose number a mutex of this kind has while this thread holds it. */
static int holder_of(int kind) {
    pthread_mutex_t mutex;
    of_kind(&mutex, kind, 0, 0, 0);
    MUST(pthread_mutex_lock(&mutex) == 0);
    int holder = mutex.__data.__owner;
    MUST(pthread_mutex_unlock(&mutex) == 0);
    return holder;
}

/* As a browser does in the children that it makes by clone, where the C library keeps the parent's number: looks what a mutex says,
   writes the child's own number to the thread's descriptor, and looks again. */
static int renumbered_child(void *ignored) {
    (void)ignored;
    static const int kinds[] = {PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};
    pid_t own = (pid_t)syscall(SYS_gettid);
    pid_t *number = (pid_t *)((char *)pthread_self() + 0x2d0);
    for (int i = 0; i < 2; i++) printf("before: %d\n", holder_of(kinds[i]) == *number);
    *number = own;
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 2; i++) printf("after: %d\n", holder_of(kinds[i]) == own);
    owners(&recursive, &checking);
    fflush(stdout);
    _exit(0);
}

static void renumbered(void) {
    static char stack[1 << 20];
    int status;
    MUST(holder_of(PTHREAD_MUTEX_RECURSIVE) == getpid() && holder_of(PTHREAD_MUTEX_ERRORCHECK) == getpid());
    fflush(stdout);
    pid_t child = clone(renumbered_child, stack + sizeof stack, SIGCHLD, NULL);
    MUST(child > 0 && waitpid(child, &status, 0) == child);
    printf("child: %d\n", status);
}

static void robust(void) {
    pthread_mutex_t mutex;
    pthread_t thread;
    for (int shared = 0; shared < 2; shared++) {
        of_kind(&mutex, PTHREAD_MUTEX_NORMAL, shared, 1, 0);
        pthread_create(&thread, NULL, dies_holding, &mutex);
        pthread_join(thread, NULL);
        printf("its holder died: %s\n", strerror(pthread_mutex_lock(&mutex)));
        MUST(pthread_mutex_consistent(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
        contend(&mutex, -1);
        MUST(pthread_mutex_destroy(&mutex) == 0);
    }
}

static void shared(void) {
    struct {
        pthread_mutex_t mutex;
        volatile long first, second;
    } *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    of_kind(&page->mutex, PTHREAD_MUTEX_NORMAL, 1, 0, 0);
    for (int i = 0; i < 4; i++) {
        if (fork() != 0) continue;
        for (int n = 0; n < TIMES; n++) {
            MUST(pthread_mutex_lock(&page->mutex) == 0);
            MUST(page->first == page->second);
            page->first++, page->second++;
            MUST(pthread_mutex_unlock(&page->mutex) == 0);
        }
        _exit(0);
    }
    int status;
    while (wait(&status) > 0) MUST(status == 0);
    printf("processes added %ld\n", page->first);
}

static void protocols(void) {
    pthread_mutex_t mutex;
    of_kind(&mutex, PTHREAD_MUTEX_NORMAL, 0, 0, PTHREAD_PRIO_INHERIT);
    contend(&mutex, -1 + 1);
    MUST(pthread_mutex_destroy(&mutex) == 0);
    of_kind(&mutex, PTHREAD_MUTEX_NORMAL, 0, 0, PTHREAD_PRIO_PROTECT);
    int reason = pthread_mutex_lock(&mutex);
    printf("with a ceiling: %s\n", reason ? strerror(reason) : "locked");
    if (!reason) pthread_mutex_unlock(&mutex);
}

static void *holds(void *pipe) {
    char byte;
    MUST(pthread_mutex_lock(&fixed) == 0);
    MUST(write(((int *)pipe)[1], "x", 1) == 1);
    MUST(read(((int *)pipe)[2], &byte, 1) == 1);
    MUST(pthread_mutex_unlock(&fixed) == 0);
    return NULL;
}

/* Times in the past, in the future, and invalid ones. */
static void timed(void) {
    int first[2], second[2];
    char byte;
    MUST(pipe(first) == 0 && pipe(second) == 0);
    int ends[4] = {first[0], first[1], second[0], second[1]};
    pthread_t holder;
    pthread_create(&holder, NULL, holds, ends);
    MUST(read(ends[0], &byte, 1) == 1);
    for (int clock = 0; clock < 2; clock++) {
        struct timespec past = {1, 0}, before = {-5, 0}, wrong = {1, 1000000000}, negative = {1, -1}, soon, after;
        clock_gettime(clock, &soon);
        soon.tv_nsec += 3000000;
        if (soon.tv_nsec >= 1000000000) soon.tv_nsec -= 1000000000, soon.tv_sec++;
        printf("over: %s\n", strerror(pthread_mutex_clocklock(&fixed, clock, &past)));
        printf("before all time: %s\n", strerror(pthread_mutex_clocklock(&fixed, clock, &before)));
        printf("none: %s, %s\n", strerror(pthread_mutex_clocklock(&fixed, clock, &wrong)),
               strerror(pthread_mutex_clocklock(&fixed, clock, &negative)));
        printf("soon: %s\n", strerror(pthread_mutex_clocklock(&fixed, clock, &soon)));
        clock_gettime(clock, &after);
        MUST(after.tv_sec > soon.tv_sec || (after.tv_sec == soon.tv_sec && after.tv_nsec >= soon.tv_nsec));
    }
    struct timespec past = {1, 0}, wrong = {1, -1};
    printf("over: %s\n", strerror(pthread_mutex_timedlock(&fixed, &past)));
    printf("none: %s\n", strerror(pthread_mutex_timedlock(&fixed, &wrong)));
    printf("held: %s\n", strerror(pthread_mutex_trylock(&fixed)));
    printf("no clock: %s\n", strerror(pthread_mutex_clocklock(&fixed, CLOCK_PROCESS_CPUTIME_ID, &past)));
    MUST(write(ends[3], "x", 1) == 1);
    pthread_join(holder, NULL);
    /* A free mutex needs no time. */
    printf("free: %s\n", strerror(pthread_mutex_timedlock(&fixed, &wrong)));
    MUST(pthread_mutex_unlock(&fixed) == 0);
    printf("free, no clock: %s\n", strerror(pthread_mutex_clocklock(&fixed, 99, &past)));
}

/* Producers and consumers of a ring of 16, on two condition variables, one of which waits with a time. */
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int ring[16], in, out;
static long produced, consumed, sum;
static void *produces(void *ignored) {
    for (;;) {
        pthread_mutex_lock(&fixed);
        while (in - out == 16) pthread_cond_wait(&emptied, &fixed);
        if (produced == 40000) break;
        ring[in++ % 16] = (int)produced++;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&fixed);
    }
    pthread_cond_broadcast(&filled);
    pthread_cond_broadcast(&emptied);
    pthread_mutex_unlock(&fixed);
    return ignored;
}
static void *consumes(void *ignored) {
    for (;;) {
        pthread_mutex_lock(&fixed);
        while (in == out && produced < 40000) {
            struct timespec soon;
            clock_gettime(CLOCK_REALTIME, &soon);
            if ((soon.tv_nsec += 1000000) >= 1000000000) soon.tv_nsec -= 1000000000, soon.tv_sec++;
            int reason = pthread_cond_timedwait(&filled, &fixed, &soon);
            MUST(reason == 0 || reason == ETIMEDOUT);
        }
        if (in == out) break;
        sum += ring[out++ % 16];
        consumed++;
        pthread_cond_signal(&emptied);
        pthread_mutex_unlock(&fixed);
    }
    pthread_mutex_unlock(&fixed);
    return ignored;
}
static void conditions(void) {
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, i % 2 ? produces : consumes, NULL);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    printf("consumed %ld, together %ld\n", consumed, sum);
    MUST(pthread_cond_destroy(&filled) == 0 && pthread_mutex_destroy(&fixed) == 0);
}

/* C11: its functions lock from inside the C library; POSIX's lock the same mutex from outside. */
static mtx_t c11;
static int c11_adds(void *which) {
    for (int i = 0; i < TIMES; i++) {
        if (which) MUST(mtx_lock(&c11) == thrd_success);
        else MUST(pthread_mutex_lock((pthread_mutex_t *)&c11) == 0);
        MUST(all.first == all.second);
        all.first++, all.second++;
        if (i % 2) MUST(mtx_unlock(&c11) == thrd_success);
        else MUST(pthread_mutex_unlock((pthread_mutex_t *)&c11) == 0);
    }
    return 5;
}
static void c11_mutex(void) {
    thrd_t threads[4];
    int result;
    MUST(mtx_init(&c11, mtx_plain) == thrd_success);
    for (long i = 0; i < 4; i++) MUST(thrd_create(&threads[i], c11_adds, i % 2 ? &c11 : NULL) == thrd_success);
    for (int i = 0; i < 4; i++) MUST(thrd_join(threads[i], &result) == thrd_success && result == 5);
    printf("C11 added %ld\n", all.first);
    mtx_destroy(&c11);
}

/* Forks while other threads contend; the child uses the mutex that the forking thread held, and threads of its own. */
static volatile int stop;
static void *contends(void *mutex) {
    while (!stop) {
        pthread_mutex_lock(mutex);
        pthread_mutex_unlock(mutex);
    }
    return NULL;
}
static void forks(void) {
    pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
    pthread_t threads[3];
    int status;
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, contends, &fixed);
    for (int i = 0; i < 20; i++) {
        MUST(pthread_mutex_lock(&held) == 0);
        pid_t child = i % 4 == 3 ? vfork() : fork();
        if (child == 0) {
            if (i % 4 == 3) _exit(0);
            MUST(pthread_mutex_trylock(&held) == EBUSY && pthread_mutex_unlock(&held) == 0);
            contend(&held, 0);
            fflush(stdout);
            _exit(all.first == THREADS * TIMES ? 0 : 1);
        }
        MUST(waitpid(child, &status, 0) == child && status == 0);
        MUST(pthread_mutex_unlock(&held) == 0);
    }
    stop = 1;
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
}

/* Before main, from a constructor, with threads. */
static long early;
__attribute__((constructor(101))) static void before_main(void) {
    MUST(pthread_mutex_lock(&fixed) == 0 && pthread_mutex_trylock(&fixed) == EBUSY);
    early++;
    MUST(pthread_mutex_unlock(&fixed) == 0);
    MUST(pthread_mutex_lock(&recursive) == 0 && pthread_mutex_lock(&recursive) == 0);
    MUST(pthread_mutex_unlock(&recursive) == 0 && pthread_mutex_unlock(&recursive) == 0);
}

/* Each mutex is in a page that is unmapped as soon as the last thread has unlocked it. */
struct page {
    pthread_mutex_t mutex;
    int users;
};
static void *leaves(void *address) {
    struct page *page = address;
    MUST(pthread_mutex_lock(&page->mutex) == 0);
    int last = --page->users == 0;
    MUST(pthread_mutex_unlock(&page->mutex) == 0);
    if (last) {
        /* The other's unlock may have let us in, and may be on its way out. */
        MUST(pthread_mutex_destroy(&page->mutex) == 0);
        MUST(munmap(page, 4096) == 0);
    }
    return NULL;
}
static void unmaps(void) {
    for (int i = 0; i < 1500; i++) {
        struct page *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pthread_t threads[3];
        page->users = 3;
        for (int n = 0; n < 3; n++) pthread_create(&threads[n], NULL, leaves, page);
        for (int n = 0; n < 3; n++) pthread_join(threads[n], NULL);
    }
    puts("unmapped");
}

/* After the destructors of thread-specific keys have begun. */
static pthread_key_t key;
static void at_end(void *again) {
    MUST(pthread_mutex_lock(&fixed) == 0);
    all.first++;
    MUST(pthread_mutex_unlock(&fixed) == 0);
    if (again) pthread_setspecific(key, (char *)again - 1);
}
static void *ends(void *ignored) {
    pthread_setspecific(key, (void *)3);
    return ignored;
}
static void thread_ends(void) {
    pthread_key_create(&key, at_end);
    for (int round = 0; round < 50; round++) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, ends, NULL);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    }
    printf("destructors %ld\n", all.first);
}

/* Two signals a millisecond stop and continue nobody, but interrupt sleeping threads. */
static volatile long signals;
static void count(int number) { signals += number != 0; }
static void interrupted(void) {
    struct sigaction action = {.sa_handler = count};
    sigaction(SIGALRM, &action, NULL);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    struct itimerspec often = {{0, 500000}, {0, 500000}};
    MUST(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &often, NULL) == 0);
    contend(&fixed, 0);
    timer_delete(timer);
    MUST(signals > 0);
}

int main(int argc, char **argv) {
    const char *which = argc > 1 ? argv[1] : "";
    MUST(early == 1);
    if (!strcmp(which, "normal")) whole(PTHREAD_MUTEX_NORMAL);
    else if (!strcmp(which, "default")) whole(PTHREAD_MUTEX_DEFAULT);
    else if (!strcmp(which, "adaptive")) whole(PTHREAD_MUTEX_ADAPTIVE_NP);
    else if (!strcmp(which, "recursive")) whole(PTHREAD_MUTEX_RECURSIVE);
    else if (!strcmp(which, "errorcheck")) whole(PTHREAD_MUTEX_ERRORCHECK);
    else if (!strcmp(which, "static")) contend(&fixed, -1), contend(&adaptive, -1), contend(&recursive, -1), contend(&checking, -1);
    else if (!strcmp(which, "owners")) owners(&recursive, &checking);
    else if (!strcmp(which, "renumbered")) renumbered();
    else if (!strcmp(which, "robust")) robust();
    else if (!strcmp(which, "shared")) shared();
    else if (!strcmp(which, "protocols")) protocols();
    else if (!strcmp(which, "timed")) timed();
    else if (!strcmp(which, "conditions")) conditions();
    else if (!strcmp(which, "c11")) c11_mutex();
    else if (!strcmp(which, "forks")) forks();
    else if (!strcmp(which, "unmaps")) unmaps();
    else if (!strcmp(which, "ends")) thread_ends();
    else if (!strcmp(which, "interrupted")) interrupted();
    else return 2;
    puts("done");
    return 0;
}
