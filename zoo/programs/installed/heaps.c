/* Linked with the installed library: storage from the heap, and from an additional heap of underbar/ceeedcct.h. */
#include <stdio.h>
#include <stdlib.h>
#include <underbar/ceeedcct.h>
#include <underbar/ecb.h>
#include <underbar/malloc31.h>

int main(void) {
    if (!CEECRHP || !CEEGTST || !CEEDSHP || !__malloc31) {
        puts("not linked");
        return 1;
    }
    _INT4 heap, initial = 65536, increment = 0, options = 0, size = 4000;
    _POINTER address;
    _FEEDBACK fc;
    CEECRHP(&heap, &initial, &increment, &options, &fc);
    CEEGTST(&heap, &size, &address, &fc);
    int held = _FBCHECK(fc, CEE000) == 0 && address;
    CEEDSHP(&heap, &fc);
    void *below = __malloc31(4000);
    held = held && below && (size_t)below < (size_t)1 << 31;
    free(below);
    puts(held ? "served" : "failed");
    return !held;
}
