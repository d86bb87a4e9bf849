/* forks HOW SIZE: gets 1,000 blocks, and has a child that gets 500 more and gives all 1,500 back.

     fork     by fork, the child ends in good order
     blocked  by fork while a signal is blocked, the child ends in good order
     _exit    by fork, the child ends by _exit
     quick    by fork, the child ends by quick_exit
     works    by fork, and the child becomes this program with `child` when it has worked
     clone    by a clone without the C library
     cloned   by the C library's clone
     crowd    by the C library's clone, 60 times, while another thread gets and frees
     vfork    by vfork; the child only ends
     thread   by fork in a thread, while another gets and frees
     exec     by fork, and the child becomes this program with `child`
     twice    by fork, and the child has a child, too, which does the same once more */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 1000, MORE = 500 };
static size_t size;
static void *volatile blocks[MANY + MORE];

static void get(int from, int to) {
    for (int i = from; i < to; i++)
        if (!(blocks[i] = malloc(size))) _exit(5);
}

static void give_back(void) {
    for (int i = 0; i < MANY + MORE; i++) free(blocks[i]);
}

static void wait_for(pid_t child) {
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status) _exit(6);
}

static void child_of_fork(void) {
    pid_t child = fork();
    if (child == 0) {
        get(MANY, MANY + MORE);
        give_back();
        exit(0);
    }
    wait_for(child);
}

static void *in_thread(void *unused) {
    child_of_fork();
    return unused;
}

static int cloned(void *unused) {
    (void)unused;
    alarm(60);
    get(MANY, MANY + MORE);
    give_back();
    return 0;
}

static void child_of_clone(void) {
    static char stack[256 << 10];
    wait_for(clone(cloned, stack + sizeof stack, SIGCHLD, NULL));
}

static atomic_int over;
static void *busy(void *unused) {
    while (!over) {
        void *volatile block = malloc(size);
        free(block);
    }
    return unused;
}

int main(int count, char **words) {
    if (count < 3) return 2;
    const char *how = words[1];
    size = strtoul(words[2], NULL, 10);
    get(0, MANY);
    if (!strcmp(how, "child")) return 0;
    if (!strcmp(how, "fork")) {
        child_of_fork();
    } else if (!strcmp(how, "blocked")) {
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, SIGUSR1);
        sigprocmask(SIG_BLOCK, &one, NULL);
        child_of_fork();
    } else if (!strcmp(how, "quick") || !strcmp(how, "works")) {
        pid_t child = fork();
        if (child == 0) {
            get(MANY, MANY + MORE);
            give_back();
            if (*how == 'q') quick_exit(0);
            execl(words[0], words[0], "child", words[2], NULL);
            _exit(8);
        }
        wait_for(child);
    } else if (!strcmp(how, "_exit") || !strcmp(how, "clone")) {
        pid_t child = *how == 'c' ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
        if (child == 0) {
            get(MANY, MANY + MORE);
            give_back();
            _exit(0);
        }
        wait_for(child);
    } else if (!strcmp(how, "cloned")) {
        child_of_clone();
    } else if (!strcmp(how, "crowd")) {
        /* A parent that never hears of its child ends, too. */
        alarm(60);
        pthread_t other;
        if (pthread_create(&other, NULL, busy, NULL)) return 7;
        for (int i = 0; i < 60; i++) child_of_clone();
        over = 1;
        pthread_join(other, NULL);
    } else if (!strcmp(how, "vfork")) {
        pid_t child = vfork();
        if (child == 0) _exit(0);
        wait_for(child);
    } else if (!strcmp(how, "thread")) {
        pthread_t one, other;
        if (pthread_create(&other, NULL, busy, NULL) || pthread_create(&one, NULL, in_thread, NULL)) return 7;
        pthread_join(one, NULL);
        over = 1;
        pthread_join(other, NULL);
    } else if (!strcmp(how, "exec")) {
        pid_t child = fork();
        if (child == 0) {
            execl(words[0], words[0], "child", words[2], NULL);
            _exit(8);
        }
        wait_for(child);
    } else if (!strcmp(how, "twice")) {
        pid_t child = fork();
        if (child == 0) {
            child_of_fork();
            get(MANY, MANY + MORE);
            give_back();
            exit(0);
        }
        wait_for(child);
    } else {
        return 2;
    }
    return write(1, "done\n", 5) != 5;
}
