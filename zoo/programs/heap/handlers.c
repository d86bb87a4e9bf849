/* handlers: forks while another thread gets storage with the lock of `handlers_library` held, which the handlers of that
 * library wait for. A signal ends an endless wait after a minute. */
#include "waits.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern pthread_mutex_t table;

static atomic_int has, forker, wrong;

static void *using(void *unused) {
    pthread_mutex_lock(&table);
    has = 1;
    wait_for_sleep_of(&forker);
    for (size_t size = 10; size < 1 << 20; size *= 2) {
        void *volatile block = malloc(size);
        if (!block) wrong++;
        free(block);
    }
    pthread_mutex_unlock(&table);
    return unused;
}

static void fork_once(void) {
    forker = own_number();
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        void *volatile block = malloc(300000);
        free(block);
        exit(17);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 17) wrong++;
}

int main(void) {
    alarm(60);
    fork_once();
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        has = forker = 0;
        if (pthread_create(&thread, NULL, using, NULL)) return 3;
        while (!has) sched_yield();
        fork_once();
        pthread_join(thread, NULL);
    }
    printf("21 forks, %d wrong\n", (int)wrong);
    return 0;
}
