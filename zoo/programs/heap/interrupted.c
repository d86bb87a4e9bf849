/* A signal handler that ends the process at once, as a watchdog's does, while the program is in the middle of
 * getting and freeing: the end must come. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void handler(int signal) {
    (void)signal;
    _exit(0);
}

/* Most of this thread's time is its end, at which it gives back its storage. */
static void *come_and_go(void *argument) {
    pthread_sigmask(SIG_UNBLOCK, argument, NULL);
    void *p[50];
    for (int i = 0; i < 50; i++) p[i] = malloc((size_t)(i * i * 12));
    for (int i = 0; i < 50; i++) free(p[i]);
    return NULL;
}

static void work(int kind) {
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGPROF);
    if (kind == 2) pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    for (unsigned i = 0;; i++) {
        if (kind == 0) {
            void *p = malloc(100000 + i % 50000);
            free(p);
        } else if (kind == 1) {
            void *p[64];
            for (int k = 0; k < 64; k++) p[k] = malloc(i * 64 % 9000);
            for (int k = 0; k < 64; k++) free(p[k]);
        } else {
            pthread_t thread;
            if (pthread_create(&thread, NULL, come_and_go, &alarm) == 0) pthread_join(thread, NULL);
        }
    }
}

int main(void) {
    int ended = 0;
    for (int i = 0; i < 150; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(60); /* ends one that waits for itself */
            signal(SIGPROF, handler);
            struct itimerval timer = {{0, 0}, {0, 100 + i * 7 % 1000}};
            setitimer(ITIMER_PROF, &timer, NULL);
            work(i % 3);
        }
        int status;
        if (waitpid(child, &status, 0) == child && status == 0) ended++;
    }
    printf("%d ended\n", ended);
    return 0;
}
