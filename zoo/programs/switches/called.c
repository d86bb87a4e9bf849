/* A library whose functions take arguments of all kinds, which a program calls in known numbers (caller.c). */
#define _GNU_SOURCE
#include <immintrin.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

struct large { long all[9]; };
struct pair { double real, imaginary; };
struct mixed { long number; double fraction; };

int variable_3gl = 7;

long twelve_3gl(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l;
}

double doubles_3gl(double a, double b, double c, double d, double e, double f, double g, double h, double i, double j) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}

struct large large_3gl(struct large of, int by) {
    for (int i = 0; i < 9; i++) of.all[i] *= by;
    return of;
}

struct pair pair_3gl(struct pair a, struct mixed b) {
    return (struct pair){a.real * b.fraction, a.imaginary + (double)b.number};
}

struct mixed mixed_3gl(long number, double fraction) { return (struct mixed){number + 1, fraction / 2}; }

long double longest_3gl(long double a, float b) { return a * b; }

double sum_3gl(int count, ...) {
    va_list all;
    double sum = 0;
    va_start(all, count);
    for (int i = 0; i < count; i++) sum += i % 2 ? va_arg(all, double) : va_arg(all, int);
    va_end(all);
    return sum;
}

int back_3gl(int (*call)(int, void *), int times, void *with) {
    int sum = 0;
    for (int i = 0; i < times; i++) sum += call(i, with);
    return sum;
}

void jump_3gl(jmp_buf *to, int value) { longjmp(*to, value); }

int two_3gl(int a) { return 2 * a; }

/* Calls a function of its own by name, which counts for nobody else. */
int itself_3gl(int a) { return two_3gl(a) + two_3gl(a + 1); }

int (*pointer_3gl(void))(int) { return two_3gl; }

__attribute__((target("avx"))) __m256d wide_3gl(__m256d a, __m256d b) { return a * b; }

static int chosen(int a) { return 3 * a; }
static int (*choose(void))(int) { return chosen; }
int chosen_3gl(int a) __attribute__((ifunc("choose")));
