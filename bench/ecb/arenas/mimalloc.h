/* mimalloc: a heap for each unit, destroyed with all that is in it. */
#include <mimalloc.h>

typedef mi_heap_t *arena;
#define CAN_FREE 1
#define IS_SHARED 1

static int available(void) { return 1; }
static arena create(void) { return mi_heap_new(); }
static inline void enter(arena a) { (void)a; }
static inline void leave(arena a) { (void)a; }
static inline void *get(arena a, size_t size) { return mi_heap_malloc(a, size); }
static inline void *get_zeroed(arena a, size_t size) { return mi_heap_zalloc(a, size); }
static inline void *resize(arena a, void *piece, size_t old, size_t size) { (void)old; return mi_heap_realloc(a, piece, size); }
static inline void give(arena a, void *piece) { (void)a; mi_free(piece); }
static inline void end(arena a) { mi_heap_destroy(a); }
