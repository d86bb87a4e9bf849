/* Programs that are hard to sample. Each prints one line, the same with samples as without.
 *
 *   awkward varied N        requests 10 to 20 frames deep, with old return addresses in unused words
 *   awkward paced           the same in rounds: after each it writes a byte and waits for one
 *   awkward recursion       requests below 200 calls
 *   awkward handlers        requests in a signal handler that interrupts the program between requests, on its stack and on another one
 *   awkward filter          locks itself in: other calls of the kernel than a few kill it
 *   awkward filter-first    the same, before its first sample
 *   awkward made            requests by a function that is made at run time
 *   awkward _exit|kill      ends at once
 *   awkward exec PROGRAM... executes another program
 *   awkward threads         60 threads request, and end at the same time
 *   awkward fork            forks while two threads request; children request, too
 */
#define _GNU_SOURCE
#include "../filter.h"
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

#define APART __attribute__((noinline, noclone))

static void say(const char *what, unsigned long number)
{
    char line[64];
    int length = snprintf(line, sizeof line, "%s %lu\n", what, number);
    if (write(1, line, (size_t)length) != length)
        _exit(2);
}

static _Thread_local uint64_t state = 88172645463325252u;

static unsigned below(unsigned limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state % limit);
}

APART static unsigned long request(size_t size)
{
    volatile unsigned char *block = malloc(size);
    if (!block)
        _exit(3);
    block[0] = block[size - 1] = 1;
    unsigned long sum = block[0];
    free((void *)block);
    return sum;
}

static unsigned long some(int count)
{
    unsigned long sum = 0;
    for (int at = 0; at < count; at++)
        sum += request(16 + below(4000));
    return sum;
}

/* Leaves return addresses in words that later frames do not use: other ones each time. */
APART static unsigned litter_b(unsigned depth);
APART static unsigned litter_a(unsigned depth)
{
    volatile char room[48];
    room[0] = (char)depth;
    return depth == 0 ? (unsigned)room[0] : (below(2) ? litter_a(depth - 1) : litter_b(depth - 1)) + 1;
}
APART static unsigned litter_b(unsigned depth)
{
    volatile char room[112];
    room[0] = (char)depth;
    return depth == 0 ? (unsigned)room[0] : (below(2) ? litter_b(depth - 1) : litter_a(depth - 1)) + 2;
}

APART static unsigned long deeper(unsigned depth)
{
    volatile char room[600];
    room[0] = 1;
    if (depth == 0)
        return request(4000) + (unsigned long)room[0] - 1;
    litter_a(below(12));
    unsigned long sum = deeper(depth - 1);
    __asm__ volatile("" : "+r"(sum));
    return sum + (unsigned long)room[0] - 1;
}

static void varied(long count)
{
    unsigned long sum = 0;
    for (long at = 0; at < count; at++) {
        litter_a(40);
        sum += deeper(10 + below(10));
    }
    say("varied", sum);
}

static void paced(void)
{
    for (int round = 0; round < 6; round++) {
        for (int at = 0; at < 40; at++) {
            litter_a(40);
            deeper(10 + below(10));
        }
        char turn = '.';
        if (write(1, &turn, 1) != 1 || read(0, &turn, 1) != 1)
            _exit(2);
    }
}

APART static unsigned long recursion(unsigned depth)
{
    unsigned long sum = 0;
    if (depth == 0) {
        for (int at = 0; at < 20000; at++)
            sum += request(1000);
        return sum;
    }
    sum = recursion(depth - 1);
    __asm__ volatile("" : "+r"(sum));
    return sum + 1;
}

static volatile sig_atomic_t handled;

APART static void from_handler(int signal)
{
    (void)signal;
    for (size_t size = 16; size < 5000; size += 501)
        request(size);
    handled++;
}

/* The signal is held back during requests: an interrupted malloc may not be entered again. */
static void handlers(void)
{
    static char room[64 << 10];
    stack_t other = {.ss_sp = room, .ss_size = sizeof room};
    sigaltstack(&other, NULL);
    unsigned long well = 0;
    for (int flags = 0; flags <= 1; flags++) {
        struct sigaction action = {.sa_handler = from_handler, .sa_flags = SA_RESTART | (flags ? SA_ONSTACK : 0)};
        sigaction(SIGALRM, &action, NULL);
        sigset_t held;
        sigemptyset(&held);
        sigaddset(&held, SIGALRM);
        struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
        handled = 0;
        setitimer(ITIMER_REAL, &often, NULL);
        while (handled < 200) {
            sigprocmask(SIG_BLOCK, &held, NULL);
            unsigned long sum = some(3);
            sigprocmask(SIG_UNBLOCK, &held, NULL);
            raise(SIGALRM);
            for (volatile int spin = 0; spin < 1000; spin++)
                sum += (unsigned long)spin;
        }
        setitimer(ITIMER_REAL, &never, NULL);
        well++;
    }
    say("handlers", well);
}

