/* Requests all of its storage through a function that no table knows, from several places and of several sizes. */
#include <stdlib.h>
#include <string.h>

#define MANY 4000

static void *kept[8 * MANY];
static int used;

__attribute__((noinline)) void *grab(size_t size)
{
    void *got = malloc(size);
    if (!got)
        exit(1);
    memset(got, 1, size);
    return got;
}

#define KEEPER(name, size) \
    __attribute__((noinline)) void name(void) \
    { \
        kept[used++] = grab(size); \
        __asm__ volatile("" ::: "memory"); \
    }

KEEPER(keep_names, 700)
KEEPER(keep_lines, 1100)
KEEPER(keep_pages, 1500)
KEEPER(keep_marks, 500)
KEEPER(keep_words, 900)

int main(void)
{
    for (int i = 0; i < MANY; i++) {
        keep_names();
        keep_lines();
        keep_pages();
        keep_marks();
        keep_words();
    }
    return 0;
}
