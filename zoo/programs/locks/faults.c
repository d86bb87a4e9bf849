/* faults CASE: a program's faults with a mutex, and actions of a kernel and a user on threads that hold one or wait for it.
   Prints the C library's results, which must be the same for all ways of waiting; for both kinds that are
   not checked, the normal and the adaptive one. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
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

enum { THREADS = 5, TIMES = 2000, JUMPS = 8 };
static pthread_mutex_t mutex;
static int kind;

static void says(const char *what, int answer) { printf("%s: %s\n", what, answer ? strerror(answer) : "0"); }

static void begins(int which) {
    pthread_mutexattr_t attributes;
    kind = which;
    printf("kind %d\n", which);
    pthread_mutexattr_init(&attributes);
    MUST(pthread_mutexattr_settype(&attributes, which) == 0);
    MUST(pthread_mutex_init(&mutex, &attributes) == 0);
}

/* The length of a wait in vain. */
static int in_vain(void) {
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    if ((soon.tv_nsec += 3000000) >= 1000000000) soon.tv_nsec -= 1000000000, soon.tv_sec++;
    return pthread_mutex_timedlock(&mutex, &soon);
}

/* ---- threads that hold it, and that wait for it --------------------------------------------------------------------- */

static atomic_int held, let_go, waiter, got;

static void *holds(void *ignored) {
    MUST(pthread_mutex_lock(&mutex) == 0);
    held = gettid();
    while (!let_go) sched_yield();
    says("its holder unlocks", pthread_mutex_unlock(&mutex));
    return ignored;
}

static void *ends_holding(void *ignored) {
    MUST(pthread_mutex_lock(&mutex) == 0);
    return ignored;
}

static void *waits(void *ignored) {
    waiter = gettid();
    MUST(pthread_mutex_lock(&mutex) == 0);
    got++;
    MUST(pthread_mutex_unlock(&mutex) == 0);
    return ignored;
}

/* Until that thread sleeps for a mutex. */
static void until_asleep(int thread) {
    char path[64], text[4];
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread);
    for (;;) {
        int fd = open(path, O_RDONLY);
        MUST(fd >= 0);
        int sleeps = read(fd, text, 4) == 4 && !memcmp(text, "202 ", 4);
        close(fd);
        if (sleeps) return;
        sched_yield();
    }
}

static pthread_t started(void *(*what)(void *)) {
    pthread_t thread;
    held = waiter = let_go = got = 0;
    MUST(pthread_create(&thread, NULL, what, NULL) == 0);
    return thread;
}

static pthread_t a_waiter(void *(*what)(void *)) {
    pthread_t thread;
    waiter = 0;
    MUST(pthread_create(&thread, NULL, what, NULL) == 0);
    while (!waiter) sched_yield();
    until_asleep(waiter);
    return thread;
}

static pthread_t a_holder(void) {
    pthread_t thread = started(holds);
    while (!held) sched_yield();
    return thread;
}

/* ---- threads that contend ------------------------------------------------------------------------------------------- */

static volatile long first, second;
static int moves;
static atomic_int left;

static void *adds(void *which) {
    for (long i = 0; i < TIMES; i++) {
        MUST(pthread_mutex_lock(&mutex) == 0);
        MUST(first == second);
        first++;
        if (moves && i % 16 == 0) {
            cpu_set_t set;
            CPU_ZERO(&set);
            CPU_SET((int)((i / 16 + (long)which) % sysconf(_SC_NPROCESSORS_ONLN)), &set);
            sched_setaffinity(0, sizeof set, &set);
        } else if (i % 64 == 0) sched_yield();
        second++;
        MUST(pthread_mutex_unlock(&mutex) == 0);
    }
    left--;
    return NULL;
}

static void contend(void (*meanwhile)(pthread_t *)) {
    pthread_t threads[THREADS];
    first = second = 0;
    left = THREADS;
    for (long i = 0; i < THREADS; i++) MUST(pthread_create(&threads[i], NULL, adds, (void *)i) == 0);
    if (meanwhile) meanwhile(threads);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    MUST(first == THREADS * TIMES && second == first);
}

/* ---- what a program does wrong --------------------------------------------------------------------------------------- */

static void unlocks_a_free_one(void) {
    says("unlocked while free", pthread_mutex_unlock(&mutex));
    says("then locked", pthread_mutex_lock(&mutex));
    says("then tried", pthread_mutex_trylock(&mutex));
    says("then unlocked", pthread_mutex_unlock(&mutex));
    contend(NULL);
    says("and destroyed", pthread_mutex_destroy(&mutex));
}

