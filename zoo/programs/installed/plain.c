/* Linked with the installed library for -static: storage from the heap. */
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    char *storage = calloc(4000, 1);
    puts(storage && !storage[3999] ? "served" : "failed");
    free(storage);
    return 0;
}
