/* Calls functions of called.c in known numbers, checks each result, and says how often it called what. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <immintrin.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct large { long all[9]; };
struct pair { double real, imaginary; };
struct mixed { long number; double fraction; };

extern int variable_3gl;
long twelve_3gl(long, long, long, long, long, long, long, long, long, long, long, long);
double doubles_3gl(double, double, double, double, double, double, double, double, double, double);
struct large large_3gl(struct large, int);
struct pair pair_3gl(struct pair, struct mixed);
struct mixed mixed_3gl(long, double);
long double longest_3gl(long double, float);
double sum_3gl(int, ...);
int back_3gl(int (*)(int, void *), int, void *);
void jump_3gl(jmp_buf *, int);
int two_3gl(int);
int itself_3gl(int);
int (*pointer_3gl(void))(int);
__m256d wide_3gl(__m256d, __m256d);
int chosen_3gl(int);

static int (*const table[])(int) = {two_3gl, chosen_3gl};

#define CHECK(what) do { if (!(what)) { printf("%s is wrong\n", #what); exit(1); } } while (0)

static int calls_back(int number, void *with) { return number + two_3gl(*(int *)with); }

__attribute__((noinline, target("avx"))) static void wide(double a) {
    __m256d result = wide_3gl((__m256d){a, a + 1, a + 2, a + 3}, (__m256d){2, 3, 4, 5});
    for (int i = 0; i < 4; i++) CHECK(result[i] == (a + i) * (i + 2));
}

__attribute__((noinline)) static void jumps(void) {
    jmp_buf here;
    if (setjmp(here) == 0) jump_3gl(&here, 1);
}

static long times;

static void *all(void *unused) {
    for (long i = 0; i < times; i++) {
        CHECK(twelve_3gl(i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, i) == i + 2 + 6 + 12 + 20 + 30 + 42 + 56 + 72 + 90 + 110 + 12 * i);
        CHECK(doubles_3gl(i, 1, 2, 3, 4, 5, 6, 7, 8, 9) == i + 2 + 6 + 12 + 20 + 30 + 42 + 56 + 72 + 90);
        struct large of = {{i, 1, 2, 3, 4, 5, 6, 7, 8}};
        of = large_3gl(of, 3);
        CHECK(of.all[0] == 3 * i && of.all[8] == 24);
        struct pair pair = pair_3gl((struct pair){2, 3}, (struct mixed){i, 1.5});
        CHECK(pair.real == 3 && pair.imaginary == 3 + i);
        struct mixed mixed = mixed_3gl(i, 5);
        CHECK(mixed.number == i + 1 && mixed.fraction == 2.5);
        CHECK(longest_3gl(i, 0.5f) == i / 2.0L);
        CHECK(sum_3gl(7, 1, 2.5, 3, 4.5, 5, 6.5, (int)i) == 22.5 + i);
        int with = 4;
        CHECK(back_3gl(calls_back, 3, &with) == 3 + 3 * 8);
        CHECK(table[0](5) == 10 && table[1](5) == 15 && chosen_3gl(2) == 6);
        CHECK(itself_3gl(5) == 22);
        CHECK(++variable_3gl > 7);
        if (__builtin_cpu_supports("avx")) wide(i);
        jumps();
    }
    return unused;
}

int main(int count, char **arguments) {
    times = atol(arguments[1]);
    const char *mode = count > 2 ? arguments[2] : "";
    CHECK(table[0] == two_3gl && pointer_3gl() == two_3gl);
    void *later = dlsym(RTLD_DEFAULT, "two_3gl");
    CHECK(later == (void *)two_3gl);
    Dl_info found;
    CHECK(dladdr((void *)two_3gl, &found) && strstr(found.dli_fname, "called.so") && !strcmp(found.dli_sname, "two_3gl"));
    CHECK(((int (*)(int))later)(8) == 16);
    if (!strcmp(mode, "threads")) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++) CHECK(!pthread_create(&threads[i], NULL, all, NULL));
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
        times *= 4;
    } else if (!strcmp(mode, "fork")) {
        if (fork() == 0) {
            all(NULL);
            exit(0);
        }
        wait(NULL);
    } else {
        all(NULL);
    }
    printf("done %ld\n", times);
    return 0;
}
