/* The first byte of new storage, which STORAGE fills; and a child. */
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    unsigned char *block = malloc(100);
    printf("%02x\n", block[50]);
    fflush(stdout);
    free(block);
    return system("true");
}
