/* A library for RTLD_DEEPBIND: the program frees the library's storage, and the reverse. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *deep_who(void);
void *below_get(size_t size);

static char *early;
static void *kept;

__attribute__((constructor)) static void begin(void) {
    early = strdup("from a constructor");
    kept = below_get(5000);
}

__attribute__((destructor)) static void end(void) { free(kept); }

char *deep_early(void) {
    char *result = early;
    early = NULL;
    return result;
}

/* Its own dependency's, whatever the program has under that name. */
const char *deep_found(void) { return deep_who(); }

/* One block of each kind of request, from 1 to 40000 bytes. */
void *deep_get(int kind, size_t size) {
    void *result = NULL;
    char *text = NULL;
    switch (kind % 8) {
    case 0: return malloc(size);
    case 1: return calloc(1, size);
    case 2: return posix_memalign(&result, 64, size) ? NULL : result;
    case 3: return aligned_alloc(32, (size + 31) / 32 * 32);
    case 4: return realloc(malloc(1), size);
    case 5: return asprintf(&text, "%*s", (int)size, "x") < 0 ? NULL : text;
    case 6: return strdup("duplicated by a library that is deeply bound, and long enough");
    default: return below_get(size);
    }
}

void deep_free(void *block) { free(block); }

static void *work(void *argument) {
    for (int i = 0; i < 1000; i++) free(deep_get(i, 1 + i % 3000));
    return argument;
}

/* Threads, a lock, and a child that becomes another program, all of the library's own. */
int deep_life(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, work, NULL)) return 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    pthread_mutex_lock(&lock);
    pid_t child = fork();
    if (!child) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(9);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return 2;
    pthread_mutex_unlock(&lock);
    return status;
}
