/* Loads a Rust library whose allocator is underbar's, uses it in threads, unloads it, and does so again. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t (*sum)(uint32_t);

static void *use(void *argument) {
    (void)argument;
    return (void *)(intptr_t)(sum(1000) == 499500);
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    for (int round = 0; round < 3; round++) {
        void *library = dlopen(arguments[1], RTLD_NOW);
        if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
        *(void **)&sum = dlsym(library, "sum_of_texts");
        char *(*text)(void);
        *(void **)&text = dlsym(library, "text_for_c");
        char *given = text();
        if (strcmp(given, "from Rust")) return 1;
        free(given);
        pthread_t threads[4];
        for (int at = 0; at < 4; at++) pthread_create(&threads[at], NULL, use, NULL);
        for (int at = 0; at < 4; at++) {
            void *held;
            pthread_join(threads[at], &held);
            if (!held) return 1;
        }
        dlclose(library);
    }
    puts("all held");
    return 0;
}
