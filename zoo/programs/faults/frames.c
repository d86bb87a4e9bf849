/* Makes calls, each with an array in its frame that it does not set. Prints a sum that does not depend on what is in it. */
#include <stdio.h>

__attribute__((noinline)) static long deep(int depth) {
    volatile char frame[300];
    frame[depth] = 1;
    return depth == 0 ? frame[0] : frame[depth] + deep(depth - 1);
}

int main(void) {
    long sum = 0;
    for (int at = 0; at < 1000; at++) sum += deep(at % 50);
    printf("%ld\n", sum);
    return 0;
}
