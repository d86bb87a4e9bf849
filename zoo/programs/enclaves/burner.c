/* burner SECONDS: a program that a caller LINKs. Uses so much CPU time, of its thread. */
#include <stdlib.h>
#include <time.h>

int started;

static double used(void) {
    struct timespec at;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return at.tv_sec + at.tv_nsec / 1e9;
}

int main(int count, char **words) {
    double until = used() + (count > 1 ? atof(words[1]) : 0);
    started++;
    while (used() < until) {}
    return 7;
}
