/* Thread variables: one with an initial value, one of zeros, one that is aligned. */
#include <stdint.h>

#ifndef ZEROS
#define ZEROS 5000
#endif

__thread long counted = 1000;
static __thread char zeros[ZEROS];
static __thread long aligned __attribute__((aligned(256))) = 7;

long threads(long x) {
    counted += x;
    zeros[ZEROS - 1]++;
    return counted * 1000 + zeros[ZEROS - 1] + ((uintptr_t)&aligned % 256 ? 1000000000 : 0) + (aligned - 7);
}

/* Many values in registers while thread variables are touched: a descriptor's resolver must keep them all. */
double registers(double a, double b, double c, double d) {
    double e = a * b, f = c * d, g = a + c, h = b - d;
    for (int i = 0; i < 100; i++) {
        counted += i;
        e += f * 0.5;
        g -= h * 0.25 + (double)aligned;
    }
    return e * 3 + f * 5 + g * 7 + h * 11 + a * 13 + b * 17 + c * 19 + d * 23;
}

double registers_alone(double a, double b, double c, double d) {
    double e = a * b, f = c * d, g = a + c, h = b - d;
    for (int i = 0; i < 100; i++) {
        e += f * 0.5;
        g -= h * 0.25 + 7;
    }
    return e * 3 + f * 5 + g * 7 + h * 11 + a * 13 + b * 17 + c * 19 + d * 23;
}
