/* Gets 3 GiB in pieces of 1.5 GiB, as samtools sort does, touches their first and last bytes, frees them, and says by how many KiB its
 * resident memory has grown while it had them. */
#include <stdio.h>
#include <stdlib.h>

enum { PIECES = 2 };
static const size_t PIECE = (size_t)3 << 29;

/* Counted by the kernel page by page; statm may be some pages old. */
static long resident(void) {
    long kib = 0;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "Rss: %ld", &kib) == 1) break;
    }
    if (file) fclose(file);
    return kib;
}

int main(void) {
    char *volatile piece[PIECES];
    resident();
    long before = resident();
    for (int i = 0; i < PIECES; i++) {
        piece[i] = malloc(PIECE);
        if (!piece[i]) return 1;
        piece[i][0] = piece[i][PIECE - 1] = 1;
    }
    long grown = resident() - before;
    for (int i = 0; i < PIECES; i++) free(piece[i]);
    printf("%ld\n", grown);
    return 0;
}
