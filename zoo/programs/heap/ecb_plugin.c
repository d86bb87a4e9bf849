/* A library that is loaded late and has thread-local storage, which the loader gets at the first access. */
#include <stdlib.h>
#include <string.h>

static __thread int count;
static __thread char room[5000];

int counted(void) {
    room[count] = 1;
    count++;
    int sum = 0;
    for (int at = 0; at < (int)sizeof room; at++) sum += room[at];
    return sum;
}

void *kept(size_t bytes) { return malloc(bytes); }
