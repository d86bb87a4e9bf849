/* What most programs do with the preload library: `cargo xtask layout` sees which of its functions that takes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
/* What C++ programs call. */
void *_Znwm(size_t);
void *_Znam(size_t);
void _ZdlPv(void *);
void _ZdlPvm(void *, size_t);
void _ZdaPv(void *);
void *_ZnwmRKSt9nothrow_t(size_t, const void *);
void *_ZnamRKSt9nothrow_t(size_t, const void *);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *blocks[400];
static void *work(void *kept) {
    for (int turn = 0; turn < 20; turn++) {
        for (int i = 0; i < 400; i++) {
            size_t size = i % 40 == 39 ? (size_t)i << 10 : (size_t)i * 5;
            char *got = i % 3 ? malloc(size) : calloc(1, size + 1);
            got = realloc(got, size * 2 + 1);
            memset(got, 1, size);
            pthread_mutex_lock(&lock);
            void *before = blocks[i];
            blocks[i] = got;
            pthread_mutex_unlock(&lock);
            free(before);
        }
    }
    void *aligned = aligned_alloc(64, 640);
    free(aligned);
    return kept;
}
/* The first request comes before the library's own start, as from the constructors of other libraries. */
static void before_start(int count, char **words) {
    if (count > 1 && strcmp(words[1], "calloc") == 0) free(calloc(1, 100));
    if (count > 1 && strcmp(words[1], "new") == 0) _ZdlPv(_Znwm(100));
    if (count == 1) free(malloc(100));
}
__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **) = before_start;
static void in_cpp(void) {
    _ZdlPv(_Znwm(100));
    _ZdlPvm(_Znwm(5000), 5000);
    _ZdaPv(_Znam(100));
    _ZdaPv(_Znam(5000));
    _ZdlPv(_ZnwmRKSt9nothrow_t(100, ""));
    _ZdaPv(_ZnamRKSt9nothrow_t(100, ""));
}
static void *wait_for_lock(void *of) {
    pthread_mutex_lock(of);
    pthread_mutex_unlock(of);
    return of;
}
/* Another thread waits for the lock, and is not joined. */
static void contend(int kind) {
    static pthread_mutex_t locks[3];
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, kind);
    pthread_mutex_init(&locks[kind], &attributes);
    pthread_mutex_lock(&locks[kind]);
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_lock, &locks[kind]);
    usleep(20000);
    pthread_mutex_unlock(&locks[kind]);
    if (kind) pthread_join(thread, NULL);
    else pthread_detach(thread);
}
/* What one of three programs does. */
static void seldom(void) {
    void *page = NULL;
    if (posix_memalign(&page, 4096, 128 << 10)) abort();
    free(page);
    free(memalign(4096, 5000));
    free(reallocarray(NULL, 100, 10));
    free(realloc(malloc(300 << 10), 600 << 10));
    struct sigaction action = {.sa_handler = SIG_IGN};
    sigaction(SIGUSR1, &action, NULL);
    signal(SIGUSR2, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    prctl(PR_SET_NAME, "program");
    pthread_atfork(NULL, NULL, NULL);
    in_cpp();
    void *mapped = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(mapped, 65536);
    mapped = mmap64(NULL, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(mapped, 65536);
    pthread_key_t key;
    pthread_key_create(&key, free);
    void *library = dlopen("libm.so.6", RTLD_NOW);
    if (library) dlclose(library);
    syscall(SYS_getppid);
    void *usable = malloc(20);
    if (malloc_usable_size(usable) < 20) abort();
    free(usable);
    if (pthread_mutex_trylock(&lock) == 0) pthread_mutex_unlock(&lock);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    pthread_t small;
    if (pthread_create(&small, &attributes, work, NULL) == 0) pthread_join(small, NULL);
    contend(PTHREAD_MUTEX_NORMAL);
    contend(PTHREAD_MUTEX_RECURSIVE);
}
/* What a child does that a shell starts; before that, where the library is. */
static int only_start(void) {
    Dl_info library;
    if (!dladdr(dlsym(RTLD_DEFAULT, "malloc"), &library)) return 1;
    printf("%p\n", library.dli_fbase);
    free(malloc(100));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) execlp("true", "true", NULL);
    waitpid(child, NULL, 0);
    return 0;
}
int main(int count, char **words) {
    if (count > 1) return strcmp(words[1], "start") == 0 ? only_start() : 0;
    pthread_t threads[2];
    work(NULL);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    char *large = malloc(40 << 20);
    memset(large, 1, 1 << 20);
    free(large);
    seldom();
    fflush(NULL);
    for (int turn = 0; turn < 2; turn++) {
        pid_t child = fork();
        if (child == 0) {
            free(malloc(100));
            if (turn) execlp("true", "true", NULL);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    return 0;
}
