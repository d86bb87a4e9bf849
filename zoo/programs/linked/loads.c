/* Loads a library, frees what it got, unloads it, and starts a program. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments) {
    for (int round = 0; round < 3; round++) {
        void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
        if (!library) return 1;
        char *(*copy_of)(const char *);
        *(void **)&copy_of = dlsym(library, "copy_of");
        char *copy = copy_of("a text");
        if (!copy || strcmp(copy, "a text")) return 2;
        free(copy);
        dlclose(library);
    }
    puts("loaded");
    return 0;
}
