/* Writes a line to each stream and returns 3. */
#include <stdio.h>

int main(void) {
    puts("a line on standard output");
    fputs("a line on standard error\n", stderr);
    return 3;
}
