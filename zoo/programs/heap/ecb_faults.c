/* What may go wrong with ECBs, by the calls of underbar/ecb.h alone: ecb_faults CASE. Prints "held" if each error was the documented
 * one, and all contents are as written. Faults that end the program are in ecb.c. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <underbar/ecb.h>
#include <unistd.h>

#define CHECK(what)                                                    \
    do {                                                               \
        errno = 0;                                                     \
        if (!(what)) {                                                 \
            printf("line %d: %s, errno %d\n", __LINE__, #what, errno); \
            _exit(3);                                                  \
        }                                                              \
    } while (0)

#define BUFFERS 200

/* Buffers of many sizes with known contents. */
struct written {
    unsigned char *buffer[BUFFERS];
};

static size_t size_of(int at) { return (size_t)(at % 50 == 6 ? 9000 * at : at % 7 == 6 ? 300 * at : 9 * at + 1); }

static void write_all(struct written *all, int salt) {
    for (int at = 0; at < BUFFERS; at++) {
        CHECK(all->buffer[at] = malloc(size_of(at)));
        memset(all->buffer[at], at + salt, size_of(at));
    }
}

static int is_written(const struct written *all, int salt) {
    for (int at = 0; at < BUFFERS; at++)
        for (size_t byte = 0; byte < size_of(at); byte++)
            if (all->buffer[at][byte] != (unsigned char)(at + salt)) return 0;
    return 1;
}

static underbar_ecb inside(void) {
    underbar_ecb ecb;
    CHECK(ecb = underbar_ecb_create("FAULTS"));
    CHECK(underbar_ecb_enter(ecb) == 0);
    return ecb;
}

/* Takes over what ended ECBs left, and writes there. */
static void overwrite(void) {
    for (int round = 0; round < 3; round++) {
        struct written all;
        underbar_ecb ecb = inside();
        write_all(&all, 0xd0 + round);
        CHECK(is_written(&all, 0xd0 + round) && underbar_ecb_end(ecb) == 0);
    }
}

static pthread_barrier_t meet;

struct visit {
    underbar_ecb ecb;
    struct written all;
};

static void *visitor(void *argument) {
    struct visit *visit = argument;
    CHECK(underbar_ecb_enter(visit->ecb) == 0);
    write_all(&visit->all, 1);
    pthread_barrier_wait(&meet);
    pthread_barrier_wait(&meet);
    CHECK(is_written(&visit->all, 1) && underbar_ecb_current() == visit->ecb);
    CHECK(underbar_ecb_leave() == 0);
    return NULL;
}

/* The end while threads are inside is refused, and changes nothing. */
static void busy(void) {
    static struct visit visit;
    struct written own;
    pthread_t thread;
    visit.ecb = inside();
    write_all(&own, 2);
    CHECK(underbar_ecb_leave() == 0);
    pthread_barrier_init(&meet, NULL, 2);
    CHECK(pthread_create(&thread, NULL, visitor, &visit) == 0);
    pthread_barrier_wait(&meet);
    for (int round = 0; round < 100; round++) {
        CHECK(underbar_ecb_end(visit.ecb) == EBUSY);
        CHECK(underbar_ecb_enter(visit.ecb) == 0);
        CHECK(underbar_ecb_end(visit.ecb) == EBUSY);
        CHECK(underbar_ecb_current() == visit.ecb);
        CHECK(underbar_ecb_leave() == 0);
    }
    overwrite();
    pthread_barrier_wait(&meet);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(is_written(&own, 2) && is_written(&visit.all, 1));
    CHECK(underbar_ecb_end(visit.ecb) == 0);
}

/* The caller itself, in another ECB that it entered since, or in the same one twice. */
static void own(void) {
    struct written outer, inner;
    underbar_ecb first = inside();
    write_all(&outer, 3);
    underbar_ecb second = inside();
    write_all(&inner, 4);
    CHECK(underbar_ecb_end(first) == EBUSY && underbar_ecb_current() == second);
    CHECK(is_written(&outer, 3) && is_written(&inner, 4));
    CHECK(underbar_ecb_enter(first) == 0);
    CHECK(underbar_ecb_end(first) == EBUSY && underbar_ecb_current() == first);
    CHECK(underbar_ecb_leave() == 0 && underbar_ecb_current() == second);
    CHECK(underbar_ecb_end(second) == 0 && underbar_ecb_current() == first);
    overwrite();
    CHECK(is_written(&outer, 3) && underbar_ecb_end(first) == 0 && underbar_ecb_current() == 0);
    CHECK(underbar_ecb_leave() == EPERM);
}

