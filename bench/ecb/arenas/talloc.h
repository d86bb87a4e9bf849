/* talloc: a context for each unit; with TALLOC_POOL one that begins with a pool of so many bytes. */
#include <talloc.h>

typedef void *arena;
#define CAN_FREE 1

static int available(void) { return 1; }
static arena create(void) {
#ifdef TALLOC_POOL
    return talloc_pool(NULL, TALLOC_POOL);
#else
    return talloc_new(NULL);
#endif
}
static inline void enter(arena a) { (void)a; }
static inline void leave(arena a) { (void)a; }
static inline void *get(arena a, size_t size) { return talloc_size(a, size); }
static inline void *get_zeroed(arena a, size_t size) { return talloc_zero_size(a, size); }
static inline void *resize(arena a, void *piece, size_t old, size_t size) { (void)old; return talloc_realloc_size(a, piece, size); }
static inline void give(arena a, void *piece) { (void)a; talloc_free(piece); }
static inline void end(arena a) { talloc_free(a); }
