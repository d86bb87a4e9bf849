/* Requests whose bytes are known: for samples of them.
 *
 *   known mix N             N requests of all functions and sizes, freed in another order; some stay
 *   known threads N         blocks that one thread requests and another one frees
 *   known realloc N         blocks that change their sizes again and again; all stay
 *   known fork              a parent and its child, each with blocks of its own
 *   known exec PROGRAM...   requests, then another program
 *   known calls             requests by `inner`, called by `outer`
 *   known deep              requests below 300 calls
 *   known grown             the most is in use after the last sample, when the first of two large blocks is freed
 *
 * Prints the bytes that were requested and those that stay. Its own output requests nothing.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t state = 88172645463325252u;

static size_t below(size_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state % limit);
}

static void say(const char *what, uint64_t total, uint64_t live)
{
    char line[128];
    int length = snprintf(line, sizeof line, "%s %llu %llu\n", what, (unsigned long long)total, (unsigned long long)live);
    if (write(1, line, (size_t)length) != length)
        _exit(2);
}

/* Mostly small, some large: 1 to 64 KiB, and now and then up to 1 MiB. */
static size_t some_size(void)
{
    size_t kind = below(100);
    if (kind < 60)
        return 1 + below(128);
    if (kind < 90)
        return 1 + below(2048);
    if (kind < 99)
        return 1 + below(40000);
    return 1 + below(1 << 20);
}

static void *some_function(size_t size)
{
    void *block = NULL;
    switch (below(6)) {
    case 0:
        return calloc(1, size);
    case 1:
        return posix_memalign(&block, 64, size) == 0 ? block : NULL;
    case 2:
        return realloc(NULL, size);
    default:
        return malloc(size);
    }
}

enum { SLOTS = 512 };

static void mix(long count)
{
    static char *blocks[SLOTS];
    static size_t sizes[SLOTS];
    uint64_t total = 0, live = 0;
    for (long i = 0; i < count; i++) {
        size_t at = below(SLOTS), size = some_size();
        live -= sizes[at];
        free(blocks[at]);
        blocks[at] = some_function(size);
        if (!blocks[at])
            _exit(3);
        blocks[at][0] = blocks[at][size - 1] = 1;
        sizes[at] = size;
        total += size;
        live += size;
    }
    say("mix", total, live);
}

enum { QUEUE = 1024 };
static char *queue[QUEUE];
static long given, taken;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *freer(void *argument)
{
    for (long left = *(long *)argument; left > 0; left--) {
        pthread_mutex_lock(&lock);
        while (taken == given)
            pthread_cond_wait(&changed, &lock);
        char *block = queue[taken % QUEUE];
        taken++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
        free(block);
    }
    return NULL;
}

static void threads(long count)
{
    enum { STAY = 200 };
    uint64_t total = 0, live = 0;
    pthread_t other;
    long freed = count - STAY;
    if (pthread_create(&other, NULL, freer, &freed) != 0)
        _exit(3);
    for (long i = 0; i < count; i++) {
        size_t size = some_size() % 50000 + 1;
        char *block = malloc(size);
        block[0] = 1;
        total += size;
        if (i < STAY) {
            live += size;
            continue;
        }
        pthread_mutex_lock(&lock);
        while (given - taken == QUEUE)
            pthread_cond_wait(&changed, &lock);
        queue[given % QUEUE] = block;
        given++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    pthread_join(other, NULL);
    say("threads", total, live);
}

static void reallocs(long count)
{
    static char *blocks[SLOTS];
    static size_t sizes[SLOTS];
    uint64_t live = 0;
    for (long i = 0; i < count; i++) {
        size_t at = below(SLOTS), size = some_size();
        char *block = realloc(blocks[at], size);
        if (!block)
            _exit(3);
        size_t kept = sizes[at] < size ? sizes[at] : size;
        if (kept > 0 && (block[0] != (char)at || block[kept - 1] != (char)at))
            _exit(4);
        memset(block, (int)at, size);
        blocks[at] = block;
        live += size - sizes[at];
        sizes[at] = size;
    }
    say("realloc", 0, live);
}

static void stay(uint64_t bytes, size_t each)
{
    for (uint64_t done = 0; done < bytes; done += each)
        ((char *)malloc(each))[0] = 1;
}

static void forks(void)
{
    stay(20 << 20, 100);
    pid_t child = fork();
    if (child == 0) {
        stay(10 << 20, 1000);
        _exit(0);
    }
    stay(5 << 20, 100);
    int status;
    waitpid(child, &status, 0);
    say("fork", 25 << 20, (uint64_t)child);
}

__attribute__((noinline)) void *inner(size_t size)
{
    char *block = malloc(size);
    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}

__attribute__((noinline)) void *outer(size_t size)
{
    char *block = inner(size);
    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}

static void calls(void)
{
    char line[128];
    for (int i = 0; i < 20000; i++)
        ((char *)outer(1000))[0] = 1;
    int length = snprintf(line, sizeof line, "calls %llu %llu\n", (unsigned long long)(uintptr_t)inner,
                          (unsigned long long)(uintptr_t)outer);
    if (write(1, line, (size_t)length) != length)
        _exit(2);
}

__attribute__((noinline)) static int deeper(int depth)
{
    if (depth == 0) {
        stay(8 << 20, 1000);
        return 0;
    }
    int result = deeper(depth - 1);
    __asm__ volatile("" : "+r"(result));
    return result + 1;
}

/* Each large block is certainly a sample, the small ones are none with a mean of some MiB. */
static void grown(void)
{
    enum { LARGE = 256 << 20, SMALL = 100, BLOCKS = 20 };
    char *first = inner(LARGE), *second = outer(LARGE);
    for (int i = 0; i < BLOCKS; i++)
        ((char *)malloc(SMALL))[0] = 1;
    first[0] = second[0] = 1;
    free(first);
    say("grown", 2 * LARGE + BLOCKS * SMALL, LARGE + BLOCKS * SMALL);
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "";
    long number = count > 2 ? atol(arguments[2]) : 0;
    if (strcmp(mode, "mix") == 0)
        mix(number);
    else if (strcmp(mode, "threads") == 0)
        threads(number);
    else if (strcmp(mode, "realloc") == 0)
        reallocs(number);
    else if (strcmp(mode, "fork") == 0)
        forks();
    else if (strcmp(mode, "exec") == 0) {
        stay(20 << 20, 100);
        execv(arguments[2], arguments + 2);
        return 3;
    } else if (strcmp(mode, "calls") == 0)
        calls();
    else if (strcmp(mode, "deep") == 0)
        say("deep", (uint64_t)deeper(300), 0);
    else if (strcmp(mode, "grown") == 0)
        grown();
    else
        return 1;
    return 0;
}