/* Numbers of ECBs that have ended, or never were. */
static void twice(void) {
    underbar_ecb old[64];
    for (int at = 0; at < 64; at++) {
        old[at] = inside();
        CHECK(malloc(100) && underbar_ecb_end(old[at]) == 0);
        for (int before = 0; before <= at; before++)
            CHECK(underbar_ecb_end(old[before]) == EINVAL && underbar_ecb_enter(old[before]) == EINVAL);
    }
    struct written all;
    underbar_ecb ecb = inside();
    write_all(&all, 5);
    for (int at = 0; at < 64; at++) CHECK(old[at] != ecb && underbar_ecb_end(old[at]) == EINVAL);
    underbar_ecb wrong[] = {0, 1, ~0ull, ecb + 1, ecb ^ 1, ecb + (1ull << 32), ecb & 0xffffffff};
    for (size_t at = 0; at < sizeof wrong / sizeof *wrong; at++)
        CHECK(underbar_ecb_end(wrong[at]) == EINVAL && underbar_ecb_enter(wrong[at]) == EINVAL);
    CHECK(underbar_ecb_current() == ecb && is_written(&all, 5));
    CHECK(underbar_ecb_end(ecb) == 0);
}

static int how_to_end;

static void *ends_inside(void *argument) {
    struct visit *visit = argument;
    underbar_ecb own = inside();
    CHECK(underbar_ecb_enter(visit->ecb) == 0 && underbar_ecb_enter(visit->ecb) == 0);
    write_all(&visit->all, 6);
    underbar_ecb_step_outside();
    CHECK(malloc(100));
    if (how_to_end == 1) pthread_exit((void *)(uintptr_t)own);
    if (how_to_end == 2) {
        pthread_cancel(pthread_self());
        for (;;) pthread_testcancel();
    }
    return (void *)(uintptr_t)own;
}

/* A thread that ends in ECBs has left them. */
static void ends(void) {
    for (how_to_end = 0; how_to_end < 3; how_to_end++)
        for (int round = 0; round < 20; round++) {
            static struct visit visit;
            pthread_t thread;
            void *result;
            CHECK(visit.ecb = underbar_ecb_create("FAULTS"));
            CHECK(pthread_create(&thread, NULL, ends_inside, &visit) == 0 && pthread_join(thread, &result) == 0);
            overwrite();
            CHECK(is_written(&visit.all, 6) && underbar_ecb_end(visit.ecb) == 0);
            if (how_to_end != 2) CHECK(underbar_ecb_end((underbar_ecb)(uintptr_t)result) == 0);
        }
}

static struct written at_exit;

static void exits(void) {
    struct written more;
    CHECK(is_written(&at_exit, 7));
    write_all(&more, 8);
    CHECK(is_written(&more, 8));
    puts("held");
}

/* A child goes on in the ECB that the parent is in, or ends it, or exits inside. */
static void forks(void) {
    struct written all;
    underbar_ecb outer = inside(), ecb = inside();
    write_all(&all, 9);
    for (int what = 0; what < 40; what++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            struct written own;
            write_all(&own, 10);
            CHECK(is_written(&own, 10) && is_written(&all, 9));
            if (what % 4 == 0) _exit(0);
            if (what % 4 == 1) exit(0);
            CHECK(underbar_ecb_end(outer) == EBUSY);
            CHECK(underbar_ecb_end(ecb) == 0 && underbar_ecb_end(ecb) == EINVAL);
            if (what % 4 == 2) CHECK(underbar_ecb_end(outer) == 0);
            overwrite();
            _exit(0);
        }
        int status;
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    }
    CHECK(is_written(&all, 9) && underbar_ecb_end(ecb) == 0 && underbar_ecb_end(outer) == 0);
}

static jmp_buf back;

