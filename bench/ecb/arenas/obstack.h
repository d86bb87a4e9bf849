/* obstack of the C library, aligned as malloc is. A piece could only be freed with all later ones, so none is. */
#include <obstack.h>
#include <stdlib.h>

struct kept {
    struct obstack stack;
    struct kept *next;
};
typedef struct kept *arena;

static struct kept *kept_stacks;

static int available(void) { return 1; }
static arena create(void) {
    struct kept *one = kept_stacks;
    if (one)
        kept_stacks = one->next;
    else
        one = malloc(sizeof *one);
    obstack_specify_allocation(&one->stack, 0, 16, malloc, free);
    return one;
}
static inline void enter(arena a) { (void)a; }
static inline void leave(arena a) { (void)a; }
static inline void *get(arena a, size_t size) { return obstack_alloc(&a->stack, size); }
static inline void *get_zeroed(arena a, size_t size) { return memset(get(a, size), 0, size); }
static inline void end(arena a) {
    obstack_free(&a->stack, NULL);
    a->next = kept_stacks;
    kept_stacks = a;
}