static void unlocks_another_s(void) {
    pthread_t holder = a_holder(), other = a_waiter(waits);
    says("another thread unlocks", pthread_mutex_unlock(&mutex));
    pthread_join(other, NULL);
    printf("the waiter got it %d times\n", got);
    let_go = 1;
    pthread_join(holder, NULL);
    says("then locked", pthread_mutex_lock(&mutex));
    says("then unlocked", pthread_mutex_unlock(&mutex));
    contend(NULL);
    says("and destroyed", pthread_mutex_destroy(&mutex));
}

static void locks_again(void) {
    says("locked", pthread_mutex_lock(&mutex));
    says("tried again", pthread_mutex_trylock(&mutex));
    says("again, with a time", in_vain());
    says("unlocked", pthread_mutex_unlock(&mutex));
    says("and destroyed", pthread_mutex_destroy(&mutex));
}

static void ends_while_holding(void) {
    pthread_join(started(ends_holding), NULL);
    says("tried", pthread_mutex_trylock(&mutex));
    says("with a time", in_vain());
    pthread_t other = a_waiter(waits);
    says("another thread unlocks", pthread_mutex_unlock(&mutex));
    pthread_join(other, NULL);
    printf("the waiter got it %d times\n", got);
    contend(NULL);
    says("and destroyed", pthread_mutex_destroy(&mutex));
}

static void uses_a_destroyed_one(void) {
    says("locked", pthread_mutex_lock(&mutex));
    says("destroyed while held", pthread_mutex_destroy(&mutex));
    says("unlocked", pthread_mutex_unlock(&mutex));
    says("destroyed", pthread_mutex_destroy(&mutex));
    says("then locked", pthread_mutex_lock(&mutex));
    says("then tried", pthread_mutex_trylock(&mutex));
    says("with a time", in_vain());
    says("then unlocked", pthread_mutex_unlock(&mutex));
    says("destroyed again", pthread_mutex_destroy(&mutex));
    begins(kind);
    contend(NULL);
}

/* ---- signals --------------------------------------------------------------------------------------------------------- */

static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static volatile long inner_first, inner_second;

/* Only handlers take this one, and none interrupts another of its thread. */
static void takes_inner(int ignored) {
    (void)ignored;
    int before = errno;
    MUST(pthread_mutex_lock(&inner) == 0);
    MUST(inner_first == inner_second);
    inner_first++, inner_second++;
    MUST(pthread_mutex_unlock(&inner) == 0);
    errno = before;
}
static void gives_up(int ignored) {
    (void)ignored;
    MUST(pthread_mutex_unlock(&mutex) == 0);
}
static sigjmp_buf out;
static void jumps(int ignored) {
    (void)ignored;
    siglongjmp(out, 1);
}

static void interrupts(pthread_t *threads) {
    while (left > 0)
        for (int i = 0; i < THREADS; i++) pthread_kill(threads[i], SIGUSR1);
}

static void *waits_till_it_must_jump(void *ignored) {
    if (sigsetjmp(out, 1) == 0) waits(ignored);
    return ignored;
}

static void locks_in_handlers(void) {
    struct sigaction action = {.sa_handler = takes_inner};
    sigaction(SIGUSR1, &action, NULL);
    contend(interrupts);
    MUST(inner_first > 0 && inner_first == inner_second);
    puts("handlers took their own");

    action.sa_handler = gives_up;
    sigaction(SIGUSR2, &action, NULL);
    got = 0;
    MUST(pthread_mutex_lock(&mutex) == 0);
    pthread_t other = a_waiter(waits);
    raise(SIGUSR2);
    pthread_join(other, NULL);
    printf("given up by a handler, the waiter got it %d times\n", got);

    action.sa_handler = jumps;
    sigaction(SIGUSR2, &action, NULL);
    for (int i = 0; i < JUMPS; i++) {
        got = 0;
        MUST(pthread_mutex_lock(&mutex) == 0);
        other = a_waiter(waits_till_it_must_jump);
        pthread_kill(other, SIGUSR2);
        pthread_join(other, NULL);
        printf("jumped out of its wait, it got it %d times\n", got);
        says("unlocked", pthread_mutex_unlock(&mutex));
        contend(NULL);
    }
    says("and destroyed", pthread_mutex_destroy(&mutex));
}

static void *waits_to_be_cancelled(void *ignored) {
    waits(ignored);
    pthread_testcancel();
    return ignored;
}
static void *is_cancelled_at_once(void *ignored) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    return waits(ignored);
}

static void is_cancelled(void) {
    void *end;
    got = 0;
    MUST(pthread_mutex_lock(&mutex) == 0);
    pthread_t other = a_waiter(waits_to_be_cancelled);
    MUST(pthread_cancel(other) == 0);
    until_asleep(waiter);
    says("unlocked", pthread_mutex_unlock(&mutex));
    pthread_join(other, &end);
    printf("it got it %d times, then %s\n", got, end == PTHREAD_CANCELED ? "was cancelled" : "went on");

    got = 0;
    MUST(pthread_mutex_lock(&mutex) == 0);
    other = a_waiter(is_cancelled_at_once);
    MUST(pthread_cancel(other) == 0);
    pthread_join(other, &end);
    printf("it got it %d times, and %s\n", got, end == PTHREAD_CANCELED ? "was cancelled" : "went on");
    says("unlocked", pthread_mutex_unlock(&mutex));
    contend(NULL);
    says("and destroyed", pthread_mutex_destroy(&mutex));
}

