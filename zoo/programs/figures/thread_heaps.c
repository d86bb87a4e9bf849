/* Heaps of threads, under THREADHEAP(4K,4K): what the program itself counts. Each request gets a segment of a page to itself. */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, ELEMENTS = 30 };

static pthread_barrier_t all;
static atomic_ulong gets, frees, used, peak, largest, allocated, freed, left;
static void *handed_on;

static void *get(unsigned long *own) {
    char *address = malloc(4000);
    memset(address, 1, 4000);
    /* An element's block has eight bytes more than the element. */
    unsigned long bytes = malloc_usable_size(address) + 8;
    *own += bytes;
    used += bytes;
    if (*own > largest) largest = *own;
    gets++;
    allocated++;
    return address;
}

static void give_back(void *address) {
    used -= malloc_usable_size(address) + 8;
    free(address);
    frees++;
}

static void *run(void *number) {
    void *elements[ELEMENTS];
    unsigned long own = 0;
    int count = ELEMENTS - (int)(size_t)number;
    for (int at = 0; at < count; at++) elements[at] = get(&own);
    pthread_barrier_wait(&all);
    if (number == 0) peak = used;
    pthread_barrier_wait(&all);
    for (int at = 1; at < count; at++) give_back(elements[at]);
    if ((size_t)number == 1) {
        handed_on = elements[0];
        left++;
    } else {
        give_back(elements[0]);
    }
    return NULL;
}

static void *nothing(void *unused) { return unused; }

int main(void) {
    pthread_t threads[THREADS], last;
    pthread_barrier_init(&all, NULL, THREADS);
    for (size_t at = 0; at < THREADS; at++) pthread_create(&threads[at], NULL, run, (void *)at);
    for (int at = 0; at < THREADS; at++) pthread_join(threads[at], NULL);
    give_back(handed_on);
    /* When it ends, the heap of which nothing is in use any more ends. */
    pthread_create(&last, NULL, nothing, NULL);
    pthread_join(last, NULL);
    freed = (unsigned long)allocated;
    printf("gets %lu\nfrees %lu\npeak %lu\nlargest %lu\nallocated %lu\nfreed %lu\nleft %lu\n", (unsigned long)gets,
           (unsigned long)frees, (unsigned long)peak, (unsigned long)largest, (unsigned long)allocated,
           (unsigned long)freed, (unsigned long)left);
    return 0;
}
