/* Writes past the end of a buffer of an ECB: ecb_zones CASE BYTES. Without a fault it prints "goes on". */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <underbar/ecb.h>
#include <underbar/malloc31.h>
#include <unistd.h>

static size_t bytes;

/* Each buffer has neighbours, so that a write past its end meets one. */
static char *among(void *(*get)(size_t)) {
    malloc(bytes);
    char *buffer = get(bytes);
    malloc(bytes);
    memset(buffer, 1, bytes);
    return buffer;
}

static void *by_calloc(size_t size) { return calloc(1, size); }
static void *aligned(size_t size) { return aligned_alloc(256, size); }

static char *shared;
static underbar_ecb ecb;

static void *outside(void *unused) {
    free(shared);
    return unused;
}

static void *inside(void *unused) {
    underbar_ecb_enter(ecb);
    for (int at = 0; at < 100; at++) free(among(malloc));
    char *buffer = among(malloc);
    buffer[bytes] = 7;
    free(buffer);
    underbar_ecb_leave();
    return unused;
}

int main(int count, char **argument) {
    const char *what = argument[1];
    bytes = strtoul(argument[2], NULL, 10);
    if (!underbar_ecb_create) return puts("none"), 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    puts("begins");
    ecb = underbar_ecb_begin("ZONES");
    if (!strcmp(what, "free")) {
        char *buffer = among(malloc);
        buffer[bytes] = 7;
        free(buffer);
    } else if (!strcmp(what, "named")) {
        char *buffer = among(malloc);
        underbar_ecb_tag(buffer, "SESSION", 7);
        buffer[bytes] = 7;
        free(buffer);
    } else if (!strcmp(what, "calloc")) {
        char *buffer = among(by_calloc);
        buffer[bytes] = 7;
        free(buffer);
    } else if (!strcmp(what, "aligned")) {
        char *buffer = among(aligned);
        buffer[bytes] = 7;
        free(buffer);
    } else if (!strcmp(what, "realloc")) {
        char *buffer = among(malloc);
        buffer[bytes] = 7;
        realloc(buffer, bytes + 1);
    } else if (!strcmp(what, "resized")) {
        char *buffer = realloc(among(malloc), 3 * bytes);
        buffer[3 * bytes] = 7;
        free(buffer);
    } else if (!strcmp(what, "low")) {
        char *buffer = among(__malloc31);
        buffer[bytes] = 7;
        free(buffer);
    } else if (!strcmp(what, "end")) {
        /* Nobody frees it. */
        char *buffer = among(malloc);
        buffer[bytes] = 7;
    } else if (!strcmp(what, "outside")) {
        pthread_t thread;
        shared = among(malloc);
        shared[bytes] = 7;
        pthread_create(&thread, NULL, outside, NULL);
        pthread_join(thread, NULL);
    } else if (!strcmp(what, "thread")) {
        pthread_t thread;
        among(malloc);
        pthread_create(&thread, NULL, inside, NULL);
        pthread_join(thread, NULL);
    } else if (!strcmp(what, "walk")) {
        char *buffer = among(malloc);
        buffer[bytes] = 7;
        for (int at = 0; at < 100; at++) free(malloc(bytes));
    } else if (!strcmp(what, "asked")) {
        /* What was asked for is the program's, and no more. */
        char *buffer = among(malloc);
        printf("%zu\n", malloc_usable_size(buffer) - bytes);
        memset(buffer, 9, malloc_usable_size(buffer));
        free(buffer);
    }
    /* What ends the program now is an end that finds damage. */
    underbar_ecb_finish(ecb);
    puts("goes on");
    return 0;
}
