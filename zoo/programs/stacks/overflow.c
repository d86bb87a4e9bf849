/* overflow: ends in a fault of memory, by parts.

     first      the first thread uses its stack up        thread   another thread does, which has a name
     handled    the same with a handler of the program's, which ends it with 3
     asked      the action of SIGSEGV is the default one, however it is asked for and set
     null       an access to address 0                     sent     the signal, sent by the program itself
     child      a child by fork uses its stack up; the parent prints how it died
     late       as thread, after the program has set the default action itself
     small      a thread that asks for 64 KiB uses them up  guarded   the same with a guard of 16 pages
     kept       as small, on the larger stack of a thread that has ended
     brought    the same on a stack that the program brings, with a page below it that cannot be accessed
     inside     as thread, by a function that is called from a signal's handler on an alternate stack of the program's
     many       2,000 threads come and go: their alternate stacks do, too. Prints how many mappings came */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

static void in_thread_of(size_t bytes, size_t guard, void *stack) {
    pthread_t it;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (bytes) pthread_attr_setstacksize(&attributes, bytes);
    if (guard) pthread_attr_setguardsize(&attributes, guard);
    if (stack) pthread_attr_setstack(&attributes, stack, bytes);
    if (pthread_create(&it, &attributes, thread, NULL)) exit(9);
    pthread_join(it, NULL);
}

static void in_thread(void) { in_thread_of(0, 0, NULL); }

static void *nothing(void *argument) { return argument; }

static void sinks_in_handler(int signal) { sinks(signal); }

static void *with_alternate(void *unused) {
    stack_t own = {.ss_sp = malloc(1 << 20), .ss_size = 1 << 20}, now;
    struct sigaction action = {.sa_handler = sinks_in_handler, .sa_flags = SA_ONSTACK};
    if (sigaltstack(&own, NULL) || sigaltstack(NULL, &now) || now.ss_sp != own.ss_sp) exit(8);
    if (sigaction(SIGUSR1, &action, NULL)) exit(8);
    mprotect((void *)(((uintptr_t)own.ss_sp + 4095) & -4096), 4096, PROT_NONE);
    pthread_kill(pthread_self(), SIGUSR1);
    return unused;
}

static long mappings(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    long lines = 0;
    for (int byte; (byte = fgetc(maps)) != EOF;) lines += byte == '\n';
    fclose(maps);
    return lines;
}

static void many(void) {
    enum { AT_ONCE = 100 };
    pthread_t threads[AT_ONCE];
    long before = 0;
    for (int turn = 0; turn < 20; turn++) {
        for (int i = 0; i < AT_ONCE; i++)
            if (pthread_create(&threads[i], NULL, nothing, NULL)) exit(9);
        for (int i = 0; i < AT_ONCE; i++) pthread_join(threads[i], NULL);
        if (turn == 2) before = mappings();
    }
    printf("%s\n", mappings() > before + 20 ? "they stayed" : "they went");
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
    if (!strcmp(part, "small")) in_thread_of(1 << 16, 0, NULL);
    if (!strcmp(part, "guarded")) in_thread_of(1 << 16, 1 << 16, NULL);
    if (!strcmp(part, "kept")) {
        pthread_t first;
        pthread_attr_t larger;
        pthread_attr_init(&larger);
        pthread_attr_setstacksize(&larger, 3 << 16);
        if (pthread_create(&first, &larger, nothing, NULL)) return 9;
        pthread_join(first, NULL);
        in_thread_of(1 << 16, 0, NULL);
    }
    if (!strcmp(part, "brought")) {
        char *pages = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(pages, 4096, PROT_NONE);
        in_thread_of((1 << 20) - 4096, 0, pages + 4096);
    }
    if (!strcmp(part, "inside")) {
        pthread_t it;
        if (pthread_create(&it, NULL, with_alternate, NULL)) return 9;
        pthread_join(it, NULL);
    }
    if (!strcmp(part, "many")) {
        many();
        return 0;
    }
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