/* longjmp out of two ECBs: the thread is still in both, and ends them from the inside out. */
static void jumps(void) {
    struct written all;
    static underbar_ecb first, second;
    for (int round = 0; round < 300; round++) {
        if (setjmp(back) == 0) {
            first = inside();
            second = inside();
            write_all(&all, 11);
            underbar_ecb_step_outside();
            longjmp(back, 1);
        }
        CHECK(underbar_ecb_current() == 0); /* outside, as it was at the jump */
        underbar_ecb_step_inside();
        CHECK(underbar_ecb_current() == second);
        CHECK(underbar_ecb_end(first) == EBUSY && underbar_ecb_end(second) == 0 && underbar_ecb_end(first) == 0);
        CHECK(underbar_ecb_current() == 0 && underbar_ecb_leave() == EPERM);
    }
}

/* Names of wrong lengths, and buffers that are none. */
static void tags(void) {
    static char name[4096];
    memset(name, 'n', sizeof name);
    void *process = malloc(100);
    CHECK(underbar_ecb_tag(process, name, 8) == EPERM && underbar_ecb_untag(process) == EPERM);
    CHECK(!underbar_ecb_locate(name, 8, NULL) && errno == EPERM);
    underbar_ecb other = inside();
    char *foreign = malloc(100);
    CHECK(underbar_ecb_leave() == 0);
    underbar_ecb ecb = inside();
    struct written all;
    write_all(&all, 12);
    char *buffer = malloc(100), *freed = malloc(100);
    free(freed);
    CHECK(underbar_ecb_tag(buffer, name, 0) == EINVAL && underbar_ecb_tag(buffer, NULL, 8) == EINVAL);
    CHECK(underbar_ecb_tag(buffer, name, 41) == ENAMETOOLONG && underbar_ecb_tag(buffer, name, 4096) == ENAMETOOLONG);
    CHECK(!underbar_ecb_locate(name, 0, NULL) && errno == EINVAL);
    CHECK(!underbar_ecb_locate(name, 4096, NULL) && errno == ENAMETOOLONG);
    CHECK(!underbar_ecb_locate(name, 40, NULL) && errno == ENOENT);
    void *wrong[] = {NULL, (void *)8, (void *)~0ull, process, foreign, buffer + 16, buffer + 1, name, &wrong};
    for (size_t at = 0; at < sizeof wrong / sizeof *wrong; at++) {
        CHECK(underbar_ecb_tag(wrong[at], name, 8) == EINVAL);
        CHECK(underbar_ecb_untag(wrong[at]) == EINVAL);
    }
    CHECK(underbar_ecb_untag(buffer) == ENOENT);
    CHECK(underbar_ecb_tag(buffer, name, 40) == 0 && underbar_ecb_tag(buffer, name, 1) == 0);
    CHECK(underbar_ecb_locate(name, 40, NULL) == buffer && underbar_ecb_locate(name, 1, NULL) == buffer);
    CHECK(!underbar_ecb_locate(name, 39, NULL) && errno == ENOENT);
    /* A thousand duplicates; those of freed buffers are gone. */
    char *same[1000];
    for (int at = 0; at < 1000; at++) CHECK((same[at] = malloc(40)) && tpf_eheap_tag(same[at], "SAMENAME") == 0);
    for (int at = 0; at < 1000; at += 2) free(same[at]);
    int count = 0;
    for (char *next = NULL; (next = underbar_ecb_locate("SAMENAME", 8, next)); count++) CHECK(next == same[999 - 2 * count]);
    CHECK(count == 500 && tpf_eheap_locate("SAMENAME") == same[999]);
    CHECK(is_written(&all, 12) && underbar_ecb_end(ecb) == 0 && underbar_ecb_end(other) == 0);
    ecb = inside();
    CHECK(!underbar_ecb_locate(name, 40, NULL) && errno == ENOENT);
    CHECK(underbar_ecb_end(ecb) == 0);
    free(process);
}

