/* Storage of another namespace's C library: freed, resized and measured here, and by its owner. Argument: the library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **words) {
    if (count < 2) return 2;
    for (int round = 0; round < 3; round++) {
        void *library = dlmopen(LM_ID_NEWLM, words[1], RTLD_NOW);
        if (!library) return printf("WRONG: %s\n", dlerror()), 1;
        void *(*get)(size_t);
        void (*give)(void *);
        *(void **)&get = dlsym(library, "below_get");
        *(void **)&give = dlsym(library, "below_free");
        for (size_t size = 1; size < 1000; size += 100) {
            give(get(size));
            free(get(size));
            char *block = get(size);
            if (malloc_usable_size(block) < size) printf("WRONG: usable\n");
            block = realloc(block, 4 * size);
            if (!block || block[0] != 'b' || block[size - 1] != 'b') printf("WRONG: resized\n");
            free(block);
        }
        dlclose(library);
    }
    printf("done\n");
    return 0;
}
