/* How many pages of its stack a thread touches that gets one block and frees it: one stack after the other, each of them fresh.
   Prints the number of the last thread, which takes over what the threads before it left. */

#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 256 * 1024, THREADS = 20 };

static void *get_and_free(void *nothing) {
    volatile char *block = malloc(100);
    block[0] = 1;
    free((void *)block);
    return nothing;
}

int main(void) {
    long page = sysconf(_SC_PAGESIZE), touched = 0;
    for (int made = 0; made < THREADS; made++) {
        char *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
        pthread_attr_t attributes;
        pthread_t thread;
        unsigned char resident[SIZE / 4096];
        pthread_attr_init(&attributes);
        if (stack == MAP_FAILED || pthread_attr_setstack(&attributes, stack, SIZE)
            || pthread_create(&thread, &attributes, get_and_free, NULL) || pthread_join(thread, NULL)
            || mincore(stack, SIZE, resident)) {
            perror("shallow");
            return 1;
        }
        touched = 0;
        for (long at = 0; at < SIZE / page; at++)
            touched += resident[at] & 1;
        pthread_attr_destroy(&attributes);
        munmap(stack, SIZE);
    }
    printf("%ld\n", touched);
    return 0;
}
