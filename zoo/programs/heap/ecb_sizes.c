/* Units of work whose requests fit badly into the usual lists of an ECB: ecb_sizes UNITS REQUESTS [KB].
 * Each unit of class BAD gets REQUESTS buffers of 33 bytes and of 65, and frees none; its end does. With KB, 99 more units of class SMALL
 * take that much in buffers of 512 bytes. Without underbar the units leak. Prints a sum of what was written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <underbar/ecb.h>

static unsigned long long sum;

static void get(size_t bytes, int with) {
    unsigned char *buffer = malloc(bytes);
    if (!buffer) exit(3);
    memset(buffer, with, bytes);
    sum += buffer[0] + buffer[bytes - 1];
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    int units = atoi(arguments[1]), requests = atoi(arguments[2]), kilobytes = count > 3 ? atoi(arguments[3]) : 0;
    for (int unit = 0; unit < units; unit++) {
        underbar_ecb ecb = underbar_ecb_begin("BAD");
        for (int at = 0; at < requests; at++) {
            get(33, at);
            get(65, at);
        }
        underbar_ecb_finish(ecb);
    }
    for (int unit = 0; unit < 99 && kilobytes; unit++) {
        underbar_ecb ecb = underbar_ecb_begin("SMALL");
        for (int at = 0; at < kilobytes * 2; at++) get(512, at);
        underbar_ecb_finish(ecb);
    }
    printf("%llu\n", sum);
    return 0;
}