/* What a program needs that requests storage and ends. */
static void lock_in(void)
{
    struct sock_filter rows[] = {NUMBER, ALLOW(SYS_write), ALLOW(SYS_exit), ALLOW(SYS_exit_group), ALLOW(SYS_brk),
                                 ALLOW(SYS_mmap), ALLOW(SYS_munmap), ALLOW(SYS_getrandom),
                                 OTHERWISE(SECCOMP_RET_KILL_PROCESS)};
    if (INSTALL(rows, 0))
        _exit(77);
}

/* A call that no unwind table knows: mov rax, rsi; sub rsp, 8; call rax; add rsp, 8; ret. */
static void made(void)
{
    static const unsigned char code[] = {0x48, 0x89, 0xf0, 0x48, 0x83, 0xec, 0x08, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3};
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        _exit(3);
    memcpy(page, code, sizeof code);
    if (mprotect(page, 4096, PROT_READ | PROT_EXEC) != 0)
        _exit(3);
    unsigned long (*call)(size_t, unsigned long (*)(size_t)) = (unsigned long (*)(size_t, unsigned long (*)(size_t)))page;
    unsigned long sum = 0;
    for (int at = 0; at < 20000; at++)
        sum += call(1000, request);
    say("made", sum);
}

static pthread_barrier_t barrier;

static void *one_of_many(void *argument)
{
    state += (uint64_t)(uintptr_t)argument;
    unsigned long sum = some(200);
    pthread_barrier_wait(&barrier);
    return (void *)(uintptr_t)sum;
}

static void threads(void)
{
    enum { THREADS = 60 };
    pthread_t all[THREADS];
    unsigned long sum = 0;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (uintptr_t at = 0; at < THREADS; at++)
        if (pthread_create(&all[at], NULL, one_of_many, (void *)at) != 0)
            _exit(3);
    for (int at = 0; at < THREADS; at++) {
        void *result;
        pthread_join(all[at], &result);
        sum += (unsigned long)(uintptr_t)result;
    }
    say("threads", sum);
}

static volatile int is_over;

static void *until_over(void *argument)
{
    state += (uint64_t)(uintptr_t)argument;
    while (!is_over) {
        some(10);
        usleep(1000);
    }
    return NULL;
}

static void forks(void)
{
    enum { CHILDREN = 20 };
    pthread_t others[2];
    unsigned long well = 0;
    for (uintptr_t at = 0; at < 2; at++)
        if (pthread_create(&others[at], NULL, until_over, (void *)(at + 1)) != 0)
            _exit(3);
    for (int at = 0; at < CHILDREN; at++) {
        some(20);
        pid_t child = fork();
        if (child == 0)
            _exit(some(500) == 500 ? 5 : 6);
        int status;
        if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5)
            well++;
    }
    is_over = 1;
    for (int at = 0; at < 2; at++)
        pthread_join(others[at], NULL);
    say("fork", well);
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "";
    if (strcmp(mode, "varied") == 0)
        varied(count > 2 ? atol(arguments[2]) : 0);
    else if (strcmp(mode, "paced") == 0)
        paced();
    else if (strcmp(mode, "recursion") == 0)
        say("recursion", recursion(200));
    else if (strcmp(mode, "handlers") == 0)
        handlers();
    else if (strcmp(mode, "filter") == 0) {
        unsigned long sum = some(2000);
        lock_in();
        say("filter", sum + some(2000));
    } else if (strcmp(mode, "filter-first") == 0) {
        lock_in();
        say("filter-first", some(2000));
    } else if (strcmp(mode, "made") == 0)
        made();
    else if (strcmp(mode, "_exit") == 0) {
        say("_exit", some(5000));
        _exit(9);
    } else if (strcmp(mode, "kill") == 0) {
        say("kill", some(5000));
        kill(getpid(), SIGKILL);
    } else if (strcmp(mode, "exec") == 0) {
        some(5000);
        execv(arguments[2], arguments + 2);
        return 3;
    } else if (strcmp(mode, "threads") == 0)
        threads();
    else if (strcmp(mode, "fork") == 0)
        forks();
    else
        return 1;
    return 0;
}
