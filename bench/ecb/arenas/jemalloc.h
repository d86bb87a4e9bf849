/* jemalloc: an arena for each unit, in three ways.
 * JE_DESTROY: made and destroyed. JE_RESET: kept, and reset. JE_CACHED: kept with a cache of its own, which is flushed before the reset. */
#include <stddef.h>
#include <stdlib.h>

/* As jemalloc's own header has them: that is made by its build, which may be long gone. */
void *mallocx(size_t size, int flags);
void *rallocx(void *piece, size_t size, int flags);
void dallocx(void *piece, int flags);
int mallctl(const char *name, void *old, size_t *length, void *now, size_t now_length);
int mallctlnametomib(const char *name, size_t *mib, size_t *length);
int mallctlbymib(const size_t *mib, size_t parts, void *old, size_t *length, void *now, size_t now_length);
#define MALLOCX_ZERO 0x40
#define MALLOCX_TCACHE(number) ((int)(((number) + 2) << 8))
#define MALLOCX_TCACHE_NONE MALLOCX_TCACHE(-1)
#define MALLOCX_ARENA(number) ((((int)(number)) + 1) << 20)

#define CAN_FREE 1
#define IS_SHARED 1

struct kept {
    unsigned number, cache;
    int flags;
    struct kept *next;
};
typedef struct kept *arena;

static struct kept *kept_arenas;
static size_t mib_reset[3], mib_destroy[3], mib_flush[2];

static int available(void) {
    size_t three = 3, two = 2;
    if (mallctlnametomib("arena.0.reset", mib_reset, &three)) return 0;
    three = 3;
    if (mallctlnametomib("arena.0.destroy", mib_destroy, &three)) return 0;
    return !mallctlnametomib("tcache.flush", mib_flush, &two);
}
static arena create(void) {
    struct kept *one = kept_arenas;
    if (one) {
        kept_arenas = one->next;
#ifndef JE_DESTROY
        return one;
#endif
    } else {
        one = calloc(1, sizeof *one);
    }
    size_t length = sizeof one->number;
    if (mallctl("arenas.create", &one->number, &length, NULL, 0)) abort();
#ifdef JE_CACHED
    length = sizeof one->cache;
    if (mallctl("tcache.create", &one->cache, &length, NULL, 0)) abort();
    one->flags = MALLOCX_ARENA(one->number) | MALLOCX_TCACHE(one->cache);
#else
    one->flags = MALLOCX_ARENA(one->number) | MALLOCX_TCACHE_NONE;
#endif
    return one;
}
static inline void enter(arena a) { (void)a; }
static inline void leave(arena a) { (void)a; }
static inline void *get(arena a, size_t size) { return mallocx(size, a->flags); }
static inline void *get_zeroed(arena a, size_t size) { return mallocx(size, a->flags | MALLOCX_ZERO); }
static inline void *resize(arena a, void *piece, size_t old, size_t size) { (void)old; return rallocx(piece, size, a->flags); }
static inline void give(arena a, void *piece) { dallocx(piece, a->flags); }
static inline void end(arena a) {
#ifdef JE_CACHED
    if (mallctlbymib(mib_flush, 2, NULL, NULL, &a->cache, sizeof a->cache)) abort();
#endif
#ifdef JE_DESTROY
    mib_destroy[1] = a->number;
    if (mallctlbymib(mib_destroy, 3, NULL, NULL, NULL, 0)) abort();
#else
    mib_reset[1] = a->number;
    if (mallctlbymib(mib_reset, 3, NULL, NULL, NULL, 0)) abort();
#endif
    a->next = kept_arenas;
    kept_arenas = a;
}
