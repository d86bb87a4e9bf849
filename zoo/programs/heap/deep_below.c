/* The dependency of the deeply bound library (deep_library.c): gets, grows and frees storage, and has a function whose name the
 * program has, too. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

const char *deep_who(void) { return "dependency"; }

void *below_get(size_t size) { return memset(malloc(size), 'b', size); }
void *below_grow(void *block, size_t size) { return realloc(block, size); }
void *below_grow_array(void *block, size_t size) { return reallocarray(block, 1, size); }
size_t below_usable(void *block) { return malloc_usable_size(block); }
void below_free(void *block) { free(block); }
