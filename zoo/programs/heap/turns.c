/* Ten thousand threads, one after the other; each leaves a block to the next. Prints its largest resident size
 * on standard error. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void *left;

static void *work(void *argument) {
    free(left);
    void *held[50];
    for (int i = 0; i < 50; i++) memset(held[i] = malloc((size_t)i * 60), 1, (size_t)i * 60);
    for (int i = 0; i < 50; i++) free(held[i]);
    memset(left = malloc(3000), 2, 3000);
    return argument;
}

int main(void) {
    for (int i = 0; i < 10000; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, NULL)) return 1;
        pthread_join(thread, NULL);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    fprintf(stderr, "%ld\n", usage.ru_maxrss);
    printf("10000 threads\n");
    return 0;
}
