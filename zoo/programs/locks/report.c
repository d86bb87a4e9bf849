// Two locks with waits that this program arranges, one thread after the other, so that the result is certain:
// each held by a sleeper while another thread waits, and each held while the other is waited for.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t second_lock = PTHREAD_MUTEX_INITIALIZER;

struct wish {
    pthread_mutex_t *held, *wanted;
    atomic_int is_near;
};

__attribute__((noinline)) void *wanting(void *argument) {
    struct wish *wish = argument;
    if (wish->held)
        pthread_mutex_lock(wish->held);
    atomic_store(&wish->is_near, 1);
    pthread_mutex_lock(wish->wanted);
    pthread_mutex_unlock(wish->wanted);
    if (wish->held)
        pthread_mutex_unlock(wish->held);
    return NULL;
}

__attribute__((noinline)) void holding(pthread_mutex_t *held, pthread_mutex_t *wanted) {
    struct wish wish = {held, wanted, 0};
    struct timespec moment = {0, 1000000}, while_others_wait = {0, 60000000};
    pthread_t thread;
    pthread_mutex_lock(wanted);
    if (pthread_create(&thread, NULL, wanting, &wish))
        return;
    while (!atomic_load(&wish.is_near))
        nanosleep(&moment, NULL);
    nanosleep(&while_others_wait, NULL);
    pthread_mutex_unlock(wanted);
    pthread_join(thread, NULL);
}

int main(void) {
    for (int round = 0; round < 4; round++) {
        holding(NULL, &first_lock);
        holding(NULL, &second_lock);
    }
    holding(&first_lock, &second_lock);
    holding(&second_lock, &first_lock);
    puts("done");
    return 0;
}
