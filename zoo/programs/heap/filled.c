/* The contents of new storage under STORAGE(byte): every byte of every size, again and again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int all(const unsigned char *bytes, size_t count, unsigned char byte) {
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != byte) return 0;
    return 1;
}

int main(void) {
    unsigned char *first = malloc(8);
    unsigned char byte = *first;
    for (int round = 0; round < 3; round++)
        for (size_t size = 1; size < 3000000; size = size * 3 / 2 + 1) {
            unsigned char *p = malloc(size), *q = NULL;
            if (!all(p, size, byte)) printf("malloc(%zu) is not filled\n", size);
            memset(p, 1, size), free(p);
            p = calloc(size, 1);
            if (!all(p, size, 0)) printf("calloc(%zu) is not zero\n", size);
            memset(p, 1, size), free(p);
            if (posix_memalign((void **)&q, 256, size) || !all(q, size, byte)) printf("aligned %zu is not filled\n", size);
            memset(q, 1, size), free(q);
            /* A grown block: in place, or elsewhere. */
            p = size % 2 ? malloc(size) : calloc(size, 1);
            memset(p, 1, size);
            size_t more = size + size / 4 + 24, most = 6 * more;
            p = realloc(p, more);
            if (!all(p, size, 1) || !all(p + size, more - size, byte)) printf("%zu grown to %zu is not filled\n", size, more);
            memset(p, 2, more);
            p = realloc(p, most);
            if (!all(p, more, 2) || !all(p + more, most - more, byte)) printf("%zu grown to %zu is not filled\n", more, most);
            free(p);
        }
    printf("got %02x, calloc 00\n", byte);
    return 0;
}
