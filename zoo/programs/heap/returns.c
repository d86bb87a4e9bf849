/* Emptied increments: prints whether the pages of freed storage are still mapped. Arguments: bytes of
 * an element, their number, and the thread that frees: the same, another one, or "later" the same, which then goes on with small
 * requests until half is gone, or it has waited for that in vain; "few" the same, with a hundred large requests,
 * and "rare" another thread, with small ones for two seconds. (An increment with a block in use stays.) */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char **elements;
static long number;

static void *give_all(void *argument) {
    for (long i = 0; i < number; i++) free(elements[i]);
    return argument;
}

static long mapped(void) {
    long count = 0;
    unsigned char resident;
    for (long i = 0; i < number; i++) {
        void *page = (void *)((uintptr_t)elements[i] & ~(uintptr_t)4095);
        if (mincore(page, 1, &resident) == 0) count++;
    }
    return count;
}

/* Two hundred requests in a second, which ready cells serve, until half is gone. */
static void *rare(void *argument) {
    for (int round = 0; round < 200 && (round % 10 != 0 || mapped() * 2 >= number); round++) {
        void *volatile small = malloc(200), *volatile other = malloc(2000);
        free(small);
        free(other);
        usleep(10000);
    }
    return argument;
}

int main(int count, char **words) {
    if (count < 4) return 2;
    size_t bytes = strtoul(words[1], NULL, 0);
    number = atol(words[2]);
    elements = mmap(NULL, (size_t)number * sizeof *elements, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static char line[200];
    setvbuf(stdout, line, _IOFBF, sizeof line);
    for (long i = 0; i < number; i++) memset(elements[i] = malloc(bytes), 1, bytes);
    long before = mapped();
    if (words[3][0] == 'o') {
        pthread_t thread;
        pthread_create(&thread, NULL, give_all, NULL);
        pthread_join(thread, NULL);
    } else {
        give_all(NULL);
    }
    int is_later = words[3][0] == 'l', is_few = words[3][0] == 'f', is_rare = words[3][0] == 'r';
    long after = mapped(), part = is_later || is_few || is_rare ? 2 : 4;
    if (is_rare) {
        pthread_t thread;
        pthread_create(&thread, NULL, rare, NULL);
        pthread_join(thread, NULL);
        after = mapped();
    }
    for (int round = 0; is_few && after * part >= number && round < 100; round++) {
        void *volatile large = malloc(100000);
        free(large);
        usleep(10000);
        after = mapped();
    }
    for (int round = 0; is_later && after * part >= number && round < 10000; round++) {
        for (int i = 0; i < 1000; i++) {
            void *volatile small = malloc(200);
            free(small);
        }
        usleep(1000);
        after = mapped();
    }
    printf("%s\n", before != number ? "WRONG" : after == number ? "kept" : after * part < number ? "returned" : "some kept");
    return 0;
}
