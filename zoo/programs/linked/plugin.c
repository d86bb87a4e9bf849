/* A shared library that has the runtime in itself; its storage must be that of the program which loads it. */
#include <stdlib.h>
#include <string.h>

char *copy_of(const char *text) {
    char *copy = malloc(strlen(text) + 1);
    return copy ? strcpy(copy, text) : NULL;
}
