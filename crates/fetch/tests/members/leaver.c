/* A program that exits at a place chosen at compilation: in a constructor, a destructor, at its exit, or in a resolver. */
#include <stdlib.h>

static int began;

#ifdef IN_CONSTRUCTOR
__attribute__((constructor)) static void begin(void) { exit(IN_CONSTRUCTOR); }
#endif

#ifdef IN_DESTRUCTOR
__attribute__((destructor)) static void end(void) { exit(IN_DESTRUCTOR); }
#endif

#ifdef AT_EXIT
static void at_exit(void) { exit(AT_EXIT); }
#endif

#ifdef IN_RESOLVER
static long one(void) { return 1; }
static long (*resolve(void))(void) {
    if (began == 0)
        exit(IN_RESOLVER);
    return one;
}
long chosen(void) __attribute__((ifunc("resolve")));
long (*leads_to_it)(void) = chosen;
#endif

int main(void) {
#ifdef AT_EXIT
    atexit(at_exit);
    atexit(at_exit);
#endif
    return 50 + began;
}
