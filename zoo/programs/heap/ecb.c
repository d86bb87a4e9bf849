/* ECBs in a C program: ecb WHAT. Prints what it saw; without underbar every case prints "none". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <langinfo.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <locale.h>
#include <malloc.h>
#include <netdb.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <underbar/ecb.h>
#include <underbar/malloc31.h>
#include <unistd.h>

#define CHECK(what)                                             \
    do {                                                        \
        if (!(what)) {                                          \
            printf("line %d: %s\n", __LINE__, #what);           \
            exit(3);                                            \
        }                                                       \
    } while (0)

/* A buffer whose bytes depend on its address. */
static unsigned char *got(size_t bytes) {
    unsigned char *buffer = malloc(bytes);
    CHECK(buffer);
    for (size_t at = 0; at < bytes; at++) buffer[at] = (unsigned char)((uintptr_t)buffer / 16 + at);
    return buffer;
}

static int is_as_written(const unsigned char *buffer, size_t bytes) {
    for (size_t at = 0; at < bytes; at++)
        if (buffer[at] != (unsigned char)((uintptr_t)buffer / 16 + at)) return 0;
    return 1;
}

static underbar_ecb inside(const char *class_name) {
    underbar_ecb ecb = underbar_ecb_create(class_name);
    CHECK(ecb && underbar_ecb_enter(ecb) == 0);
    return ecb;
}

/* Writes over the storage that an ended ECB left, as the next ones do. */
static void overwrite(void) {
    underbar_ecb ecb = inside("OVER");
    for (int at = 0; at < 2000; at++) memset(malloc((size_t)at), 0xdb, (size_t)at);
    CHECK(underbar_ecb_end(ecb) == 0);
    ecb = inside("LIBRARY");
    for (int at = 0; at < 2000; at++) memset(malloc((size_t)at), 0xdb, (size_t)at);
    CHECK(underbar_ecb_end(ecb) == 0);
}

/* What the C library and the loader get for themselves in an ECB outlives it. */
static void library(const char *plugin) {
    underbar_ecb ecb = inside("LIBRARY");
    CHECK(setlocale(LC_ALL, "C.UTF-8") || setlocale(LC_ALL, "C"));
    struct addrinfo *found = NULL, hints = {.ai_flags = AI_NUMERICHOST};
    CHECK(getaddrinfo("127.0.0.1", "80", &hints, &found) == 0);
    void *library = dlopen(plugin, RTLD_NOW);
    CHECK(library);
    int (*counted)(void) = (int (*)(void))dlsym(library, "counted");
    CHECK(counted && counted() == 1);
    FILE *file = fopen("/proc/self/maps", "r");
    char line[100];
    CHECK(file && fgets(line, sizeof line, file));
    setenv("UNDERBAR_ZOO", "a value that is long enough for a block of its own", 1);
    CHECK(atexit(overwrite) == 0);
    CHECK(!dlopen("/no/such/library.so", RTLD_NOW));
    CHECK(underbar_ecb_end(ecb) == 0);
    overwrite();
    CHECK(strstr(dlerror(), "/no/such/library.so"));
    CHECK(nl_langinfo(CODESET) && strlen(setlocale(LC_ALL, NULL)) > 0);
    CHECK(found->ai_addrlen > 0);
    freeaddrinfo(found);
    CHECK(counted() == 2);
    CHECK(fgets(line, sizeof line, file));
    fclose(file);
    CHECK(!strncmp(getenv("UNDERBAR_ZOO"), "a value", 7));
    dlclose(library);
    puts("kept");
}

static void *in_thread(void *ecb) {
    CHECK(underbar_ecb_enter((underbar_ecb)(uintptr_t)ecb) == 0);
    return got(100);
}

/* A thread that ends inside has left; a child of a fork inside goes on, and so does its parent. */
static void forks(void) {
    underbar_ecb ecb = inside("FORK");
    unsigned char *before = got(300);
    pthread_t thread;
    void *other;
    CHECK(pthread_create(&thread, NULL, in_thread, (void *)(uintptr_t)ecb) == 0);
    CHECK(pthread_join(thread, &other) == 0);
    for (int child = 0; child < 50; child++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            CHECK(underbar_ecb_current() == ecb);
            unsigned char *here = got(200);
            CHECK(is_as_written(before, 300) && is_as_written(here, 200) && is_as_written(other, 100));
            underbar_ecb own = inside("CHILD");
            got(5000);
            CHECK(underbar_ecb_end(own) == 0);
            free(here);
            CHECK(underbar_ecb_end(ecb) == 0);
            _exit(0);
        }
        int status;
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
        got(40);
    }
    CHECK(is_as_written(before, 300) && is_as_written(other, 100));
    CHECK(underbar_ecb_end(ecb) == 0);
    puts("forked");
}

