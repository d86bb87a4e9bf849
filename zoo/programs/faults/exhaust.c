/* exhaust SIZE: gets blocks of SIZE bytes until there are none, twice, giving all back in between; says "done" if
   each failure was ENOMEM and the blocks could be used to the last byte. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct block {
    struct block *next;
};

static long fill(size_t size) {
    struct block *all = NULL, *block;
    long blocks = 0;
    errno = 0;
    while ((block = malloc(size))) {
        ((char *)block)[size - 1] = 1;
        block->next = all;
        all = block;
        blocks++;
    }
    int error = errno;
    while (all) {
        block = all->next;
        free(all);
        all = block;
    }
    return error == ENOMEM ? blocks : 0;
}

int main(int count, char **words) {
    size_t size = count > 1 ? strtoul(words[1], NULL, 10) : 16;
    long first = fill(size), second = fill(size);
    /* Freed storage must be available again, except for a part between blocks in use. */
    if (first < 1 || second < first / 2) return 3;
    return write(1, "done\n", 5) != 5;
}
