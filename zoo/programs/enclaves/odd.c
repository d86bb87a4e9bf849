/* A program that a caller LINKs, and that leaves it in odd ways. Its first argument says how. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

enum { BLOCKS = 500, BYTES = 400 };
static void *volatile kept[BLOCKS];
static jmp_buf *place;

static void leaks(void) {
    for (int i = 0; i < BLOCKS; i++) kept[i] = memset(malloc(BYTES), 0x5a, BYTES);
}

static void jumps_by_signal(int number) { siglongjmp(*(sigjmp_buf *)place, number); }

static void exits(void) {
    leaks();
    exit(9);
}

static int sinks(int depth) {
    volatile char frame[500];
    frame[depth % 500] = 1;
    if (depth == 0) longjmp(*place, 5);
    return sinks(depth - 1) + frame[depth % 500];
}

static volatile int never;

__attribute__((noinline)) static int sinks_for_ever(int depth) {
    volatile char frame[500];
    frame[depth % 500] = 1;
    if (never) return 0;
    return sinks_for_ever(depth + 1) + frame[depth % 500];
}

static void *returns(void *unused) { return unused; }

int main(int count, char **words) {
    const char *how = count > 1 ? words[1] : "";
    void *given = count > 2 ? (void *)strtoul(words[2], NULL, 16) : NULL;
    leaks();
    if (!strcmp(how, "inside")) {
        /* A jump within the program is one like any other. */
        jmp_buf here;
        int value = setjmp(here);
        if (value < 3) longjmp(here, value + 1);
        return 7;
    }
    if (!strcmp(how, "jumps")) {
        place = given;
        return sinks(50);
    }
    if (!strcmp(how, "signal")) {
        place = given;
        signal(SIGUSR1, jumps_by_signal);
        raise(SIGUSR1);
        return 1;
    }
    if (!strcmp(how, "aborts")) abort();
    if (!strcmp(how, "overflows")) return sinks_for_ever(0);
    if (!strcmp(how, "overruns")) {
        static char *volatile block;
        block = malloc(100);
        block[100] = 1;
        free(block);
        return 7;
    }
    if (!strcmp(how, "through")) return ((int (*)(void))given)();
    if (!strcmp(how, "through-exits")) exit(((int (*)(void))given)());
    if (!strcmp(how, "builtin")) __builtin_longjmp((void **)given, 1);
    if (!strcmp(how, "waits")) {
        *(volatile int *)given = 1;
        for (;;) pause();
    }
    if (!strcmp(how, "ends-thread")) {
        pthread_t thread;
        pthread_create(&thread, NULL, returns, NULL);
        pthread_join(thread, NULL);
        pthread_exit((void *)5);
    }
    if (!strcmp(how, "exits-at-exit")) {
        atexit(exits);
        return 7;
    }
    if (!strcmp(how, "forks")) {
        for (int way = 0; way < 2; way++) {
            pid_t child = fork();
            if (child == 0) {
                leaks();
                if (way) exit(3);
                return 3;
            }
            int status = 0;
            if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 3) return 92;
        }
        return 7;
    }
    return 93;
}
