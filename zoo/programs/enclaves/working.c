/* working COUNT: LINKed, it writes so often to nowhere, and computes so long as 20,000 steps for each take. CALLed, it writes as often as the
   number at its parameter says, and returns that number. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static long works(long times) {
    int nowhere = open("/dev/null", O_WRONLY);
    volatile long sum = 0;
    for (long i = 0; i < times; i++) {
        if (write(nowhere, "x", 1) != 1) abort();
        for (int step = 0; step < 20000; step++) sum += step;
    }
    close(nowhere);
    return times;
}

long called(void *parameter) { return works(*(long *)parameter); }

int main(int count, char **words) {
    works(count > 1 ? atol(words[1]) : 0);
    return 7;
}
