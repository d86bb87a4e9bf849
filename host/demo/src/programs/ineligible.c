/* ineligible HOW: computes a tax for each of many records by a function that may run in one thread only, as a 3GL program on a general
   processor. HOW: here (no hand-over), each (a hand-over for each record), hundred (one for a hundred). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RECORDS 20000

static int there[2], back[2], at_once;
static long records[100];

static long tax(long income) {
    long owed = 0;
    for (long step = 10000; income > step; step *= 2) owed += (income - step) / 10;
    return owed;
}

static void *general(void *nothing) {
    char byte;
    for (int done = 0; done < RECORDS; done += at_once) {
        if (read(there[0], &byte, 1) != 1) abort();
        for (int i = 0; i < at_once; i++) records[i] = tax(records[i]);
        if (write(back[1], &byte, 1) != 1) abort();
    }
    return nothing;
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    int is_here = !strcmp(arguments[1], "here");
    at_once = strcmp(arguments[1], "hundred") ? 1 : 100;
    pthread_t thread;
    char byte = 0;
    long sum = 0;
    struct timespec begin, end;
    if (pipe(there) || pipe(back)) return 1;
    if (!is_here && pthread_create(&thread, 0, general, 0)) return 1;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int done = 0; done < RECORDS; done += at_once) {
        for (int i = 0; i < at_once; i++) records[i] = 17L * (done + i);
        if (is_here) {
            records[0] = tax(records[0]);
        } else if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) {
            return 1;
        }
        for (int i = 0; i < at_once; i++) sum += records[i];
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (!is_here) pthread_join(thread, 0);
    printf("records=%d sum=%ld elapsed_ns=%lld\n", RECORDS, sum,
           (end.tv_sec - begin.tv_sec) * 1000000000LL + end.tv_nsec - begin.tv_nsec);
    return 0;
}
