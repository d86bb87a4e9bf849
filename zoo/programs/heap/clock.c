/* With -shared, a library that defines clock_gettime and asks for storage in it, as libfaketime does. Otherwise a program that gets
   and frees blocks of up to 5 MB, so that underbar reads clocks while it gives storage back. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef LIBRARY
static void *volatile kept;

int clock_gettime(clockid_t clock, struct timespec *time) {
    kept = malloc(100000);
    int result = syscall(SYS_clock_gettime, clock, time);
    free(kept);
    return result;
}
#else
int main(void) {
    for (int round = 0; round < 100; round++) {
        size_t bytes = 70000 + round % 50 * 100000;
        char *first = malloc(bytes);
        memset(first, 1, bytes);
        char *volatile second = malloc(bytes / 2);
        free(first);
        free(second);
    }
    puts("done");
    return 0;
}
#endif
