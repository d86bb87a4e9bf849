/* Large requests that find no room between small blocks: they would fit into the initial segment, if it were not in pieces. */
#include <stdlib.h>
#include <string.h>

enum { SMALL = 40 << 10, COUNT = 96, LARGE = 1 << 20, REQUESTS = 200 };

int main(void) {
    static char *small[COUNT];
    for (int i = 0; i < COUNT; i++) memset(small[i] = malloc(SMALL), 1, SMALL);
    for (int i = 0; i < COUNT; i += 2) free(small[i]);
    for (int i = 0; i < REQUESTS; i++) {
        volatile char *large = malloc(LARGE);
        large[0] = large[LARGE - 1] = 1;
        free((void *)large);
    }
    return 0;
}
