/* A library whose constructor requests 32 MiB in pieces of 64 KiB, through functions of its own, before the program begins; and, without
 * LIBRARY, a program that needs it. */
#include <stdlib.h>

void *load_entry(int at);

#ifdef LIBRARY
static void *kept[512];

__attribute__((noinline)) void *load_entry(int at)
{
    volatile char *entry = malloc(64 << 10);
    entry[0] = (char)at;
    return (void *)entry;
}

__attribute__((noinline)) static void load_entries(void)
{
    for (int at = 0; at < 512; at++)
        kept[at] = load_entry(at);
}

__attribute__((constructor)) static void begin_library(void)
{
    load_entries();
    kept[0] = load_entry(512);
}
#else
int main(void)
{
    return load_entry(1) == 0;
}
#endif
