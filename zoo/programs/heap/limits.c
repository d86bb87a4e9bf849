/* Out of storage under a limit of address space: null and ENOMEM, blocks in use stay unchanged, and freed ones
 * serve again. Argument: MiB of address space beyond what is mapped at the start. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static char *held[2000000];

static size_t mapped(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    size_t pages = 0;
    if (!file || fscanf(file, "%zu", &pages) != 1) exit(9);
    fclose(file);
    return pages * 4096;
}

static void limit_to(size_t more) {
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = mapped() + more;
    if (setrlimit(RLIMIT_AS, &limit)) exit(9);
}

/* Takes blocks of one size until there are no more. */
static long use_up(size_t size) {
    long count = 0;
    errno = 0;
    while (count < (long)(sizeof held / sizeof *held)) {
        char *p = malloc(size);
        if (!p) break;
        memset(p, (int)(count % 251), size);
        held[count++] = p;
    }
    if (errno != ENOMEM) printf("errno is not ENOMEM but %d\n", errno);
    for (long i = 0; i < count; i++)
        if (held[i][0] != (char)(i % 251) || held[i][size - 1] != (char)(i % 251)) printf("block %ld changed\n", i);
    return count;
}

static void give_all(long count) {
    while (count) free(held[--count]);
}

static void *in_thread(void *size) {
    give_all(use_up((size_t)size));
    return NULL;
}

int main(int count, char **words) {
    size_t more = (size_t)(count > 1 ? atoi(words[1]) : 64) << 20;
    pthread_t thread;
    char line[64];
    setvbuf(stdout, line, _IOLBF, sizeof line);
    limit_to(more);
    size_t sizes[] = {64, 1000, 5000, 100000, 3000000};
    for (unsigned i = 0; i < 5; i++) {
        long first = use_up(sizes[i]);
        if (calloc(more, 2)) printf("calloc beyond the limit\n");
        give_all(first);
        long again = use_up(sizes[i]);
        give_all(again);
        printf("%zu bytes: %s, again %s\n", sizes[i], (size_t)first * sizes[i] > more / 4 ? "enough" : "FEW",
               again >= first - first / 10 ? "enough" : "FEW");
    }
    limit_to(more + (16 << 20));
    if (pthread_create(&thread, NULL, in_thread, (void *)1000) == 0) pthread_join(thread, NULL);
    /* realloc between little room and none: in any case the content is there. */
    for (size_t room = 0; room < 6; room++) {
        size_t size = (size_t)300 << 20;
        struct rlimit none;
        getrlimit(RLIMIT_AS, &none);
        none.rlim_cur = none.rlim_max;
        setrlimit(RLIMIT_AS, &none);
        char *large = malloc(size);
        if (!large) return 8;
        for (size_t at = 0; at < size; at += 1 << 20) large[at] = (char)(at >> 20);
        limit_to(((size_t)1500 << 20) + room * (1 << 20));
        for (size_t new = size; new < (size_t)3 << 30; new += (size_t)211 << 20) {
            char *moved = realloc(large, new);
            if (moved) large = moved;
            else if (errno != ENOMEM) printf("errno %d\n", errno);
            for (size_t at = 0; at < size; at += 1 << 20)
                if (large[at] != (char)(at >> 20)) {
                    printf("lost at %zu of %zu\n", at, new);
                    return 1;
                }
        }
        free(large);
    }
    printf("done\n");
    return 0;
}
