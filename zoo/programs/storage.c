/* storage ROUNDS BLOCKS: in each round gets BLOCKS blocks of 1 to 32,768 bytes, writes the first byte of each,
   and frees all; prints a sum that depends on every block. The same each time. */
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    if (count != 3) return 97;
    long rounds = atol(arguments[1]), blocks = atol(arguments[2]), sum = 0;
    unsigned char **all = calloc((size_t)blocks, sizeof *all);
    unsigned long state = 7;
    if (!all) return 96;
    for (long round = 0; round < rounds; round++) {
        for (long at = 0; at < blocks; at++) {
            state = state * 6364136223846793005UL + 1442695040888963407UL;
            all[at] = malloc(1 + (state >> 33) % 32768);
            if (!all[at]) return 95;
            all[at][0] = (unsigned char)(state >> 40);
        }
        for (long at = 0; at < blocks; at++) {
            sum = sum * 31 + all[at][0];
            free(all[at]);
        }
    }
    free(all);
    printf("%ld\n", sum);
    return 0;
}
