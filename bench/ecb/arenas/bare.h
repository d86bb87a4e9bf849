/* A bare pointer into one area, moved back at the end: what the loop itself takes. Nothing can be cheaper, and no program can use it. */
#include <stdlib.h>

typedef char *arena;

static char *area;
static size_t next;

static int available(void) {
    area = malloc((size_t)64 << 20);
    return area != NULL;
}
static arena create(void) { return area; }
static inline void enter(arena a) { (void)a; }
static inline void leave(arena a) { (void)a; }
static inline void *get(arena a, size_t size) {
    void *piece = a + next;
    next += (size + 15) & ~(size_t)15;
    return piece;
}
static inline void *get_zeroed(arena a, size_t size) { return memset(get(a, size), 0, size); }
static inline void end(arena a) { (void)a; next = 0; }
