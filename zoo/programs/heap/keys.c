/* Keys of threads: a key that was not made is refused, all 1,024 can be made, and threads work before, with and after them.
 * Their destructors get and free storage in all four rounds, however the thread ends. */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

static pthread_key_t keys[PTHREAD_KEYS_MAX], with_storage;
static _Atomic long rounds, wrong;

struct value {
    int round;
    unsigned char *block;
};

static void ends(void *argument) {
    struct value *value = argument;
    for (int i = 0; i < 500; i++)
        if (value->block[i] != 7) wrong++;
    free(value->block);
    memset(value->block = malloc(500), 7, 500);
    void *large = malloc(200000);
    free(large);
    rounds++;
    if (value->round++ < 3) {
        pthread_setspecific(with_storage, value);
    } else {
        free(value->block);
        free(value);
    }
}

static void *works(void *how) {
    struct value *value = malloc(sizeof *value);
    value->round = 0;
    memset(value->block = malloc(500), 7, 500);
    pthread_setspecific(with_storage, value);
    void *blocks[200];
    for (int i = 0; i < 200; i++) blocks[i] = malloc((size_t)i * 20);
    for (int i = 0; i < 200; i++) free(blocks[i]);
    if (*(char *)how == 'e') pthread_exit(how);
    if (*(char *)how == 'c') {
        pthread_cancel(pthread_self());
        pthread_testcancel();
    }
    if (*(char *)how == 'f') {
        pid_t child = fork();
        if (child == 0) return how;
        int status;
        waitpid(child, &status, 0);
        if (status != 0) wrong++;
    }
    return how;
}

static void threads(const char *when) {
    rounds = 0;
    char hows[] = "recf";
    for (int turn = 0; turn < 10; turn++)
        for (char *how = hows; *how; how++) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, works, how) != 0) wrong++;
            pthread_join(thread, NULL);
        }
    printf("%s: %ld rounds, %ld wrong\n", when, rounds, wrong);
}

static void *sets_none(void *unused) {
    static int any;
    /* Static keys that the program forgot to make are 0. */
    printf("key 0 set without being made: %d\n", pthread_setspecific(0, &any));
    printf("key 1 set without being made: %d\n", pthread_setspecific(1, &any));
    printf("key 0 has %p\n", pthread_getspecific(0));
    return unused;
}

int main(void) {
    pthread_t thread;
    setvbuf(stdout, NULL, _IONBF, 0);
    sets_none(NULL);
    pthread_create(&thread, NULL, sets_none, NULL);
    pthread_join(thread, NULL);
    int failed = pthread_key_create(&with_storage, ends);
    printf("the first key is made: %d, key %u\n", failed, with_storage);
    threads("with one key");
    int made = 1;
    static const int by_c11 = 700;
    while (made < by_c11 && pthread_key_create(&keys[made], NULL) == 0) made++;
    tss_t key;
    while (made < PTHREAD_KEYS_MAX && tss_create(&key, NULL) == thrd_success) keys[made++] = key;
    printf("%d keys, one more: %d, %d\n", made, pthread_key_create(&key, NULL),
           tss_create(&key, NULL) == thrd_error);
    threads("with all keys");
    for (int i = 1; i < made; i++) {
        if (pthread_setspecific(keys[i], &keys[i]) != 0) wrong++;
    }
    for (int i = 1; i < made; i++) {
        if (pthread_getspecific(keys[i]) != &keys[i]) wrong++;
        if (pthread_key_delete(keys[i]) != 0) wrong++;
    }
    threads("with one key again");
    return 0;
}