/* ---- what is done to it ---------------------------------------------------------------------------------------------- */

/* A process is forked while one thread of it holds the mutex and another one waits; in the child both are gone. */
static void is_forked_while_held(void) {
    for (int i = 0; i < 10; i++) {
        int status;
        pthread_t holder = a_holder(), other = a_waiter(waits);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            MUST(pthread_mutex_trylock(&mutex) == EBUSY && in_vain() == ETIMEDOUT);
            if (i % 2) {
                MUST(pthread_mutex_unlock(&mutex) == 0);
            } else {
                pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
                mutex = fresh;
            }
            contend(NULL);
            _exit(7);
        }
        MUST(waitpid(child, &status, 0) == child);
        printf("the child ended with %d; ", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
        let_go = 1;
        pthread_join(holder, NULL);
        pthread_join(other, NULL);
        MUST(got == 1);
    }
    says("and destroyed", pthread_mutex_destroy(&mutex));
}

/* All threads of a process, again and again. */
static void is_stopped(void) {
    int told[2], status, stops = 0;
    MUST(pipe2(told, O_NONBLOCK) == 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        do contend(NULL);
        while (read(told[0], &byte, 1) != 1);
        _exit(7);
    }
    for (;;) {
        kill(child, SIGSTOP);
        MUST(waitpid(child, &status, WUNTRACED) == child);
        if (!WIFSTOPPED(status)) break;
        if (++stops == 200) MUST(write(told[1], "x", 1) == 1);
        kill(child, SIGCONT);
        sched_yield();
    }
    MUST(stops >= 200);
    printf("stopped, it ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    close(told[0]), close(told[1]);
}

/* Stops the holding thread only, as debuggers do. If that is not allowed, it just holds the mutex. */
static void its_holder_is_stopped(void) {
    int numbers[2], words[2], status;
    char byte;
    MUST(pipe(numbers) == 0 && pipe(words) == 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        pthread_t holder = a_holder(), others[4];
        MUST(write(numbers[1], &(int){held}, sizeof(int)) == sizeof(int) && read(words[0], &byte, 1) == 1);
        int is_stopped = byte == 's';
        MUST(pthread_mutex_trylock(&mutex) == EBUSY && in_vain() == ETIMEDOUT);
        for (int i = 0; i < 4; i++) others[i] = a_waiter(waits);
        let_go = 1;
        MUST((got == 0 || !is_stopped) && write(numbers[1], &(int){0}, sizeof(int)) == sizeof(int));
        pthread_join(holder, NULL);
        for (int i = 0; i < 4; i++) pthread_join(others[i], NULL);
        says("and destroyed", pthread_mutex_destroy(&mutex));
        fflush(stdout);
        _exit(10 + got);
    }
    int thread, zero;
    MUST(read(numbers[0], &thread, sizeof thread) == sizeof thread);
    int is_traced = ptrace(PTRACE_SEIZE, thread, NULL, NULL) == 0;
    if (is_traced) {
        MUST(ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) == 0);
        MUST(waitpid(thread, &status, __WALL) == thread && WIFSTOPPED(status));
    }
    MUST(write(words[1], is_traced ? "s" : "-", 1) == 1 && read(numbers[0], &zero, sizeof zero) == sizeof zero);
    if (is_traced) MUST(ptrace(PTRACE_DETACH, thread, NULL, NULL) == 0);
    MUST(waitpid(child, &status, 0) == child);
    printf("with its holder stopped, it ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

static void is_moved(void) {
    moves = 1;
    contend(NULL);
    puts("moved");
    says("and destroyed", pthread_mutex_destroy(&mutex));
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"free", unlocks_a_free_one},       {"another", unlocks_another_s},      {"again", locks_again},
    {"ended", ends_while_holding},      {"destroyed", uses_a_destroyed_one}, {"handlers", locks_in_handlers},
    {"cancelled", is_cancelled},        {"forked", is_forked_while_held},    {"stopped", is_stopped},
    {"holder", its_holder_is_stopped}, {"moved", is_moved},
};

int main(int words, char **argv) {
    for (size_t i = 0; words > 1 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, argv[1])) continue;
        begins(PTHREAD_MUTEX_NORMAL), cases[i].run();
        begins(PTHREAD_MUTEX_ADAPTIVE_NP), cases[i].run();
        puts("done");
        return 0;
    }
    return 2;
}
