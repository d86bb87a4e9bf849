/* reserve BYTES: gets blocks until there are none, and says how many more it got after the first failure of a large one. Frees all,
   and gets one more. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **words) {
    if (count != 2) return 2;
    size_t bytes = strtoul(words[1], NULL, 10), got = 0;
    char **all = malloc(8 * 100000);
    if (!all) return 3;
    while (got < 100000 && (all[got] = malloc(bytes))) {
        memset(all[got], 'x', bytes);
        got++;
    }
    if (errno != ENOMEM) return 4;
    for (size_t at = 0; at < got; at++) {
        if (all[at][bytes - 1] != 'x') return 5;
        free(all[at]);
    }
    if (!malloc(bytes)) return 6;
    printf("%zu\n", got);
    return 0;
}