static volatile int go_on = 1;

static void *busy(void *ecb) {
    while (go_on) {
        CHECK(underbar_ecb_enter((underbar_ecb)(uintptr_t)ecb) == 0);
        for (int at = 0; at < 200; at++) free(got((size_t)at));
        CHECK(underbar_ecb_leave() == 0);
    }
    return NULL;
}

/* Forks while other threads are busy in the same ECB: the child may go on with it, and end it. */
static void forks_busy(void) {
    underbar_ecb ecb = underbar_ecb_create("BUSY");
    pthread_t threads[3];
    for (int at = 0; at < 3; at++) CHECK(pthread_create(&threads[at], NULL, busy, (void *)(uintptr_t)ecb) == 0);
    for (int child = 0; child < 100; child++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            CHECK(underbar_ecb_enter(ecb) == 0);
            for (int at = 0; at < 500; at++) got((size_t)at);
            CHECK(underbar_ecb_leave() == 0 && underbar_ecb_end(ecb) == 0);
            _exit(0);
        }
        int status;
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    }
    go_on = 0;
    for (int at = 0; at < 3; at++) CHECK(pthread_join(threads[at], NULL) == 0);
    CHECK(underbar_ecb_end(ecb) == 0);
    puts("forked");
}

static long resident(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%*d %ld", &pages) == 1);
    fclose(file);
    return pages * 4096;
}

/* One visit of a server with an event loop: all that it gets is freed, inside or outside. */
static void visit(underbar_ecb ecb, int kind) {
    void *all[30], *grown;
    CHECK(underbar_ecb_enter(ecb) == 0);
    for (int at = 0; at < 30; at++) {
        size_t size = kind == 2 ? 300000 : 600 * (size_t)(at + 1);
        CHECK(all[at] = malloc(size));
        memset(all[at], 1, 600);
        if (kind == 2) break;
    }
    if (kind != 0) CHECK(underbar_ecb_leave() == 0);
    for (int at = 0; at < (kind == 2 ? 1 : 30); at++) free(all[at]);
    if (kind == 0) CHECK(underbar_ecb_leave() == 0);
    if (kind != 3) return;
    CHECK(underbar_ecb_enter(ecb) == 0 && (grown = malloc(50)) && underbar_ecb_leave() == 0);
    for (size_t size = 97; size < 4000; size += 97) CHECK(grown = realloc(grown, size));
    free(grown);
}

/* An ECB that threads enter and leave for ever takes no more and more storage. */
static void flat(void) {
    for (int kind = 0; kind < 4; kind++) {
        underbar_ecb ecb = underbar_ecb_create("FLAT");
        for (int at = 0; at < 200; at++) visit(ecb, kind);
        long before = resident();
        for (int at = 0; at < 3000; at++) visit(ecb, kind);
        CHECK(resident() - before < 2 << 20);
        CHECK(underbar_ecb_end(ecb) == 0);
    }
    puts("flat");
}

static void *names(void *ecb) {
    while (go_on) {
        void *named[64];
        CHECK(underbar_ecb_enter((underbar_ecb)(uintptr_t)ecb) == 0);
        for (int at = 0; at < 64; at++) CHECK(underbar_ecb_tag(named[at] = malloc(100), &at, sizeof at) == 0);
        CHECK(underbar_ecb_leave() == 0);
        for (int at = 0; at < 64; at++) free(named[at]);
    }
    return NULL;
}

/* Forks while a thread outside frees buffers with names: the child may go on with the ECB, and end it. */
static void forks_names(void) {
    underbar_ecb ecb = underbar_ecb_create("NAMES");
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, names, (void *)(uintptr_t)ecb) == 0);
    for (int child = 0; child < 200; child++) {
        CHECK(underbar_ecb_enter(ecb) == 0);
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            alarm(20);
            CHECK(underbar_ecb_leave() == 0 && underbar_ecb_enter(ecb) == 0);
            int name = 7;
            void *named = got(100);
            CHECK(underbar_ecb_tag(named, "CHILD", 5) == 0 && underbar_ecb_locate("CHILD", 5, NULL) == named);
            free(named);
            underbar_ecb_locate(&name, sizeof name, NULL);
            CHECK(underbar_ecb_end(ecb) == 0);
            _exit(0);
        }
        CHECK(underbar_ecb_leave() == 0);
        int status;
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    }
    go_on = 0;
    CHECK(pthread_join(thread, NULL) == 0 && underbar_ecb_end(ecb) == 0);
    puts("forked");
}

