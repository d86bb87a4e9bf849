/* Switches in known numbers: each mode makes so many calls of so many kinds. What is read back or computed goes to standard output, so
   that a run under underbar can be compared with a plain one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int null;

static void writes(int times) {
    for (int i = 0; i < times; i++)
        if (write(null, "x", 1) != 1) abort();
}

static void *thread(void *times) {
    writes((int)(long)times);
    return NULL;
}

/* So many threads at a time, so often, 100 writes each. */
static void threads(int at_once, int rounds) {
    pthread_t all[64];
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < at_once; i++)
            if (pthread_create(&all[i], NULL, thread, (void *)100L)) abort();
        for (int i = 0; i < at_once; i++) pthread_join(all[i], NULL);
    }
}

static volatile sig_atomic_t handled;
static sigjmp_buf out;

static void handler(int number) {
    (void)number;
    handled++;
    writes(3);
}

static void jumper(int number) {
    (void)number;
    handled++;
    siglongjmp(out, 1);
}

/* A timer interrupts writes wherever they are. */
static void signals(void (*then)(int), int most) {
    struct sigaction action = {.sa_handler = then};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 200}, {0, 200}};
    setitimer(ITIMER_REAL, &often, NULL);
    if (sigsetjmp(out, 1) == 0 || handled < most) {
        while (handled < most) {
            writes(1);
            getppid();
            lseek(null, 0, SEEK_CUR);
        }
    }
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
}

static void *blocked(void *pipe) {
    char byte;
    ssize_t got = read(*(int *)pipe, &byte, 1);
    return (void *)got;
}

static void cancelled(void) {
    int ends[2];
    pthread_t one;
    void *result;
    if (pipe(ends)) abort();
    for (int i = 0; i < 20; i++) {
        pthread_create(&one, NULL, blocked, &ends[0]);
        if (i & 1) usleep(500);
        pthread_cancel(one);
        pthread_join(one, &result);
        if (result != PTHREAD_CANCELED) abort();
    }
    puts("cancelled");
}

static void vforked(void) {
    for (int i = 0; i < 10; i++) {
        pid_t child = vfork();
        if (child == 0) {
            writes(10);
            _exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status != 0) abort();
        writes(10);
    }
}

static void forked(void) {
    writes(100);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        writes(50);
        threads(2, 1);
        exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) abort();
    writes(100);
}

/* Two phases, of this thread and of one that lives through both: 1,000 writes, and then, when a byte has come, 70. */
static pthread_barrier_t between;

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

/* Holds the mutex until the first thread waits for it. */
static void hold(void) {
    char path[64], text[512], *end = NULL;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
    pthread_mutex_lock(&held);
    pthread_barrier_wait(&between);
    do {
        int file = open(path, O_RDONLY);
        ssize_t got = read(file, text, sizeof text - 1);
        text[got > 0 ? got : 0] = 0;
        end = strrchr(text, ')');
        close(file);
        sched_yield();
    } while (!end || end[2] != 'S');
    pthread_mutex_unlock(&held);
}

static void *both_phases(void *unused) {
    hold();
    writes(300);
    pthread_barrier_wait(&between);
    pthread_barrier_wait(&between);
    writes(20);
    return unused;
}

static void phases(void) {
    pthread_t one;
    char byte;
    pthread_barrier_init(&between, NULL, 2);
    if (pthread_create(&one, NULL, both_phases, NULL)) abort();
    pthread_barrier_wait(&between);
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    writes(700);
    pthread_barrier_wait(&between);
    printf("%d\n", (int)getpid());
    fflush(stdout);
    if (read(0, &byte, 1) < 0) abort();
    pthread_barrier_wait(&between);
    writes(50);
    pthread_join(one, NULL);
}

/* On how many processors a thread may run, and then the first one. */
static void *processors(void *who) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) abort();
    printf("%s %d\n", (const char *)who, CPU_COUNT(&set));
    return NULL;
}

static void affinity(void) {
    pthread_t one;
    if (pthread_create(&one, NULL, processors, "thread")) abort();
    pthread_join(one, NULL);
    processors("main");
}

