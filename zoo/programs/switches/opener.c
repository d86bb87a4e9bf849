/* opener LIBRARY TIMES: opens a library while it runs, and calls a function of it so often by a pointer of dlsym; closes it, opens it again, and calls
   half as often. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static long calls(const char *path, long times) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*two)(int) = library ? (int (*)(int))dlsym(library, "two_3gl") : NULL;
    int (*chosen)(int) = library ? (int (*)(int))dlsym(library, "chosen_3gl") : NULL;
    long sum = 0;
    if (!two || !chosen) exit(3);
    for (long i = 0; i < times; i++) sum += two((int)i) + chosen((int)i);
    dlclose(library);
    return sum;
}

int main(int count, char **words) {
    if (count != 3) return 2;
    long times = atol(words[2]);
    printf("%ld\n", calls(words[1], times) + calls(words[1], times / 2));
    return 0;
}
