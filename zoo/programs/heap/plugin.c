/* Loads and unloads a library that allocates in its constructor, from threads too. Argument: the library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *path;

static void *work(void *argument) {
    for (int i = 0; i < 100; i++) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            printf("%s\n", dlerror());
            return argument;
        }
        char **text = dlsym(library, "early_text");
        if (!text || strcmp(*text, "from a constructor")) printf("WRONG\n");
        char *mine = strdup(*text);
        dlclose(library);
        free(mine);
        if (dlopen("/nonexistent.so", RTLD_NOW)) printf("WRONG\n");
        if (!dlerror()) printf("WRONG\n");
    }
    return argument;
}

int main(int count, char **words) {
    if (count < 2) return 2;
    path = words[1];
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    work(NULL);
    printf("loaded and unloaded\n");
    return 0;
}
