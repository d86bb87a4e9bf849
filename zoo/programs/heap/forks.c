/* Children made in every way while other threads get and free: each must be able to use the heap, and end.
 * fork in a thread, vfork and exec, clone without the C library's knowledge. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic int stop;

static void *busy(void *argument) {
    unsigned random = (unsigned)(size_t)argument;
    void *held[100] = {0};
    while (!stop) {
        random = random * 1103515245 + 12345;
        unsigned at = random >> 16 & 63;
        free(held[at]);
        unsigned size = random >> 8 & (random & 64 ? 0x1ffff : 0x3ff);
        held[at] = malloc(size);
        if (size) memset(held[at], 1, size < 100 ? size : 100);
    }
    for (int i = 0; i < 100; i++) free(held[i]);
    return NULL;
}

static int use_the_heap(void) {
    void *held[300];
    for (int i = 0; i < 300; i++) {
        size_t size = (size_t)(i % 30) * (i % 7 ? 40 : 3000);
        if (!(held[i] = malloc(size))) return 1;
        memset(held[i], i, size);
    }
    for (int i = 0; i < 300; i++) {
        size_t size = (size_t)(i % 30) * (i % 7 ? 40 : 3000);
        if (size && (((char *)held[i])[0] != (char)i || ((char *)held[i])[size - 1] != (char)i)) return 2;
        free(held[i]);
    }
    return 0;
}

static void *thread_in_child(void *argument) {
    *(int *)argument = use_the_heap();
    return NULL;
}

static int failures;

static void wait_for(pid_t child) {
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) failures++;
}

static void *forking(void *argument) {
    for (int i = 0; i < 200; i++) {
        void *mine = malloc(500);
        pid_t child = fork();
        if (child == 0) {
            free(mine);
            int result = use_the_heap();
            if (i % 10 == 0) {
                pthread_t thread;
                int other = 1;
                pthread_create(&thread, NULL, thread_in_child, &other);
                pthread_join(thread, NULL);
                result |= other;
            }
            if (i % 10 == 1) {
                pid_t grandchild = fork();
                if (grandchild == 0) _exit(use_the_heap());
                int status;
                waitpid(grandchild, &status, 0);
                result |= status;
            }
            if (i % 2) exit(result);
            _exit(result);
        }
        wait_for(child);
        free(mine);
    }
    return argument;
}

int main(int count, char **words) {
    if (count > 1) return use_the_heap();
    pthread_t threads[3], forker;
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, busy, (void *)(size_t)(i + 1));
    pthread_create(&forker, NULL, forking, NULL);
    pthread_join(forker, NULL);
    printf("fork: %d failures\n", failures);
    for (int i = 0; i < 50; i++) {
        pid_t child = vfork();
        if (child == 0) {
            execl("/proc/self/exe", words[0], "again", NULL);
            _exit(9);
        }
        wait_for(child);
    }
    printf("vfork and exec: %d failures\n", failures);
    stop = 1;
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    /* Now there is one thread: a raw clone is a fork without any notice. */
    for (int i = 0; i < 50; i++) {
        long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (child == 0) _exit(use_the_heap());
        wait_for((pid_t)child);
    }
    printf("clone: %d failures\n", failures);
    return failures + use_the_heap();
}
