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

static void *come_and_go(void *argument) {
    free(malloc(100));
    return argument;
}

static void work(int kind) {
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
            if (pthread_create(&thread, NULL, come_and_go, NULL) == 0) pthread_join(thread, NULL);
        }
    }
}

int main(void) {
    int ended = 0;
    for (int i = 0; i < 150; i++) {
        pid_t child = fork();
        if (child == 0) {
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
