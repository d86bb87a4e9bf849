/* sampled WHAT COUNT [FILE]: does things that a sampler by signals might disturb, spends its time in `locked`, and prints
   its observations. It ends with 5.
   blocked  one thread reads from a pipe, one sleeps for ever, while the first uses the processor
   reads    two threads hand bytes to and fro, using the processor in calls that can be interrupted
   errno    errno is checked all the time
   masked   all signals are blocked
   defaults all signals get their default action
   taken    all signals that have no action of their own get a handler, after a check that they had none
   churn    thousands of threads, one after the other, and one that runs
   loads    FILE is loaded, and its `locked` is called
   locks-in only the calls that strict mode allows are left
   killed   ends by SIGKILL */
#include <dlfcn.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) void locked(long count) {
    int word = 0;
    __asm__ volatile("1: lock incl %0\n\tdec %1\n\tjnz 1b" : "+m"(word), "+r"(count) : : "cc");
}

static long count;
static int pipes[2][2];
static volatile int interrupted, handled;

static void need(int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "%s\n", what);
    exit(90);
}

static void start(pthread_t *started, void *(*run)(void *)) {
    need(!pthread_create(started, NULL, run, NULL), "a thread");
}

static void *one_read(void *unused) {
    char byte;
    if (read(pipes[0][0], &byte, 1) != 1) interrupted++;
    return unused;
}

static void *long_sleep(void *unused) {
    struct timespec ages = {1000000, 0};
    nanosleep(&ages, NULL);
    interrupted++;
    return unused;
}

static void blocked(void) {
    pthread_t reader, sleeper;
    start(&reader, one_read);
    start(&sleeper, long_sleep);
    locked(count);
    need(write(pipes[0][1], "x", 1) == 1, "a byte");
    pthread_join(reader, NULL);
    printf("interrupted %d times\n", interrupted);
}

static void *echo(void *unused) {
    char byte;
    for (;;) {
        ssize_t got = read(pipes[0][0], &byte, 1);
        if (got == 0) return unused;
        if (got != 1 || write(pipes[1][1], &byte, 1) != 1) interrupted++;
    }
}

static void reads(void) {
    pthread_t other;
    char byte = 'x';
    start(&other, echo);
    for (long turn = 0; turn < count / 500; turn++) {
        if (write(pipes[0][1], &byte, 1) != 1 || read(pipes[1][0], &byte, 1) != 1) interrupted++;
        locked(50);
    }
    close(pipes[0][1]);
    pthread_join(other, NULL);
    printf("interrupted %d times\n", interrupted);
}

static void errnos(void) {
    long wrong = 0;
    errno = 4711;
    for (long turn = 0; turn < 1000; turn++) {
        locked(count / 1000);
        wrong += errno != 4711;
    }
    printf("errno %ld times wrong\n", wrong);
}

static void masked(void) {
    sigset_t all;
    sigfillset(&all);
    need(!pthread_sigmask(SIG_SETMASK, &all, NULL), "a mask");
    locked(count / 2);
    need(!sigprocmask(SIG_BLOCK, &all, NULL), "a mask");
    locked(count / 2);
    puts("masked");
}

static void defaults(void) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        need(!sigaction(number, &action, NULL) && signal(number, SIG_DFL) == SIG_DFL, "a default");
    locked(count);
    puts("defaults");
}

static void handler(int number) {
    (void)number;
    handled++;
}

static void taken(void) {
    struct sigaction ours = {.sa_handler = handler}, before;
    int found = 0;
    locked(count / 2);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        need(!sigaction(number, NULL, &before), "an action");
        found += before.sa_handler != SIG_DFL;
        need(!sigaction(number, &ours, &before), "an action");
        found += before.sa_handler != SIG_DFL;
        need(!sigaction(number, NULL, &before) && before.sa_handler == handler, "our handler");
    }
    int early = handled;
    locked(count / 2);
    int late = handled;
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) raise(number);
    printf("found %d, handled %d, %d, then %d of %d\n", found, early, late, handled - late, SIGRTMAX - SIGRTMIN + 1);
}

static void *nothing(void *unused) { return unused; }

static void *run(void *unused) {
    locked(count);
    return unused;
}

static void churn(void) {
    pthread_t other;
    for (int turn = 0; turn < 3000; turn++) {
        start(&other, nothing);
        pthread_join(other, NULL);
    }
    start(&other, run);
    pthread_join(other, NULL);
    puts("churn");
}

static void loads(const char *file) {
    void *library = dlopen(file, RTLD_NOW);
    need(library != NULL, "a library");
    void (*its)(long) = (void (*)(long))dlsym(library, "locked");
    need(its != NULL, "its function");
    its(count);
    puts("loads");
}

int main(int words, char **word) {
    if (words < 3 || pipe(pipes[0]) || pipe(pipes[1])) return 91;
    count = atol(word[2]);
    if (!strcmp(word[1], "blocked")) blocked();
    if (!strcmp(word[1], "reads")) reads();
    if (!strcmp(word[1], "errno")) errnos();
    if (!strcmp(word[1], "masked")) masked();
    if (!strcmp(word[1], "defaults")) defaults();
    if (!strcmp(word[1], "taken")) taken();
    if (!strcmp(word[1], "churn")) churn();
    if (!strcmp(word[1], "loads")) loads(word[3]);
    if (!strcmp(word[1], "locks-in")) {
        locked(count / 2);
        need(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT), "strict mode");
        locked(count / 2);
        need(write(1, "locks-in\n", 9) == 9, "output");
        syscall(SYS_exit, 5);
    }
    if (!strcmp(word[1], "killed")) {
        locked(count);
        puts("killed");
        fflush(stdout);
        kill(getpid(), SIGKILL);
    }
    return 5;
}
