/* Storage below the line and below the bar: below WHAT. Checks addresses and contents; prints what it saw. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <underbar/malloc31.h>
#include <unistd.h>

typedef void *getter(size_t);

/* A block with a pattern that depends on its address. */
static unsigned char *got(getter *get, size_t bytes, uintptr_t limit) {
    unsigned char *block = get(bytes);
    if (!block) return NULL;
    if ((uintptr_t)block + bytes > limit || ((uintptr_t)block & 15) != 0) {
        printf("%p is wrong\n", (void *)block);
        exit(3);
    }
    for (size_t at = 0; at < bytes; at++) block[at] = (unsigned char)((uintptr_t)block / 16 + at);
    return block;
}

static void is_as_written(unsigned char *block, unsigned char *was, size_t bytes) {
    for (size_t at = 0; at < bytes; at++) {
        if (block[at] != (unsigned char)((uintptr_t)was / 16 + at)) {
            printf("byte %zu of %p is wrong\n", at, (void *)block);
            exit(4);
        }
    }
}

static void use(getter *get, uintptr_t limit) {
    enum { BLOCKS = 200 };
    unsigned char *blocks[BLOCKS];
    for (size_t at = 0; at < BLOCKS; at++) {
        if (!(blocks[at] = got(get, 1 + at * 37, limit))) exit(5);
    }
    for (size_t at = 0; at < BLOCKS; at += 2) {
        is_as_written(blocks[at], blocks[at], 1 + at * 37);
        free(blocks[at]);
    }
    for (size_t at = 1; at < BLOCKS; at += 2) {
        unsigned char *was = blocks[at];
        blocks[at] = realloc(was, 2 * (1 + at * 37));
        if (!blocks[at] || (uintptr_t)blocks[at] + 2 * (1 + at * 37) > limit) exit(6);
        is_as_written(blocks[at], was, 1 + at * 37);
        free(blocks[at]);
    }
}

static void *in_thread(void *unused) {
    use(__malloc31, 1ull << 31);
    use(__malloc24, 1 << 24);
    return unused;
}

int main(int count, char **words) {
    if (count != 2) return 2;
    if (!__malloc24 || !__malloc31) {
        puts("none");
        return 0;
    }
    if (strcmp(words[1], "use") == 0) {
        pthread_t threads[4];
        in_thread(NULL);
        for (int at = 0; at < 4; at++) pthread_create(&threads[at], NULL, in_thread, NULL);
        for (int at = 0; at < 4; at++) pthread_join(threads[at], NULL);
        pid_t child = fork();
        if (child == 0) {
            in_thread(NULL);
            _exit(0);
        }
        int status = -1;
        if (waitpid(child, &status, 0) != child || status != 0) return 7;
        puts("used");
    } else if (strcmp(words[1], "exhaust") == 0) {
        /* Every block below the line, and then ENOMEM; ordinary storage is still there. */
        size_t blocks = 0;
        errno = 0;
        while (got(__malloc24, 60000, 1 << 24)) blocks++;
        if (errno != ENOMEM || blocks < 100 || blocks > 280) return 8;
        if (__malloc24(1 << 24) || __malloc24((size_t)-1) || !malloc(60000) || !__malloc31(60000)) return 9;
        puts("exhausted");
    } else if (strcmp(words[1], "past-31") == 0 || strcmp(words[1], "past-64") == 0) {
        /* A byte past the end. */
        char *address = words[1][5] == '3' ? __malloc31(100) : malloc(100);
        ((volatile char *)address)[100] = 'x';
        free(address);
        puts("went on");
    } else {
        return 2;
    }
    return 0;
}
