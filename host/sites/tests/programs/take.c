// Takes a sample of its caller as a sampler would: the registers at the call and the stack from there upwards; and the callers
// that the C library's own backtrace finds. Prints both, and waits for the end of its input, so that its mappings can be read.
#define _GNU_SOURCE
#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("hidden"))) unsigned long taken_registers[8];

__asm__(".text\n.globl take\n.type take, @function\ntake:\n"
        "  movq (%rsp), %rax\n  movq %rax, taken_registers+0(%rip)\n"
        "  leaq 8(%rsp), %rax\n  movq %rax, taken_registers+8(%rip)\n"
        "  movq %rbp, taken_registers+16(%rip)\n  movq %rbx, taken_registers+24(%rip)\n"
        "  movq %r12, taken_registers+32(%rip)\n  movq %r13, taken_registers+40(%rip)\n"
        "  movq %r14, taken_registers+48(%rip)\n  movq %r15, taken_registers+56(%rip)\n"
        "  jmp taken\n.size take, .-take\n");

__attribute__((noinline, visibility("hidden"))) void taken(void) {
  static int is_done;
  if (is_done++)
    return;
  const char *limit = getenv("MOST");
  size_t most = limit ? strtoul(limit, 0, 10) : 1 << 20;
  pthread_attr_t attributes;
  void *low;
  size_t size;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &low, &size);
  size_t left = (char *)low + size - (char *)taken_registers[1];
  // On a signal stack: its own bound, by which the test says so.
  const char *top = getenv("TOP");
  if (top || left > most)
    left = most;
  unsigned char *copy = malloc(left);
  memcpy(copy, (void *)taken_registers[1], left);
  static void *callers[4096];
  int count = backtrace(callers, 4096);
  for (int at = 0; at < 8; at++)
    printf("%lx ", taken_registers[at]);
  printf("\n");
  for (size_t at = 0; at < left; at++)
    printf("%02x", copy[at]);
  printf("\n");
  // The first one is in this function.
  for (int at = 1; at < count; at++)
    printf("%lx ", (unsigned long)callers[at]);
  printf("\n");
  fflush(stdout);
  while (getchar() != EOF) {
  }
}
