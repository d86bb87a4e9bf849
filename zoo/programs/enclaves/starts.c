/* starts LIBRARY ROUNDS: LINKs `working` and its twin `other` in turns, and CALLs `called`, each with another number of writes. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <underbar/fetch.h>

static long used(void) {
    struct timespec at;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return at.tv_sec * 1000000000L + at.tv_nsec;
}

int main(int count, char **words) {
    underbar_library library;
    if (count != 3 || underbar_library_open(words[1], 0, &library)) return 3;
    char *const ten[] = {"working", "10", NULL}, *const three[] = {"other", "3", NULL};
    underbar_program program;
    long in_calls = 0, in_links = 0;
    if (underbar_load(&library, 1, "called", 0, &program)) return 4;
    for (long round = 0; round < atol(words[2]); round++) {
        int status = 0;
        long before = used(), times = 7, result = 0;
        if (underbar_link(&library, 1, "working", ten, NULL, &status) || status != 7) return 5;
        if (underbar_link(&library, 1, "other", three, NULL, &status) || status != 7) return 6;
        long between = used();
        if (underbar_call(program, &times, &result) || result != 7) return 7;
        in_links += between - before;
        in_calls += used() - between;
    }
    printf("links %ld\ncalls %ld\n", in_links, in_calls);
    return 0;
}
