/* Storage whose sites are known: MiB that each function requests.
 *
 *   keep_records   32   in pieces of 4 KiB, kept to the end
 *   read_lines    256   in pieces of 8 KiB, each freed at once
 *   load_table     64   in pieces of 64 KiB, freed before the end: most is in use with these
 */
#include <stdio.h>
#include <stdlib.h>

static void **kept;

__attribute__((noinline)) static void keep_records(int count)
{
    for (int at = 0; at < count; at++) {
        void **record = malloc(4 << 10); /* keep_records */
        *record = kept;
        kept = record;
    }
}

__attribute__((noinline)) static long read_lines(int count)
{
    long sum = 0;
    for (int at = 0; at < count; at++) {
        volatile char *line = malloc(8 << 10); /* read_lines */
        line[0] = (char)at;
        sum += line[0];
        free((void *)line);
    }
    return sum;
}

static inline __attribute__((always_inline)) void *one_page(int at)
{
    volatile char *page = malloc(64 << 10); /* one_page */
    page[0] = (char)at;
    return (void *)page;
}

__attribute__((noinline)) static void load_table(int count)
{
    void **pages = calloc((size_t)count, sizeof *pages);
    for (int at = 0; at < count; at++)
        pages[at] = one_page(at);
    for (int at = 0; at < count; at++)
        free(pages[at]);
    free(pages);
}

int main(void)
{
    keep_records(8 << 10);
    long sum = read_lines(32 << 10);
    load_table(1 << 10);
    printf("done %d\n", sum != 1);
    return 7;
}
