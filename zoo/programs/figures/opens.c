/* opens DEEP NAMESPACES: opens libm DEEP times with RTLD_DEEPBIND, and NAMESPACES times in a namespace of its own,
   and once without either. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
    int deep = count > 1 ? atoi(words[1]) : 0, namespaces = count > 2 ? atoi(words[2]) : 0;
    if (!dlopen("libm.so.6", RTLD_NOW)) return 1;
    for (int i = 0; i < deep; i++) {
        void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_DEEPBIND);
        if (!library) return 2;
        dlclose(library);
    }
    for (int i = 0; i < namespaces; i++)
        if (!dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW)) return 3;
    return 0;
}
