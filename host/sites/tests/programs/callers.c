// Ways to reach `take`: the first word says which.
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

void take(void);
volatile int sink;

static inline __attribute__((always_inline)) void inlined_twice(int x) {
  sink += x;
  take();
  sink += x;
}

__attribute__((noinline)) int leaf(int a, int b, int c) {
  inlined_twice(a + b + c);
  return sink + a;
}

__attribute__((noinline)) int saves(int *values, int count) {
  int a = values[0], b = values[1], c = values[2], d = values[3];
  int result = leaf(a, b, c);
  for (int at = 0; at < count; at++)
    result += a * b + c * d + leaf(at, b, d);
  return result + a + b + c + d;
}

__attribute__((noinline)) int moves(int count) {
  int *values = alloca(count * sizeof *values);
  memset(values, count, count * sizeof *values);
  return saves(values, 2) + values[1];
}

__attribute__((noinline)) int recurse(int depth) {
  volatile char filled[48];
  memset((char *)filled, depth, sizeof filled);
  if (depth == 0)
    return moves(9);
  return recurse(depth - 1) + filled[7];
}

static int compare(const void *a, const void *b) {
  moves(8);
  return *(const int *)a - *(const int *)b;
}

static void handler(int signal) { moves(signal); }

static void *thread(void *unused) {
  recurse(3);
  return unused;
}

int main(int count, char **words) {
  const char *how = count > 1 ? words[1] : "";
  if (!strcmp(how, "plain"))
    moves(10);
  if (!strcmp(how, "recurse"))
    recurse(200);
  if (!strcmp(how, "deep"))
    recurse(2000);
  if (!strcmp(how, "callback")) {
    int values[] = {3, 2, 1};
    qsort(values, 3, sizeof *values, compare);
  }
  if (!strcmp(how, "signal") || !strcmp(how, "altstack")) {
    struct sigaction action = {.sa_handler = handler};
    if (how[0] == 'a') {
      stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
      sigaltstack(&stack, 0);
      action.sa_flags = SA_ONSTACK;
    }
    sigaction(SIGUSR1, &action, 0);
    raise(SIGUSR1);
  }
  if (!strcmp(how, "thread")) {
    pthread_t other;
    pthread_create(&other, 0, thread, 0);
    pthread_join(other, 0);
  }
  return sink & 1;
}
