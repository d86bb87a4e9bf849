/* A program that a caller LINKs. Its first argument says what it does; each way ends with status 7, unless said otherwise. */
#define _GNU_SOURCE
#include <locale.h>
#include <netdb.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
#include <underbar/ceeedcct.h>

enum { BLOCKS = 3000, BYTES = 400 };
static void *volatile kept[BLOCKS];
static volatile int goes_on = 1;

__attribute__((constructor)) static void begins(void) { kept[0] = malloc(BYTES); }

static void leaks(void) {
    for (int i = 0; i < BLOCKS; i++) kept[i] = memset(malloc(BYTES), 0x5a, BYTES);
    char *copy = strdup("a text that nobody frees");
    if (strcmp(copy, "a text that nobody frees")) exit(90);
}

static void *works(void *unused) {
    leaks();
    return unused;
}

static void *waits(void *told) {
    while (goes_on && *(volatile int *)told == 0) usleep(1000);
    leaks();
    *(volatile int *)told = 2;
    return NULL;
}

/* Heaps that go with the program, and elements of the initial heap, which is the enclave's. */
static int services(void) {
    _FEEDBACK fc;
    _INT4 initial = 0, increment = 0, options = 0, size = 1000;
    _POINTER address;
    if (!CEECRHP) return 7;
    for (int i = 0; i < 20; i++) {
        _INT4 heap = 0;
        CEECRHP(&heap, &initial, &increment, &options, &fc);
        if (_FBCHECK(fc, CEE000)) return 94;
        CEEGTST(&heap, &size, &address, &fc);
        if (_FBCHECK(fc, CEE000)) return 95;
        memset(address, 0x77, size);
    }
    _INT4 mine = 0;
    CEEGTST(&mine, &size, &address, &fc);
    if (_FBCHECK(fc, CEE000)) return 96;
    CEEGTST(&mine, &size, &address, &fc);
    memset(address, 0x66, size);
    CEEFRST(&address, &fc);
    return _FBCHECK(fc, CEE000) ? 97 : 7;
}

/* Blocks of 112 bytes, kept while the caller's function LINKs this program again. */
static int deep(int depth, int (*again)(int)) {
    static void *volatile blocks[1000];
    for (int i = 0; i < 1000; i++) blocks[i] = memset(malloc(112), depth, 112);
    int status = depth > 0 ? again(depth - 1) : 7;
    for (int i = 0; i < 1000; i++)
        if (*(unsigned char *)blocks[i] != (unsigned char)depth) return 98;
    return status;
}

static int sinks(int depth) {
    volatile char frame[1000];
    frame[depth % 1000] = (char)depth;
    return depth == 0 ? frame[0] : sinks(depth - 1) + (frame[depth % 1000] != (char)depth);
}

static jmp_buf again;
static volatile int signals;
static volatile unsigned long handled;

static void handler(int number) {
    char place;
    signals += number == SIGUSR1;
    handled = (unsigned long)&place;
}

/* The stack is what pthread_getattr_np says, and everything that a program does with a stack works on it. */
static int stacks(const char *is_own, char *of_caller) {
    pthread_attr_t attributes;
    void *low;
    size_t size;
    char place;
    if (pthread_getattr_np(pthread_self(), &attributes)) return 80;
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    int own = *is_own == '1', has_caller = of_caller >= (char *)low && of_caller < (char *)low + size;
    if (&place < (char *)low || &place >= (char *)low + size || has_caller == own) return 81;
    if (sinks(250)) return 82;
    volatile int turns = 0;
    if (setjmp(again) < 3) {
        turns++;
        longjmp(again, turns);
    }
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    signal(SIGUSR1, SIG_DFL);
    if (turns != 3 || !signals) return 83;
    if ((char *)handled < (char *)low || (char *)handled >= (char *)low + size) return 84;
    if (((unsigned long)__builtin_frame_address(0) & 15) != 0) return 85;
    leaks();
    exit(7);
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "";
    if (!strcmp(what, "nothing")) return 7;
    if (!strcmp(what, "leaks")) {
        leaks();
        return 7;
    }
    if (!strcmp(what, "exits")) {
        leaks();
        exit(7);
    }
    if (!strcmp(what, "library")) {
        /* What the C library keeps for itself is the process's. */
        leaks();
        setlocale(LC_ALL, "C.UTF-8");
        struct addrinfo *found = NULL;
        if (getaddrinfo("127.0.0.1", "80", NULL, &found) == 0) freeaddrinfo(found);
        void *mathematics = dlopen("libm.so.6", RTLD_NOW);
        if (!mathematics) return 91;
        printf("%s\n", "printed by the job");
        setenv("ENCLAVE_JOB", "was here", 1);
        return 7;
    }
    if (!strcmp(what, "threads")) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, works, NULL);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
        return 7;
    }
    if (!strcmp(what, "leaves")) {
        /* A thread goes on after the end. Its word is the caller's. */
        pthread_t thread;
        pthread_create(&thread, NULL, waits, (void *)strtoul(words[2], NULL, 16));
        pthread_detach(thread);
        leaks();
        return 7;
    }
    if (!strcmp(what, "deep")) return deep(atoi(words[2]), (int (*)(int))strtoul(words[3], NULL, 16));
    if (!strcmp(what, "services")) return services();
    if (!strcmp(what, "stacks")) return stacks(words[2], (char *)strtoul(words[3], NULL, 16));
    if (!strcmp(what, "forks")) {
        leaks();
        pid_t child = fork();
        if (child == 0) {
            leaks();
            _exit(3);
        }
        int status = 0;
        if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 3) return 92;
        return 7;
    }
    return 93;
}
