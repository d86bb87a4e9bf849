/* purges COUNT [burst]: COUNT times, gets 2 MiB of which it touches little and gives them back. Then, for a burst, gets some
 * MiB, touches all of them, gives them back, and goes on with small requests until most of their pages are gone, or it has
 * waited for that in vain. It keeps every other one, so that no segment is empty. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCKS = 16, BYTES = 2 << 20 };

static char *blocks[BLOCKS];

static long resident(void) {
    long count = 0;
    static unsigned char states[BYTES / 4096];
    for (int i = 0; i < BLOCKS; i += 2) {
        void *page = (void *)(((uintptr_t)blocks[i] + 4095) & ~(uintptr_t)4095);
        if (mincore(page, BYTES - 4096, states)) continue;
        for (int at = 0; at < BYTES / 4096 - 1; at++) count += states[at] & 1;
    }
    return count;
}

int main(int count, char **words) {
    if (count < 2) return 0;
    /* So large a heap that 2 MiB share segments with others. */
    for (int i = 0; i < 24; i++) {
        if (!malloc(1 << 20)) return 3;
    }
    for (long i = 0; i < atol(words[1]); i++) {
        char *block = malloc(BYTES);
        if (!block) return 3;
        ((volatile char *)block)[100] = 1;
        free(block);
    }
    if (count < 3) return 0;
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BYTES);
        if (!blocks[i]) return 3;
        memset(blocks[i], 1, BYTES);
    }
    long before = resident();
    for (int i = 0; i < BLOCKS; i += 2) free(blocks[i]);
    long after = resident();
    for (int round = 0; after * 4 >= before && round < 10000; round++) {
        for (int i = 0; i < 1000; i++) {
            void *volatile small = malloc(200);
            free(small);
        }
        usleep(1000);
        after = resident();
    }
    printf("%s\n", before < BLOCKS / 2 * (BYTES / 4096 - 1) ? "WRONG" : after * 4 < before ? "gone" : "stays");
    return 0;
}
