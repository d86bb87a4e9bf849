/* holding BLOCKS ROUNDS: gets BLOCKS blocks, each a little larger than the previous one, writes them, and frees all but every
   seventh; then, in ROUNDS rounds, gets, writes and frees 40 blocks that fit into none of the gaps. Plain gives the pages of
   these back at each free and takes them again, so that it has many faults; this heap has more memory, for cells of every size.
   Prints the bytes kept. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { large = 100000, many = 40 };

int main(int count, char **arguments) {
    if (count != 3) return 97;
    long blocks = atol(arguments[1]), rounds = atol(arguments[2]), kept = 0;
    char **all = calloc((size_t)blocks, sizeof *all), *burst[many];
    if (!all) return 96;
    for (long at = 0; at < blocks; at++) {
        size_t size = 100 + (size_t)at * 3;
        if (!(all[at] = malloc(size))) return 95;
        memset(all[at], 1, size);
    }
    for (long at = 0; at < blocks; at++) {
        if (at % 7) free(all[at]);
        else kept += 100 + at * 3;
    }
    for (long round = 0; round < rounds; round++) {
        for (int at = 0; at < many; at++) {
            if (!(burst[at] = malloc(large))) return 95;
            memset(burst[at], 1, large);
        }
        for (int at = 0; at < many; at++) free(burst[at]);
    }
    printf("%ld\n", kept);
    return 0;
}
