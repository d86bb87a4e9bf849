/* wrong: gives back a pointer into the middle of a large element. */
#include <stdlib.h>

int main(void) {
    char *volatile element = malloc(1 << 20);
    char *volatile inside = element + 8;
    free(inside);
    return 0;
}
