/* overflow: ends in a fault of memory, by parts.

     first      the first thread uses its stack up        thread   another thread does, which has a name
     handled    the same with a handler of the program's, which ends it with 3
     asked      the action of SIGSEGV is the default one, however it is asked for and set
     null       an access to address 0                     sent     the signal, sent by the program itself
     child      a child by fork uses its stack up; the parent prints how it died
     late       as thread, after the program has set the default action itself */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int never;

__attribute__((noinline)) static int sinks(int depth) {
    volatile char frame[500];
    frame[depth % 500] = 1;
    if (never) return 0;
    return sinks(depth + 1) + frame[depth % 500];
}

static void *thread(void *argument) {
    pthread_setname_np(pthread_self(), "diver");
    sinks(0);
    return argument;
}

static void in_thread(void) {
    pthread_t it;
    if (pthread_create(&it, NULL, thread, NULL)) exit(9);
    pthread_join(it, NULL);
}

static void handler(int signal) {
    (void)signal;
    _exit(3);
}

static void is_default(void) {
    struct sigaction action;
    memset(&action, 1, sizeof action);
    if (sigaction(SIGSEGV, NULL, &action) || action.sa_handler != SIG_DFL) exit(8);
}

int main(int count, char **arguments) {
    const char *part = count > 1 ? arguments[1] : "";
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    if (!strcmp(part, "first")) sinks(0);
    if (!strcmp(part, "thread")) in_thread();
    if (!strcmp(part, "null")) *(volatile char *)(uintptr_t)never = 1;
    if (!strcmp(part, "sent")) kill(getpid(), SIGSEGV);
    if (!strcmp(part, "late")) {
        if (signal(SIGSEGV, SIG_DFL) != SIG_DFL) return 7;
        in_thread();
    }
    if (!strcmp(part, "handled")) {
        static char room[1 << 16];
        stack_t own = {.ss_sp = room, .ss_size = sizeof room};
        struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
        struct sigaction before;
        if (sigaltstack(&own, NULL) || sigaction(SIGSEGV, &action, &before)) return 6;
        if (before.sa_handler != SIG_DFL) return 5;
        sinks(0);
    }
    if (!strcmp(part, "asked")) {
        is_default();
        if (signal(SIGSEGV, handler) != SIG_DFL || signal(SIGSEGV, SIG_DFL) != handler) return 4;
        is_default();
        return 0;
    }
    if (!strcmp(part, "child")) {
        int status;
        pid_t child = fork();
        if (!child) sinks(0);
        if (waitpid(child, &status, 0) != child) return 2;
        printf("%d %d\n", WIFSIGNALED(status), WTERMSIG(status));
        return 0;
    }
    return 1;
}
