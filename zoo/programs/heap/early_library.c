/* Uses the heap in its constructors, before those of libraries that came earlier, and in an indirect function's
 * resolver's neighbourhood: while the loader is still at work. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

char *early_text;
static void *early_blocks[100];

static int impl(void) { return 42; }
static int (*resolve(void))(void) { return impl; }
int early_function(void) __attribute__((ifunc("resolve")));

__attribute__((constructor(101))) static void first(void) {
    early_text = strdup("from a constructor");
    for (int i = 0; i < 100; i++) early_blocks[i] = calloc(1, (size_t)i * 100);
}

__attribute__((destructor(101))) static void last(void) {
    for (int i = 0; i < 100; i++) free(early_blocks[i]);
    free(early_text);
    early_text = malloc(10);
    early_text = realloc(early_text, 100000);
}
