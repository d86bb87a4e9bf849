/* malloc and free, of the C library or of a preload: every piece is freed one by one. */
#include <stdlib.h>

typedef int arena;
#define CAN_FREE 1
#define IS_SHARED 1
#define FREES_ONE_BY_ONE 1

static int available(void) { return 1; }
static arena create(void) { return 0; }
static inline void enter(arena a) { (void)a; }
static inline void leave(arena a) { (void)a; }
static inline void *get(arena a, size_t size) { (void)a; return malloc(size); }
static inline void *get_zeroed(arena a, size_t size) { (void)a; return calloc(1, size); }
static inline void *resize(arena a, void *piece, size_t old, size_t size) { (void)a; (void)old; return realloc(piece, size); }
static inline void give(arena a, void *piece) { (void)a; free(piece); }
static inline void end(arena a) { (void)a; }
