/* Asks the C library for its functions by its own handle, as interpreters do for their users. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    void *library = dlopen("libc.so.6", RTLD_NOW);
    if (!library) return printf("WRONG: %s\n", dlerror()), 1;
    char *(*copy)(const char *);
    void (*give)(void *);
    void *(*get)(size_t), *(*grow)(void *, size_t);
    *(void **)&copy = dlsym(library, "strdup");
    *(void **)&give = dlsym(library, "free");
    *(void **)&get = dlsym(library, "malloc");
    *(void **)&grow = dlsym(library, "realloc");
    for (int i = 0; i < 1000; i++) {
        give(copy("duplicated by the C library"));
        give(malloc(i));
        free(get(i));
        char *block = grow(strdup("text"), 5000);
        if (strcmp(block, "text")) printf("WRONG\n");
        free(block);
    }
    dlclose(library);
    printf("done\n");
    return 0;
}
