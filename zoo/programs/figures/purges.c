/* purges COUNT: COUNT times, gets 4 MiB of which it touches little and gives them back. */
#include <stdlib.h>

int main(int count, char **words) {
    for (long i = 0; count > 1 && i < atol(words[1]); i++) {
        char *block = malloc(4 << 20);
        if (!block) return 3;
        ((volatile char *)block)[100] = 1;
        free(block);
    }
    return 0;
}