/* Every kind of argument survives the stubs: numbers in registers and on the stack, floating point, and errno. */
static void arguments(void) {
    char text[64], more[8];
    for (int i = 0; i < 3; i++) {
        printf("%d %s %.3f %.3f %.3f %.3f %.3f %.3f %.3f %.3f %.3f %ld %ld %ld %ld\n", i, "text", 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5,
               8.5, 9.5, 1L, 2L, 3L, 4L);
        fflush(stdout);
    }
    int file = open("/dev/zero", O_RDONLY | O_CLOEXEC, 0600);
    printf("%d %d\n", fcntl(file, F_GETFD) == FD_CLOEXEC, (int)pread(file, text, sizeof text, 0));
    struct iovec two[2] = {{text, sizeof text}, {more, sizeof more}};
    printf("%d\n", (int)readv(file, two, 2));
    close(file);
    errno = 0;
    int result = (int)read(file, text, 1), error = errno;
    printf("%d %d\n", result, error == EBADF);
    errno = 7;
    getppid();
    error = errno;
    printf("%d\n", error);
    printf("%s\n", dlsym(RTLD_DEFAULT, "write") ? "write" : "none");
    void *(*map)(void *, size_t, int, int, int, long) = (void *(*)(void *, size_t, int, int, int, long))dlsym(RTLD_DEFAULT, "mmap");
    printf("%d\n", map(NULL, 4096, 3, 0x22, -1, 0) != (void *)-1);
}

/* A library that writes when it is started and when it is called, opened in each way; and the C library by its name. */
static void opened(const char *path, int how) {
    void *library = dlopen(path, how);
    if (!library) abort();
    int (*call)(int, int) = (int (*)(int, int))dlsym(library, "call_me");
    if (call(null, 100) != 100) abort();
    dlclose(library);
    void *c = dlopen("libc.so.6", RTLD_NOW);
    ssize_t (*by_handle)(int, const void *, size_t) = (ssize_t (*)(int, const void *, size_t))dlsym(c, "write");
    for (int i = 0; i < 10; i++)
        if (by_handle(null, "x", 1) != 1) abort();
    puts("opened");
}

int main(int count, char **words) {
    const char *mode = count > 1 ? words[1] : "";
    null = open("/dev/null", O_WRONLY);
    if (!strcmp(mode, "write")) {
        writes(10000);
    } else if (!strcmp(mode, "read")) {
        int file = open("/dev/zero", O_RDONLY);
        char record[80];
        for (int i = 0; i < 10478; i++)
            if (read(file, record, sizeof record) != 80) abort();
    } else if (!strcmp(mode, "flush")) {
        for (int i = 0; i < 10000; i++) {
            fputs("a line of some length\n", stdout);
            fflush(stdout);
        }
    } else if (!strcmp(mode, "puts")) {
        for (int i = 0; i < 10000; i++) puts("a line of some length");
    } else if (!strcmp(mode, "fread")) {
        FILE *file = fopen("/dev/zero", "r");
        char record[80];
        for (int i = 0; i < 10240; i++)
            if (fread(record, 1, sizeof record, file) != 80) abort();
        fclose(file);
    } else if (!strcmp(mode, "threads")) {
        threads(8, 25);
    } else if (!strcmp(mode, "many")) {
        threads(40, 3);
    } else if (!strcmp(mode, "signals")) {
        signals(handler, 500);
    } else if (!strcmp(mode, "jumps")) {
        signals(jumper, 500);
    } else if (!strcmp(mode, "cancelled")) {
        cancelled();
    } else if (!strcmp(mode, "vfork")) {
        vforked();
    } else if (!strcmp(mode, "fork")) {
        forked();
    } else if (!strcmp(mode, "arguments")) {
        arguments();
    } else if (!strcmp(mode, "opened")) {
        opened(words[2], RTLD_LAZY);
    } else if (!strcmp(mode, "deepbound")) {
        opened(words[2], RTLD_NOW | RTLD_DEEPBIND);
    } else if (!strcmp(mode, "affinity")) {
        affinity();
    } else if (!strcmp(mode, "phases")) {
        phases();
    } else if (!strcmp(mode, "killed")) {
        writes(1234);
        kill(getpid(), SIGKILL);
    } else {
        return 2;
    }
    return 0;
}
