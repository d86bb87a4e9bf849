/* PostgreSQL's AllocSet: a memory context of default sizes for each unit. */
#include "postgres.h"
#include "utils/memutils.h"
/* It replaces these by its own. */
#undef printf
#undef fprintf
#undef snprintf

typedef MemoryContext arena;
#define CAN_FREE 1

static int available(void) {
    MemoryContextInit();
    return 1;
}
static arena create(void) { return AllocSetContextCreate(TopMemoryContext, "unit", ALLOCSET_DEFAULT_SIZES); }
static inline void enter(arena a) { MemoryContextSwitchTo(a); }
static inline void leave(arena a) { (void)a; MemoryContextSwitchTo(TopMemoryContext); }
static inline void *get(arena a, size_t size) { (void)a; return palloc(size); }
static inline void *get_zeroed(arena a, size_t size) { (void)a; return palloc0(size); }
static inline void *resize(arena a, void *piece, size_t old, size_t size) { (void)a; (void)old; return repalloc(piece, size); }
static inline void give(arena a, void *piece) { (void)a; pfree(piece); }
static inline void end(arena a) { MemoryContextDelete(a); }
