/* owners MAPPED GOT END: maps MAPPED bytes past the heap, gets GOT from it, and touches all of them. The mapping is kept,
 * unmapped or advised away; `thread` has a thread touch as much of its stack in place of a mapping, and keep it. The storage is
 * freed if it is not to be kept. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static long mapped;
static pthread_barrier_t touched;

static void *touch(void *unused) {
    char *stack = __builtin_alloca(mapped);
    /* From the top: a stack grows down, and its guard is below. */
    for (long at = mapped - 1; at >= 0; at -= 4096) ((volatile char *)stack)[at] = 1;
    pthread_barrier_wait(&touched);
    for (;;) pause();
    return unused;
}

int main(int count, char **words) {
    if (count < 4) return 2;
    mapped = atol(words[1]);
    long got = atol(words[2]);
    const char *end = words[3];
    char *past = 0;
    if (!strcmp(end, "thread")) {
        pthread_attr_t attributes;
        pthread_t thread;
        pthread_barrier_init(&touched, 0, 2);
        pthread_attr_init(&attributes);
        if (pthread_attr_setstacksize(&attributes, mapped + (1 << 20))) return 3;
        if (pthread_create(&thread, &attributes, touch, 0)) return 3;
        pthread_barrier_wait(&touched);
    } else {
        past = mmap(0, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (past == MAP_FAILED) return 3;
        memset(past, 1, mapped);
    }
    void **last = 0;
    for (long bytes = 0; bytes < got; bytes += 1000) {
        void **block = malloc(1000);
        if (!block) return 3;
        memset(block, 1, 1000);
        *block = last;
        last = block;
    }
    if (!strcmp(end, "unmapped") && munmap(past, mapped)) return 4;
    if (!strcmp(end, "advised") && madvise(past, mapped, MADV_DONTNEED)) return 4;
    if (!strcmp(end, "freed")) {
        while (last) {
            void **next = *last;
            free(last);
            last = next;
        }
    }
    return 0;
}
