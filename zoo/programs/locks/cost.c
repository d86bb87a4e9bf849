// cost KIND PAIRS: takes a free mutex of that kind PAIRS times, while there is another thread.
// cost busy ROUNDS: threads that hand a few mutexes on all the time.
// cost timed ROUNDS: threads that seldom wait, and then for long; prints how many nanoseconds the calls of pthread_mutex_lock took.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 8, MUTEXES = 4 };
static pthread_mutex_t some[MUTEXES] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                        PTHREAD_MUTEX_INITIALIZER};
static long rounds;

static void *pass(void *mutex)
{
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    return NULL;
}

static void *busy(void *number)
{
    unsigned state = (unsigned)(long)number * 7919u + 1u;
    for (long round = 0; round < rounds; round++) {
        state = state * 1664525u + 1013904223u;
        pthread_mutex_t *mutex = &some[(state >> 16) % MUTEXES];
        pthread_mutex_lock(mutex);
        sched_yield();
        pthread_mutex_unlock(mutex);
    }
    return NULL;
}

static unsigned long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ul + time.tv_nsec;
}

// A thread that loses its processor while it holds the mutex keeps all others waiting until it has one again.
static void *timed(void *mutex)
{
    unsigned long waited = 0;
    for (long round = 0; round < rounds; round++) {
        unsigned long began = now();
        pthread_mutex_lock(mutex);
        waited += now() - began;
        for (volatile int at = 0; at < 200; at++)
            ;
        pthread_mutex_unlock(mutex);
        for (volatile int at = 0; at < 100; at++)
            ;
    }
    return (void *)waited;
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    rounds = atol(arguments[2]);
    if (strcmp(arguments[1], "busy") == 0) {
        pthread_t threads[THREADS];
        for (long i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, busy, (void *)i);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        return 0;
    }
    if (strcmp(arguments[1], "timed") == 0) {
        pthread_t threads[2 * THREADS];
        unsigned long sum = 0;
        for (int i = 0; i < 2 * THREADS; i++)
            pthread_create(&threads[i], NULL, timed, &some[0]);
        for (int i = 0; i < 2 * THREADS; i++) {
            void *waited;
            pthread_join(threads[i], &waited);
            sum += (unsigned long)waited;
        }
        printf("%lu\n", sum);
        return 0;
    }
    pthread_mutexattr_t kind;
    pthread_mutex_t mutex, held = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, atoi(arguments[1]));
    pthread_mutex_init(&mutex, &kind);
    pthread_t other;
    pthread_mutex_lock(&held);
    pthread_create(&other, NULL, pass, &held);
    for (long round = 0; round < rounds; round++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    pthread_mutex_unlock(&held);
    pthread_join(other, NULL);
    return 0;
}
