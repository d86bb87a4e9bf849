/* Gives storage back wrongly: misuse WHAT BYTES. If the heap does not end the program, it says so and ends with 0. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *volatile block;

static void *give_back(void *unused) {
    free(block);
    return unused;
}

static void give_back_in_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, give_back, NULL) != 0 || pthread_join(thread, NULL) != 0) abort();
}

int main(int count, char **words) {
    if (count != 3) return 2;
    const char *what = words[1];
    size_t bytes = strtoul(words[2], NULL, 10);
    block = malloc(bytes);
    char *volatile other = malloc(bytes);
    memset(block, 7, bytes);
    memset(other, 7, bytes);
    if (strcmp(what, "twice") == 0) {
        free(block);
        free(block);
    } else if (strcmp(what, "twice-and-on") == 0) {
        /* The next thousand gets of that size must not be served one block twice. */
        free(block);
        free(block);
        for (int at = 0; at < 1000; at++) other = malloc(bytes);
    } else if (strcmp(what, "twice-elsewhere") == 0) {
        give_back_in_thread();
        give_back_in_thread();
    } else if (strcmp(what, "inside") == 0) {
        free(block + 16);
    } else if (strcmp(what, "middle") == 0) {
        free(block + bytes / 2);
    } else if (strcmp(what, "realloc-middle") == 0) {
        block = realloc(block + bytes / 2, 2 * bytes);
    } else if (strcmp(what, "inside-unaligned") == 0) {
        free(block + 8);
    } else if (strcmp(what, "inside-elsewhere") == 0) {
        block += 16;
        give_back_in_thread();
    } else if (strcmp(what, "realloc-inside") == 0) {
        block = realloc(block + 16, 2 * bytes);
    } else if (strcmp(what, "after-realloc") == 0) {
        char *volatile moved = realloc(block, 100 * bytes);
        if (moved != block) free(block);
    } else if (strcmp(what, "realloc-freed") == 0) {
        free(block);
        block = realloc(block, 3 * bytes);
    } else if (strcmp(what, "past-end") == 0) {
        /* The word after the usable bytes is the next block's header, in glibc's heap as in ours. */
        memset(block + bytes, 'A', (8 - bytes % 16 + 16) % 16 + 8);
        free(block);
    } else if (strcmp(what, "past-end-by-a-byte") == 0) {
        block[bytes + (8 - bytes % 16 + 16) % 16] ^= 64;
        free(block);
    } else if (strcmp(what, "past-end-realloc") == 0) {
        memset(block + bytes, 'A', (8 - bytes % 16 + 16) % 16 + 8);
        block = realloc(block, 2 * bytes);
    } else {
        return 2;
    }
    puts("not noticed");
    return 0;
}