/* A buffer that is resized stays in its ECB, and a block of the process stays with the process. */
static void resizes(void) {
    underbar_ecb first = inside();
    unsigned char *of_first = malloc(100);
    CHECK(of_first && underbar_ecb_tag(of_first, "FIRST", 5) == 0);
    memset(of_first, 1, 100);
    CHECK(underbar_ecb_leave() == 0);
    unsigned char *of_process = malloc(100);
    memset(of_process, 2, 100);
    underbar_ecb second = inside();
    size_t old = 100;
    for (size_t size = 120; size < 3000000; old = size, size = size * 3 / 2) {
        CHECK(of_first = realloc(of_first, size));
        CHECK(of_process = realloc(of_process, size));
        for (size_t at = 0; at < old; at++) CHECK(of_first[at] == 1 && of_process[at] == 2);
        memset(of_first, 1, size);
        memset(of_process, 2, size);
    }
    unsigned char *outside = underbar_process_malloc(10);
    CHECK(outside = underbar_process_realloc(outside, 5000));
    memset(outside, 3, 5000);
    CHECK(underbar_ecb_end(second) == 0); /* nothing of these was the second one's */
    overwrite();
    CHECK(of_first = realloc(of_first, 50)); /* outside of all ECBs */
    for (size_t at = 0; at < 50; at++) CHECK(of_first[at] == 1);
    for (size_t at = 0; at < old; at++) CHECK(of_process[at] == 2);
    for (size_t at = 0; at < 5000; at++) CHECK(outside[at] == 3);
    CHECK(underbar_ecb_enter(first) == 0 && underbar_ecb_locate("FIRST", 5, NULL) == of_first);
    CHECK(underbar_ecb_end(first) == 0);
    overwrite();
    for (size_t at = 0; at < old; at++) CHECK(of_process[at] == 2);
    free(of_process);
    free(outside);
}

/* Storage runs out: each request and call says so, what is there stays, and everything can be ended. */
static void exhausts(void) {
    struct rlimit before, limit;
    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    limit = before;
    limit.rlim_cur = 400u << 20;
    struct written all;
    underbar_ecb first = inside();
    write_all(&all, 13);
    char *small = malloc(100), *large = malloc(300000);
    memset(small, 1, 100);
    memset(large, 2, 300000);
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    size_t sizes[] = {30000000, 900000, 20000, 700, 40, 1};
    for (size_t at = 0; at < sizeof sizes / sizeof *sizes; at++)
        while (malloc(sizes[at]));
    errno = 0;
    CHECK(!malloc(1000000) && errno == ENOMEM);
    CHECK(!calloc(1000, 1000) && errno == ENOMEM);
    CHECK(!realloc(large, 50000000) && errno == ENOMEM);
    CHECK(!realloc(small, 50000000) && errno == ENOMEM);
    int error = 0, count = 0;
    char name[9];
    while (!error) {
        snprintf(name, sizeof name, "%08d", count++);
        error = underbar_ecb_tag(small, name, 8);
    }
    CHECK(error == ENOMEM);
    for (int at = 0; at < count - 1; at++) {
        snprintf(name, sizeof name, "%08d", at);
        CHECK(underbar_ecb_locate(name, 8, NULL) == small);
    }
    /* ECBs until there is no memory for one more. */
    underbar_ecb last = 0, next;
    long created = 0;
    for (; (next = underbar_ecb_create("FULL")); last = next, created++)
        if (last) CHECK(underbar_ecb_enter(last) == 0 && (malloc(4000), underbar_ecb_leave() == 0));
    CHECK((underbar_ecb_create("FULL") || errno == ENOMEM) && is_written(&all, 13));
    for (int at = 0; at < 100; at++) CHECK(small[at] == 1);
    for (int at = 0; at < 300000; at++) CHECK(large[at] == 2);
    CHECK(underbar_ecb_end(first) == 0);
    if (last) CHECK(underbar_ecb_end(last) == 0);
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    overwrite();
}

/* KiB of memory that the process has. */
static long resident(void) {
    char line[200];
    long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "VmRSS: %ld", &kib);
    if (file) fclose(file);
    return kib;
}

/* What an ECB of one class had is there for others of that class, of another, and for the process, although memory is short. */
static void returns(void) {
    struct rlimit before, limit;
    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    limit = before;
    limit.rlim_cur = 400u << 20;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    const char *classes[] = {"ONE", "TWO", NULL};
    size_t sizes[] = {100, 20000, 3000000};
    for (int turn = 0; turn < 9; turn++) {
        const char *class_name = classes[turn % 3];
        size_t size = sizes[turn / 3], got = 0;
        underbar_ecb ecb = 0;
        if (class_name) CHECK((ecb = underbar_ecb_create(class_name)) && underbar_ecb_enter(ecb) == 0);
        void **last = NULL, **next;
        for (; (next = malloc(size)); last = next, got += size) *next = last;
        if (got < 200u << 20) {
            printf("turn %d: %zu bytes in pieces of %zu\n", turn, got, size);
            _exit(3);
        }
        if (ecb) CHECK(underbar_ecb_end(ecb) == 0);
        else
            for (; last; last = next) next = *last, free(last);
    }
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
}