/* Frees a buffer twice: outside, or inside with another one between. */
static void twice(size_t size, int is_outside) {
    underbar_ecb ecb = inside("TWICE");
    void *buffer = malloc(size), *other = malloc(size);
    if (is_outside) CHECK(underbar_ecb_leave() == 0);
    free(buffer);
    free(other);
    free(buffer);
    printf("not noticed: %zu\n", size);
    (void)ecb;
}

/* A process that locks itself in: what the C library gets must not end with an ECB. */
static void sandboxed(int is_after_the_first) {
    if (is_after_the_first) CHECK(underbar_ecb_end(underbar_ecb_create("BEFORE")) == 0);
    struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {1, &all};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
    for (int round = 0; round < 3; round++) {
        errno = 0;
        underbar_ecb ecb = underbar_ecb_create("SANDBOX");
        CHECK(is_after_the_first ? ecb != 0 : ecb == 0 && errno == ENOMEM);
        if (ecb) CHECK(underbar_ecb_enter(ecb) == 0);
        setenv("UNDERBAR_ZOO", "a value that is long enough for a block of its own", 1);
        if (ecb) CHECK(underbar_ecb_end(ecb) == 0);
        if (ecb) overwrite();
        CHECK(!strncmp(getenv("UNDERBAR_ZOO"), "a value", 7));
    }
    puts("kept");
}

static jmp_buf back;

/* longjmp out of an ECB: the program is still inside, and ends it. */
static void jumps(void) {
    underbar_ecb ecb = underbar_ecb_create("JUMP");
    for (int at = 0; at < 1000; at++) {
        if (setjmp(back) == 0) {
            CHECK(underbar_ecb_enter(ecb) == 0);
            got(100);
            longjmp(back, 1);
        }
        CHECK(underbar_ecb_current() == ecb && underbar_ecb_leave() == 0);
    }
    CHECK(underbar_ecb_current() == 0 && underbar_ecb_end(ecb) == 0);
    puts("jumped");
}

static volatile sig_atomic_t ticks;

static void tick(int number) {
    (void)number;
    ticks++;
    void *volatile block = malloc(100);
    free(block);
}

/* Storage runs out: each request that fails says so, and what is there stays. */
static void exhausts(void) {
    struct rlimit limit = {512u << 20, 512u << 20};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    for (int round = 0; round < 3; round++) {
        underbar_ecb ecb = inside("FULL");
        unsigned char *kept = got(1000);
        size_t count = 0, size = (size_t[]){100, 20000, 3000000}[round];
        errno = 0;
        while (malloc(size)) count++;
        CHECK(errno == ENOMEM && count * size > 200u << 20);
        CHECK(is_as_written(kept, 1000));
        underbar_ecb other = underbar_ecb_create("OTHER");
        CHECK(underbar_ecb_end(ecb) == 0);
        if (other) CHECK(underbar_ecb_end(other) == 0);
    }
    puts("exhausted");
}

/* Bytes of the buffers that requests get in an ECB of a class. */
static void sizes(const char *class_name) {
    underbar_ecb ecb = inside(class_name);
    size_t usable[6];
    for (int at = 0; at < 6; at++) usable[at] = malloc_usable_size(got((size_t[]){1, 33, 65, 200, 513, 40000}[at]));
    CHECK(underbar_ecb_end(ecb) == 0);
    printf("%s", class_name);
    for (int at = 0; at < 6; at++) printf(" %zu", usable[at]);
    puts("");
}

/* Buffers of 1,024 bytes in the area with which an ECB begins: one after the other. */
static void area(void) {
    underbar_ecb ecb = inside("AREA");
    int count = 1;
    for (unsigned char *last = got(1000), *next; (next = got(1000)) == last + 1024; last = next) count++;
    CHECK(underbar_ecb_end(ecb) == 0);
    printf("%d\n", count);
}

