/* churn COUNT [HELD]: buffers that come and go, as at the calls of a program: COUNT times twenty of 200,000 bytes to 3.81 MB are got, their
   first pages written, and freed in the reverse order. Then HELD of 16 MiB are got and kept. Prints a sum that depends on the content. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **words) {
    long calls = count > 1 ? atol(words[1]) : 2000, sum = 0;
    char *buffers[20];
    for (long call = 0; call < calls; call++) {
        for (int at = 0; at < 20; at++) {
            buffers[at] = malloc(200000 + 190000L * at);
            if (!buffers[at]) return 1;
            memset(buffers[at], (int)call, 4096);
            sum += buffers[at][7];
        }
        for (int at = 19; at >= 0; at--) free(buffers[at]);
    }
    for (long held = count > 2 ? atol(words[2]) : 0; held > 0; held--) {
        char *buffer = malloc(16 << 20);
        if (!buffer) return 1;
        *(char *volatile *)&buffers[0] = buffer;
    }
    printf("sum %ld\n", sum);
    return 0;
}
