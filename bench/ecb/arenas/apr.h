/* APR: a pool for each unit, with one allocator without a lock, as a thread of httpd has it. No piece can be freed. */
#include <apr_general.h>
#include <apr_pools.h>

typedef apr_pool_t *arena;

static apr_pool_t *root;

static int available(void) {
    apr_allocator_t *allocator;
    if (apr_initialize() || apr_allocator_create(&allocator)) return 0;
    return apr_pool_create_ex(&root, NULL, NULL, allocator) == APR_SUCCESS;
}
static arena create(void) {
    apr_pool_t *pool;
    if (apr_pool_create(&pool, root)) abort();
    return pool;
}
static inline void enter(arena a) { (void)a; }
static inline void leave(arena a) { (void)a; }
static inline void *get(arena a, size_t size) { return apr_palloc(a, size); }
static inline void *get_zeroed(arena a, size_t size) { return apr_pcalloc(a, size); }
static inline void end(arena a) { apr_pool_destroy(a); }