/* What a library got in an ECB is freed after it. */
static void outside(const char *plugin) {
#ifdef TAKES_ADDRESSES
    void *volatile taken[] = {(void *)malloc, (void *)calloc, (void *)realloc};
    CHECK(taken[0] != taken[1]);
#endif
    void *library = dlopen(plugin, RTLD_NOW);
    CHECK(library);
    void *(*kept)(size_t) = (void *(*)(size_t))dlsym(library, "kept");
    CHECK(kept);
    underbar_ecb ecb = inside("OUTSIDE");
    void *buffer = kept(100);
    CHECK(underbar_ecb_end(ecb) == 0);
    overwrite();
    free(buffer);
    puts("kept");
}

/* 320 ECBs of a class with 30 requests of 48 bytes, 10 of 300 and one of 5000, of which the first 30 are freed; and one of another
   class that obtains a frame and names nine buffers. */
static void served(void) {
    for (int number = 0; number < 320; number++) {
        underbar_ecb ecb = inside("SSL");
        void *small[30];
        for (int at = 0; at < 30; at++) small[at] = got(48);
        for (int at = 0; at < 10; at++) got(300);
        got(5000);
        for (int at = 0; at < 30; at++) free(small[at]);
        CHECK(underbar_ecb_end(ecb) == 0);
    }
    underbar_ecb ecb = inside("LARGE");
    for (int at = 0; at < 20; at++) got(9000);
    for (char at = 0; at < 9; at++) CHECK(underbar_ecb_tag(got(40), &at, 1) == 0);
    CHECK(underbar_ecb_end(ecb) == 0);
}

/* A signal that nothing of underbar raised, or that the program handles. */
static void handled(int number, siginfo_t *info, void *context) {
    (void)context;
    /* Before any output of the C library: the fault may be in the middle of anything. */
    char text[] = "handled 0\n";
    text[8] = (char)('0' + (number == SIGSEGV) + 2 * (info->si_addr != NULL));
    if (write(1, text, sizeof text - 1) < 0) _exit(4);
    _exit(7);
}

static volatile sig_atomic_t was_sent;

/* The first one is sent; the second one is a fault. */
static void ended_well(int number) {
    if (was_sent++) _exit(number == SIGSEGV ? 8 : 4);
}

/* Uses storage of an ended ECB: WHERE is area, frame or large, HOW read or write, and by whom. */
static void stale(const char *where, const char *how, const char *who) {
    if (!strcmp(who, "handled")) {
        struct sigaction action = {.sa_sigaction = handled, .sa_flags = SA_SIGINFO}, before;
        CHECK(sigaction(SIGSEGV, &action, &before) == 0 && before.sa_handler == SIG_DFL);
        CHECK(sigaction(SIGSEGV, NULL, &before) == 0 && before.sa_sigaction == handled);
        CHECK(before.sa_flags & SA_SIGINFO);
    } else if (!strcmp(who, "ignored")) {
        CHECK(signal(SIGSEGV, SIG_IGN) == SIG_DFL && signal(SIGSEGV, SIG_IGN) == SIG_IGN);
    } else if (!strcmp(who, "once")) {
        struct sigaction before;
        CHECK(sysv_signal(SIGSEGV, ended_well) == SIG_DFL);
        kill(getpid(), SIGSEGV);
        CHECK(sigaction(SIGSEGV, NULL, &before) == 0 && before.sa_handler == SIG_DFL);
        CHECK(signal(SIGSEGV, ended_well) == SIG_DFL);
    } else {
        CHECK(signal(SIGSEGV, SIG_DFL) == SIG_DFL);
    }
    underbar_ecb ecb = inside("GONE");
    int frame = !strcmp(where, "frame");
    if (frame) for (int at = 0; at < 100; at++) got(1000);
    unsigned char *volatile buffer = got(!strcmp(where, "large") ? 1000000 : 100);
    if (!frame) CHECK(underbar_ecb_tag(buffer, "SESSION", 7) == 0);
    CHECK(underbar_ecb_end(ecb) == 0);
    /* Another one, so that it is not the newest, and storage of the same class is in use. */
    ecb = inside("GONE");
    CHECK(is_as_written(got(100), 100));
    CHECK(underbar_ecb_end(ecb) == 0);
    printf("%llu\n", (unsigned long long)ecb);
    if (!strcmp(how, "null")) buffer = NULL;
    if (!strcmp(how, "kill")) kill(getpid(), SIGSEGV);
    if (!strcmp(how, "write")) buffer[20] = 1;
    if (!strcmp(how, "free")) free(buffer);
    printf("not noticed: %d\n", buffer[20]);
}

/* What the ECBs of a pair should count: the program knows what it asked for. */
struct tally {
    const char *name, *value;
    unsigned ecbs, small, large, freed;
};

