/* hot WHAT COUNT: spends its time in known functions, for profiles, and prints a line.
   lock     COUNT times one locked instruction in a loop of three
   divide   the same with a division
   two      half of COUNT locked instructions in `first`, a quarter in `second`, alternately, so that the machine's other work
            affects both
   threads  lock, in four threads
   tree     lock, in a child and in a program executed by another */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) void locked(long count) {
    int word = 0;
    __asm__ volatile("1: lock incl %0\n\tdec %1\n\tjnz 1b" : "+m"(word), "+r"(count) : : "cc");
}

__attribute__((noinline)) void divided(long count) {
    __asm__ volatile("1: mov $1000000007, %%rax\n\tmov $12345, %%rdx\n\tmov $998244353, %%rcx\n\t"
                     "div %%rcx\n\tdec %0\n\tjnz 1b"
                     : "+r"(count) : : "rax", "rcx", "rdx", "cc");
}

__attribute__((noinline)) void first(long count) {
    int word = 0;
    __asm__ volatile("1: lock incl %0\n\tdec %1\n\tjnz 1b" : "+m"(word), "+r"(count) : : "cc");
}

__attribute__((noinline)) void second(long count) {
    int word = 0;
    __asm__ volatile("1: lock incl %0\n\tdec %1\n\tjnz 1b" : "+m"(word), "+r"(count) : : "cc");
}

static void *thread(void *count) {
    locked((long)count);
    return NULL;
}

static void threads(long count) {
    pthread_t started[4];
    for (int i = 0; i < 4; i++)
        if (pthread_create(&started[i], NULL, thread, (void *)count)) exit(91);
    for (int i = 0; i < 4; i++) pthread_join(started[i], NULL);
}

static void tree(char *own, char *count) {
    if (fork() == 0) {
        locked(atol(count));
        _exit(0);
    }
    if (fork() == 0) {
        execl(own, own, "lock", count, (char *)NULL);
        _exit(92);
    }
    while (wait(NULL) > 0) {}
}

int main(int words, char **word) {
    if (words < 3) return 90;
    long count = atol(word[2]);
    if (!strcmp(word[1], "lock")) locked(count);
    if (!strcmp(word[1], "divide")) divided(count);
    if (!strcmp(word[1], "two")) 
        for (int turn = 0; turn < 40; turn++) first(count / 80), second(count / 160);
    if (!strcmp(word[1], "threads")) threads(count);
    if (!strcmp(word[1], "tree")) tree(word[0], word[2]);
    puts(word[1]);
    return 5;
}
