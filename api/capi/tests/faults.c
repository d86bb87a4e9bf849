/* faults WHAT [told]: makes the fault of that name. Without `told` the debug form ends the program; with it a handler
   prints the fault, and the program ends with 7. `none` makes no fault, and ends with 7. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/simplelock.h>
#include <sys/wait.h>
#include <unistd.h>

static simplelock_t lock = SIMPLE_LOCK_INIT;
_Static_assert(sizeof(simplelock_t) == 8 && _Alignof(simplelock_t) == 4, "the promise");

static void end(void) {
    fflush(stdout);
    _exit(7);
}

#ifdef SIMPLE_LOCK_DEBUG
static void told(const struct simplelock_fault *fault) {
    printf("code %u, holder %s, signal %u: %s\n", fault->code,
           !fault->holder ? "none" : fault->holder == fault->thread ? "itself" : "another", fault->signal, fault->text);
    if (fault->lock != &lock) _exit(81);
    /* These would wait forever. */
    if (fault->code != SIMPLE_LOCK_NOT_HOLDER && fault->code != SIMPLE_LOCK_NOT_LOCKED) end();
}
#endif

static void in_thread(void *(*run)(void *)) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) || pthread_join(thread, NULL)) exit(82);
}

static void *takes(void *unused) {
    simple_lock(&lock); /* takes */
    return unused;
}

static void *unlocks(void *unused) {
    if (simple_unlock(&lock) != EPERM) exit(83);
    return unused;
}

static void handler(int number) {
    (void)number;
    simple_lock(&lock);
}

static pthread_barrier_t meeting;

static void *holds(void *unused) {
    simple_lock(&lock);
    pthread_barrier_wait(&meeting);
    pause();
    return unused;
}

/* Ends as the child does. */
static void with_child(void (*child)(void)) {
    int status;
    pid_t number = fork();
    if (number == 0) {
        child();
        end();
    }
    if (waitpid(number, &status, 0) != number) exit(84);
    fflush(stdout);
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
}

static void wants(void) { simple_lock(&lock); }
static void gives_up(void) {
    if (simple_unlock(&lock) || simple_trylock(&lock)) _exit(85);
}

static void none(void) {
    struct timespec past = {1, 0}, wrong = {1, 1000000000};
    simple_lock_init(&lock);
    for (int turn = 0; turn < 1000; turn++) {
        if (turn % 2) simple_lock(&lock);
        else if (simple_trylock(&lock)) exit(86);
        if (simple_trylock(&lock) != EBUSY) exit(87);
        if (simple_unlock(&lock)) exit(88);
    }
    if (simple_timedlock(&lock, &wrong) != EINVAL || simple_timedlock(&lock, &past)) exit(89);
    /* A thread that forks holds its locks in the child, too. */
    with_child(gives_up);
}

int main(int words, char **word) {
    if (words < 2) return 80;
    const char *what = word[1];
    alarm(60); /* A fault that is not found may wait forever. */
#ifdef SIMPLE_LOCK_DEBUG
    if (words > 2) simple_lock_on_fault(told);
#endif
    if (!strcmp(what, "none")) none();
    if (!strcmp(what, "twice")) {
        simple_lock(&lock); /* first */
        simple_lock(&lock); /* second */
    }
    if (!strcmp(what, "timed")) {
        struct timespec ages = {1L << 40, 0};
        simple_lock(&lock);
        if (simple_timedlock(&lock, &ages) != EDEADLK) return 90;
    }
    if (!strcmp(what, "signal")) {
        signal(SIGUSR1, handler);
        simple_lock(&lock);
        raise(SIGUSR1);
    }
    if (!strcmp(what, "foreign")) {
        simple_lock(&lock);
        in_thread(unlocks);
        if (simple_trylock(&lock) != EBUSY) return 91;
    }
    if (!strcmp(what, "free") && simple_unlock(&lock) != EPERM) return 92;
    if (!strcmp(what, "ended")) {
        in_thread(takes);
        simple_lock(&lock);
    }
    if (!strcmp(what, "forked") || !strcmp(what, "forked-unlock")) {
        pthread_t thread;
        pthread_barrier_init(&meeting, NULL, 2);
        if (pthread_create(&thread, NULL, holds, NULL)) return 93;
        pthread_barrier_wait(&meeting);
        with_child(!strcmp(what, "forked") ? wants : gives_up);
    }
    end();
}
