/* Constructors, destructors and atexit, recorded in a word of the caller. */
#include <stdlib.h>

static long *told;
static int constructed;

__attribute__((constructor)) static void begin(int argc, char **argv, char **envp) {
    constructed = argc > 0 && argv[0] && envp ? 1 : 100;
}

static void at_exit(void) { *told = *told * 10 + 2; }

__attribute__((destructor)) static void end(void) {
    if (told)
        *told = *told * 10 + 3;
}

long ending(long *where) {
    told = where;
    atexit(at_exit);
    return constructed;
}
