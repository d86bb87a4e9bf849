/* stack_segments: counts segments of stacks by the table of the preload library, as underbar::Stack does. Prints how many. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

/* crates/enclave */
struct table {
    uint32_t version, count;
    const void *functions, *begin, *enter, *leave, *inside, *end, *sizes, *begins, *ends;
    void (*segments)(uint64_t allocated, uint64_t freed);
};

int main(void) {
    const struct table *table = dlsym(RTLD_DEFAULT, "underbar_enclaves");
    uint64_t allocated = 0, freed = 0;
    if (!table || table->version != 6) return 3;
    for (int turn = 1; turn <= 9; turn++) {
        table->segments(turn, turn / 2);
        allocated += turn;
        freed += turn / 2;
    }
    printf("allocated %lu freed %lu\n", (unsigned long)allocated, (unsigned long)freed);
    return 0;
}
