/* dlerror keeps its message until it is called, whatever else the program does for the first time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char stack[65536] __attribute__((aligned(16)));

static int child(void *number) { return *(int *)number; }
static void *nothing(void *argument) { return argument; }

static void expect_error(const char *after) {
    const char *text = dlerror();
    printf("after %s: %s\n", after, text ? text : "LOST");
}

static void fail(void) {
    if (dlopen("/no/such/library.so", RTLD_NOW)) printf("WRONG: opened\n");
}

int main(void) {
    int number = 7, status = 0;
    fail();
    pid_t id = clone(child, stack + sizeof stack, SIGCHLD, &number);
    if (id < 0 || waitpid(id, &status, 0) != id || WEXITSTATUS(status) != 7) printf("WRONG: %x\n", status);
    expect_error("clone");

    fail();
    signal(SIGUSR1, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    expect_error("signal");

    fail();
    pthread_t thread;
    if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL)) printf("WRONG: no thread\n");
    expect_error("pthread_create");

    fail();
    if (syscall(SYS_getpid) != getpid()) printf("WRONG: syscall\n");
    expect_error("syscall");

    fail();
    free(malloc((size_t)1 << 62));
    expect_error("malloc");
    printf("done\n");
    return 0;
}