/* An ECB that had much leaves no trace in the memory of a process that goes on with small ones. */
static void shrinks(void) {
    size_t sizes[] = {100, 20000, 3000000};
    overwrite();
    long before = resident();
    for (int turn = 0; turn < 3; turn++) {
        underbar_ecb ecb;
        CHECK((ecb = underbar_ecb_create("LARGE")) && underbar_ecb_enter(ecb) == 0);
        for (size_t got = 0; got < 200u << 20; got += sizes[turn]) memset(malloc(sizes[turn]), 1, sizes[turn]);
        CHECK(resident() > 200 << 10);
        CHECK(underbar_ecb_end(ecb) == 0);
        /* It goes by time, which the ends of ECBs look at: so many take minutes. */
        long turns = 0;
        while (resident() > before + (40 << 10) && turns < 100000)
            for (long end = turns++ * 1000 + 1000, at = end - 1000; at < end; at++) {
                CHECK((ecb = underbar_ecb_create("SMALL")) && underbar_ecb_enter(ecb) == 0);
                CHECK(malloc(100) && underbar_ecb_end(ecb) == 0);
            }
        if (turns == 100000) {
            printf("%ld KiB before, %ld KiB now, in pieces of %zu\n", before, resident(), sizes[turn]);
            _exit(3);
        }
    }
}

/* More leaves than enters, steps that do not match, and ends of what was never entered. */
static void unmatched(void) {
    CHECK(underbar_ecb_leave() == EPERM && underbar_ecb_current() == 0);
    underbar_ecb_step_inside();
    underbar_ecb_step_outside();
    underbar_ecb ecb = inside();
    underbar_ecb_step_inside();
    CHECK(underbar_ecb_current() == ecb);
    underbar_ecb_step_outside();
    underbar_ecb_step_outside();
    underbar_ecb_step_inside();
    CHECK(underbar_ecb_current() == 0);
    CHECK(underbar_ecb_leave() == 0 && underbar_ecb_leave() == EPERM);
    underbar_ecb_step_inside();
    CHECK(underbar_ecb_current() == 0);
    CHECK(underbar_ecb_enter(ecb) == 0 && underbar_ecb_current() == ecb);
    underbar_ecb_step_outside();
    CHECK(underbar_ecb_end(ecb) == 0 && underbar_ecb_current() == 0);
    CHECK((ecb = underbar_ecb_create(NULL)) && underbar_ecb_end(ecb) == 0);
    CHECK((ecb = underbar_ecb_create("")) && underbar_ecb_end(ecb) == 0);
    static char long_name[10000];
    memset(long_name, 'N', sizeof long_name - 1);
    CHECK((ecb = underbar_ecb_create(long_name)) && underbar_ecb_end(ecb) == 0);
    for (int at = 0; at < 200; at++) {
        char name[20];
        snprintf(name, sizeof name, "CLASS%d", at);
        CHECK((ecb = underbar_ecb_create(name)) && underbar_ecb_enter(ecb) == 0 && malloc(100) && underbar_ecb_end(ecb) == 0);
    }
    CHECK((ecb = underbar_ecb_begin("X")) && underbar_ecb_finish(ecb) == 0 && underbar_ecb_finish(ecb) == EINVAL);
    CHECK(underbar_ecb_finish(0) == 0);
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"busy", busy},   {"own", own},         {"twice", twice},       {"ends", ends},          {"forks", forks},
        {"jumps", jumps}, {"tags", tags},       {"resizes", resizes},   {"exhausts", exhausts},  {"unmatched", unmatched},
        {"returns", returns}, {"shrinks", shrinks},
    };
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!underbar_ecb_create) {
        puts("none");
        return 0;
    }
    const char *what = count > 1 ? arguments[1] : "";
    if (!strcmp(what, "exits")) {
        atexit(exits);
        inside();
        write_all(&at_exit, 7);
        exit(0);
    }
    for (size_t at = 0; at < sizeof cases / sizeof *cases; at++)
        if (!strcmp(what, cases[at].name)) {
            cases[at].run();
            puts("held");
            return 0;
        }
    printf("unknown: %s\n", what);
    return 2;
}
