/* streams: a thread forks while another flushes every stream, and waits for a third, which reads a stream and gets storage
 * under that stream's lock (glibc's bug 19431, made certain):
 *
 *   reader   has its stream                        gets storage
 *   flusher  has the list of streams               waits for the reader's stream
 *   forker   has what fork takes before that list  waits for the list of streams
 *
 * Each waits until the kernel shows that the one before it sleeps. A signal ends an endless wait after a minute.
 * With the word `allocating`, handlers of fork get storage, too. */
#include "waits.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 20, LARGE = 300000 };

static atomic_int reader_has, flusher, forker, wrong;

static void get_storage(void) {
    for (int i = 1; i <= 4; i++) {
        char *volatile block = malloc((size_t)i * LARGE / 4);
        if (!block) wrong++;
        free(block);
    }
}

/* The stream's read function, called with its lock held. */
static ssize_t fill(void *cookie, char *bytes, size_t length) {
    (void)cookie;
    if (!length) return 0;
    reader_has = 1;
    wait_for_sleep_of(&flusher);
    wait_for_sleep_of(&forker);
    get_storage();
    *bytes = 'x';
    return 1;
}

static void *reading(void *stream) {
    if (getc(stream) != 'x') wrong++;
    return NULL;
}

static void *flushing(void *unused) {
    while (!reader_has) sched_yield();
    flusher = own_number();
    if (fflush(NULL)) wrong++;
    return unused;
}

static void *forking(void *unused) {
    wait_for_sleep_of(&flusher);
    forker = own_number();
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        get_storage();
        exit(fflush(NULL) ? 18 : 17);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 17) wrong++;
    return unused;
}

int main(int count, char **words) {
    alarm(60);
    if (count > 1 && !strcmp(words[1], "allocating")) pthread_atfork(get_storage, get_storage, get_storage);
    for (int i = 0; i < ROUNDS; i++) {
        FILE *stream = fopencookie(NULL, "r", (cookie_io_functions_t){.read = fill});
        pthread_t threads[3];
        reader_has = flusher = forker = 0;
        if (!stream || pthread_create(&threads[0], NULL, reading, stream) || pthread_create(&threads[1], NULL, flushing, NULL) ||
            pthread_create(&threads[2], NULL, forking, NULL))
            return 3;
        for (int k = 0; k < 3; k++) pthread_join(threads[k], NULL);
        fclose(stream);
    }
    printf("%d forks, %d wrong\n", ROUNDS, (int)wrong);
    return 0;
}
