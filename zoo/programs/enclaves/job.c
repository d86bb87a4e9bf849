/* A program that a caller LINKs. Its first argument says what it does; each way ends with status 7, unless said otherwise. */
#define _GNU_SOURCE
#include <locale.h>
#include <netdb.h>
#include <dlfcn.h>
#include <pthread.h>
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
