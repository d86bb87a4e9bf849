/* deep_fork LIBRARY: forks while another thread opens with RTLD_DEEPBIND; the program itself, for which the loader changes nothing of
   its own. The child walks over all libraries, and opens one in this way, too.

   The walk over the libraries is this program's: in the other thread it pauses at its third library, until the fork is over
   or, if the fork waits for it, for a while. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NOT_YET, INSIDE, FORKED };
static atomic_int state;
static _Thread_local int is_opener;
static const char *path;

typedef int Visit(struct dl_phdr_info *, size_t, void *);
struct walk {
    Visit *visit;
    void *data;
    int count;
};

static int one(struct dl_phdr_info *info, size_t size, void *data) {
    struct walk *walk = data;
    if (is_opener && ++walk->count == 3 && atomic_load(&state) == NOT_YET) {
        atomic_store(&state, INSIDE);
        struct timespec while_it_waits = {0, 1000000};
        for (int i = 0; i < 50 && atomic_load(&state) != FORKED; i++) nanosleep(&while_it_waits, NULL);
    }
    return walk->visit(info, size, walk->data);
}

int dl_iterate_phdr(Visit *visit, void *data) {
    static int (*real)(Visit *, void *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "dl_iterate_phdr");
    struct walk walk = {visit, data, 0};
    return real(one, &walk);
}

static int count(struct dl_phdr_info *info, size_t size, void *data) {
    (void)info, (void)size;
    ++*(int *)data;
    return 0;
}

static void *opens(void *unused) {
    is_opener = 1;
    if (!dlopen(NULL, RTLD_NOW | RTLD_DEEPBIND)) printf("WRONG: %s\n", dlerror());
    /* If nothing walks over the libraries. */
    if (atomic_load(&state) == NOT_YET) atomic_store(&state, INSIDE);
    return unused;
}

int main(int words, char **word) {
    path = word[words - 1];
    pthread_t opener;
    pthread_create(&opener, NULL, opens, NULL);
    while (atomic_load(&state) == NOT_YET);
    pid_t child = fork();
    if (!child) {
        /* The child is ended if it waits for ever. */
        alarm(20);
        int libraries = 0;
        dl_iterate_phdr(count, &libraries);
        void *library = dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
        void (*give)(void *) = library ? (void (*)(void *))dlsym(library, "below_free") : NULL;
        if (give) give(malloc(100));
        _exit(libraries > 2 && give ? 0 : 1);
    }
    atomic_store(&state, FORKED);
    int status = 0;
    waitpid(child, &status, 0);
    pthread_join(opener, NULL);
    printf(status ? "WRONG: %x\n" : "done\n", status);
    return 0;
}
