/* Two areas, of data and of zeros: writes each page, and returns how many of the two were written before. */
char data[PAGES * 4096] = {7};
char zeros[PAGES * 4096];

long written(long x) {
    long first = 0, second = 0;
    for (long at = 0; at < PAGES * 4096; at += 4096) {
        first |= data[at + 9] != 0 || data[0] != 7;
        second |= zeros[at + 9] != 0;
        data[at + 9] = 1;
        zeros[at + 9] = 1;
    }
    return first + second + x;
}

/* Seals a page of each area: one is read-only, one a guard. */
#include <stdint.h>
#include <sys/mman.h>

static char stack[64 * 1024], sealed[64 * 1024] = { 1 };

__attribute__((visibility("default"))) int seals(int ignored) {
    char *guard = (char *)(((uintptr_t)stack + 4096) & ~(uintptr_t)4095);
    char *constant = (char *)(((uintptr_t)sealed + 4096) & ~(uintptr_t)4095);
    int was = guard[0] | constant[1];
    guard[0] = constant[1] = 1;
    if (mprotect(guard, 4096, PROT_NONE) || mprotect(constant, 4096, PROT_READ)) return -1;
    return was + ignored;
}