static void count(struct tally *tally, unsigned small) {
    tally->ecbs++;
    tally->small += small;
    tally->large++;
    tally->freed += 2;
}

/* 200 ECBs of class BANK with pairs: each gets small buffers of 48 bytes and one of 300, and frees two. Some change their mind. */
static void paired(void) {
    struct tally pay = {"TRANSACTION", "PAY", 0, 0, 0, 0}, log = {"TRANSACTION", "LOG", 0, 0, 0, 0}, web = {"CHANNEL", "WEB", 0, 0, 0, 0};
    for (unsigned number = 0; number < 200; number++) {
        underbar_ecb ecb = inside("BANK");
        int is_pay = number % 4 == 0;
        CHECK(underbar_ecb_name("TRANSACTION", number % 3 ? "LOG" : "PAY") == 0);
        CHECK(underbar_ecb_name("TRANSACTION", is_pay ? "PAY" : "LOG") == 0);
        if (number % 2) CHECK(underbar_ecb_name("CHANNEL", "WEB") == 0);
        CHECK(underbar_ecb_name("NONE", "X") == 0 && underbar_ecb_name("NONE", NULL) == 0);
        unsigned small = is_pay ? 10 : 3;
        void *buffers[10];
        for (unsigned at = 0; at < small; at++) buffers[at] = got(48);
        got(300);
        free(buffers[0]);
        free(buffers[1]);
        count(is_pay ? &pay : &log, small);
        if (number % 2) count(&web, small);
        CHECK(underbar_ecb_end(ecb) == 0);
    }
    CHECK(underbar_ecb_name("TRANSACTION", "PAY") == EPERM);
    underbar_ecb ecb = inside("BANK");
    CHECK(underbar_ecb_name("", "X") == EINVAL && underbar_ecb_name(NULL, "X") == EINVAL);
    CHECK(underbar_ecb_name("a name that has more than 32 bytes", "X") == ENAMETOOLONG);
    CHECK(underbar_ecb_leave() == 0 && underbar_ecb_end(ecb) == 0);
    struct tally *all[] = {&pay, &web, &log};
    for (int at = 0; at < 3; at++)
        printf("%s %s %u %u %u %u\n", all[at]->name, all[at]->value, all[at]->ecbs, all[at]->small, all[at]->large, all[at]->freed);
}

/* Two ECBs of each of 30 classes. */
static void classes(void) {
    for (int number = 0; number < 60; number++) {
        char name[16];
        snprintf(name, sizeof name, "CLASS%d", number / 2);
        underbar_ecb ecb = inside(name);
        got(48);
        CHECK(underbar_ecb_end(ecb) == 0);
    }
    puts("classes");
}

