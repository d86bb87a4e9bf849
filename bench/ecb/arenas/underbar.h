/* underbar's ECBs: malloc and free while inside, the rest freed with the ECB. */
#include "underbar/ecb.h"

typedef underbar_ecb arena;
#define CAN_FREE 1
#define IS_SHARED 1
#define HAS_NAMES 1

static int available(void) { return underbar_ecb_create != NULL; }
static arena create(void) {
    arena ecb = underbar_ecb_create("BENCH");
    if (!ecb) abort();
    return ecb;
}
static inline void enter(arena a) { if (underbar_ecb_enter(a)) abort(); }
static inline void leave(arena a) { (void)a; if (underbar_ecb_leave()) abort(); }
static inline void *get(arena a, size_t size) { (void)a; return malloc(size); }
static inline void *get_zeroed(arena a, size_t size) { (void)a; return calloc(1, size); }
static inline void *resize(arena a, void *piece, size_t old, size_t size) { (void)a; (void)old; return realloc(piece, size); }
static inline void give(arena a, void *piece) { (void)a; free(piece); }
static inline void end(arena a) { if (underbar_ecb_end(a)) abort(); }
