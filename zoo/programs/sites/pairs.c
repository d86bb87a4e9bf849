/* pairs KIND COUNT: requests 64 bytes by malloc (KIND 0) or calloc (1), and frees them, so many times. */
#include <stdlib.h>

int main(int count_of_arguments, char **arguments)
{
    if (count_of_arguments < 3) return 2;
    int is_calloc = atoi(arguments[1]);
    long count = atol(arguments[2]);
    for (long i = 0; i < count; i++) {
        char *volatile block = is_calloc ? calloc(1, 64) : malloc(64);
        if (!block) return 1;
        *block = 1;
        free(block);
    }
    return 0;
}