int main(int count, char **arguments) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    const char *what = count > 1 ? arguments[1] : "";
    if (!underbar_ecb_create) {
        puts("none");
        return 0;
    }
    if (!strcmp(what, "library")) {
        library(arguments[2]);
    } else if (!strcmp(what, "sizes")) {
        for (int at = 2; at < count; at++) sizes(arguments[at]);
    } else if (!strcmp(what, "area")) {
        area();
    } else if (!strcmp(what, "outside")) {
        outside(arguments[2]);
    } else if (!strcmp(what, "forks")) {
        forks();
    } else if (!strcmp(what, "forks-busy")) {
        forks_busy();
    } else if (!strcmp(what, "forks-names")) {
        forks_names();
    } else if (!strcmp(what, "flat")) {
        flat();
    } else if (!strcmp(what, "sandboxed")) {
        sandboxed(count > 2);
    } else if (!strcmp(what, "jumps")) {
        jumps();
    } else if (!strcmp(what, "exhausts")) {
        exhausts();
    } else if (!strcmp(what, "ended")) {
        underbar_ecb ecb = inside("GONE");
        void *buffer = malloc(100);
        CHECK(underbar_ecb_end(ecb) == 0);
        free(buffer);
        puts("not noticed");
    } else if (!strcmp(what, "twice")) {
        inside("TWICE");
        void *buffer = malloc(100);
        free(buffer);
        free(buffer);
        puts("not noticed");
    } else if (!strcmp(what, "twice-later")) {
        twice(strtoul(arguments[2], NULL, 10), 0);
    } else if (!strcmp(what, "twice-outside")) {
        twice(strtoul(arguments[2], NULL, 10), 1);
    } else if (!strcmp(what, "within")) {
        inside("WITHIN");
        char *buffer = malloc(100);
        free(buffer + 16);
        puts("not noticed");
    } else if (!strcmp(what, "grown")) {
        underbar_ecb ecb = inside("GONE");
        void *buffer = malloc(100);
        CHECK(underbar_ecb_end(ecb) == 0);
        buffer = realloc(buffer, 1000);
        puts("not noticed");
    } else if (!strcmp(what, "grown-free")) {
        inside("GROWN");
        void *buffer = malloc(100);
        free(buffer);
        buffer = realloc(buffer, 90);
        puts("not noticed");
    } else if (!strcmp(what, "stale")) {
        stale(arguments[2], arguments[3], arguments[4]);
    } else if (!strcmp(what, "reused")) {
        /* The oldest ECB is no longer kept: its storage is filled, and serves again. */
        unsigned char *volatile first = NULL;
        for (int at = 0; at < 100; at++) {
            underbar_ecb ecb = inside("KEPT");
            unsigned char *buffer = got(3000);
            if (!first) first = buffer;
            CHECK(is_as_written(buffer, 3000));
            got(9000000);
            CHECK(underbar_ecb_end(ecb) == 0);
        }
        puts("reused");
    } else if (!strcmp(what, "low")) {
        /* Storage below 2 GiB inside an ECB ends with it; in two of 40 none is asked for, and one needs more than a piece. */
        for (int number = 0; number < 40; number++) {
            underbar_ecb ecb = inside("LOW");
            unsigned char *first = NULL, *last = NULL;
            for (int at = 0; at < (number < 2 ? 0 : number == 2 ? 100 : 3); at++) {
                last = __malloc31(1000);
                CHECK(last && (uintptr_t)last < (2u << 30) && malloc_usable_size(last) >= 1000);
                memset(last, at, 1000);
                if (!first) first = last;
            }
            if (first) {
                first = realloc(first, 2000);
                CHECK(first && (uintptr_t)first < (2u << 30) && first[999] == 0);
                free(last);
                CHECK(__malloc31(1000) == last);
            }
            got(100);
            CHECK(underbar_ecb_end(ecb) == 0);
        }
        void *kept = __malloc31(100);
        CHECK(kept && (uintptr_t)kept < (2u << 30));
        free(kept);
        underbar_ecb ecb = inside("LOW");
        unsigned char *volatile stale = __malloc31(500);
        CHECK(underbar_ecb_end(ecb) == 0);
        puts("low");
        if (count > 2) printf("not noticed: %d\n", stale[10]);
    } else if (!strcmp(what, "resized")) {
        underbar_ecb ecb = inside("RESIZED");
        void *volatile first = calloc(10, 10);
        first = memset(first, 1, 100);
        void *volatile second = aligned_alloc(64, 128);
        void *volatile third = malloc(1000);
        third = realloc(third, 5000);
        free(second);
        CHECK(first && third && underbar_ecb_end(ecb) == 0);
        puts("resized");
    } else if (!strcmp(what, "served")) {
        served();
        puts("served");
    } else if (!strcmp(what, "pairs")) {
        paired();
    } else if (!strcmp(what, "classes")) {
        classes();
    } else if (!strcmp(what, "left")) {
        for (int at = 0; at < 1000; at++) {
            inside("LEFT");
            got(500);
            CHECK(underbar_ecb_leave() == 0);
        }
        puts("left");
    } else if (!strcmp(what, "signals")) {
        /* The handler interrupts this thread between two calls only: malloc is not for handlers. */
        struct itimerval every = {{0, 500}, {0, 500}};
        sigset_t alarm;
        sigemptyset(&alarm);
        sigaddset(&alarm, SIGALRM);
        sigprocmask(SIG_BLOCK, &alarm, NULL);
        signal(SIGALRM, tick);
        setitimer(ITIMER_REAL, &every, NULL);
        while (ticks < 400) {
            underbar_ecb ecb = inside("SIGNAL");
            unsigned char *kept = got(100);
            for (int at = 0; at < 100; at++) {
                free(got((size_t)at));
                sigprocmask(SIG_UNBLOCK, &alarm, NULL);
                sigprocmask(SIG_BLOCK, &alarm, NULL);
            }
            CHECK(is_as_written(kept, 100));
            CHECK(underbar_ecb_end(ecb) == 0);
        }
        puts("signalled");
    } else {
        printf("unknown: %s\n", what);
        return 2;
    }
    return 0;
}
