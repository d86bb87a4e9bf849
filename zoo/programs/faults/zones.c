/* Writes past the end of what it asked for: zones WHAT BYTES. Ends with 0 if the heap lets it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *volatile kept;

/* Frames for the trace: compiled with frame pointers. */
__attribute__((noinline)) static char *got_here(size_t bytes) {
    char *block = malloc(bytes);
    __asm__ volatile("" ::: "memory");
    return block;
}

__attribute__((noinline)) static char *got_through(size_t bytes) {
    char *block = got_here(bytes);
    __asm__ volatile("" ::: "memory");
    return block;
}

__attribute__((noinline)) static void freed_here(char *block) {
    free(block);
    __asm__ volatile("" ::: "memory");
}

static void requests(int count) {
    for (int at = 0; at < count; at++) free(malloc(24));
}

static void *in_thread(void *block) {
    freed_here(block);
    return NULL;
}

static void *of_library(void *text) {
    /* Storage that the C library gets. */
    char *copy = strdup(text);
    copy[strlen(copy) + 1] = 1;
    freed_here(copy);
    return NULL;
}

int main(int count, char **words) {
    if (count != 3) return 2;
    const char *what = words[1];
    size_t bytes = strtoul(words[2], NULL, 10);
    char *block = got_through(bytes);
    kept = got_through(bytes);
    memset(block, 'a', bytes);
    if (strcmp(what, "by-a-byte") == 0) {
        block[bytes] = 0;
        freed_here(block);
    } else if (strcmp(what, "by-sixteen") == 0) {
        memset(block + bytes, 'b', 16);
        freed_here(block);
    } else if (strcmp(what, "resized") == 0) {
        block[bytes] = 'x';
        block = realloc(block, bytes + 1);
    } else if (strcmp(what, "in-thread") == 0) {
        pthread_t thread;
        block[bytes + 7] = 0;
        if (pthread_create(&thread, NULL, in_thread, block) != 0 || pthread_join(thread, NULL) != 0) abort();
    } else if (strcmp(what, "of-library") == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, of_library, "a text") != 0 || pthread_join(thread, NULL) != 0) abort();
    } else if (strcmp(what, "kept") == 0) {
        /* Never freed: only a walk finds it. */
        block[bytes] = 1;
        requests(200);
    } else if (strcmp(what, "at-the-end") == 0) {
        block[bytes] = 1;
    } else if (strcmp(what, "three") == 0) {
        char *second = got_through(bytes), *third = got_through(bytes);
        block[bytes] = second[bytes + 1] = third[bytes + 2] = 2;
        freed_here(block), freed_here(third), freed_here(second);
    } else if (strcmp(what, "header") == 0) {
        /* So far that the next block's header is gone. */
        memset(block + bytes, 'c', 200);
        freed_here(block);
    } else if (strcmp(what, "twice") == 0) {
        freed_here(block);
        freed_here(block);
    } else if (strcmp(what, "sound") == 0) {
        char *other = calloc(3, bytes), *aligned = NULL;
        for (size_t at = 0; at < 3 * bytes; at++) {
            if (other[at] != 0) return 3;
        }
        if (posix_memalign((void **)&aligned, 256, bytes) != 0 || ((size_t)aligned & 255) != 0) return 4;
        memset(other, 'o', 3 * bytes), memset(aligned, 'p', bytes);
        for (size_t size = bytes; size < bytes + 500; size += 7) {
            block = realloc(block, size);
            if (block[0] != 'a' || block[bytes - 1] != 'a') return 5;
            memset(block + bytes, 'q', size - bytes);
        }
        block = realloc(block, 1);
        if (block[0] != 'a') return 6;
        free(block), free(other), free(aligned);
        if (fork() == 0) {
            requests(50);
            free(kept);
            _exit(0);
        }
        requests(500);
    } else {
        return 2;
    }
    puts("goes on");
    return 0;
}
