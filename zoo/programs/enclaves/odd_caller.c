/* odd_caller LIBRARY PART [bounded]: LINKs programs that leave in odd ways, and checks that it lives on with its own storage. */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <underbar/fetch.h>

#define CHECK(what) \
    do { \
        if (!(what)) { \
            printf("line %d: %s: %s\n", __LINE__, #what, message()); \
            exit(1); \
        } \
    } while (0)

enum { BYTES = 5000 };
static underbar_library library;
static sigjmp_buf place;

static const char *message(void) {
    static char text[512];
    underbar_fetch_message(text, sizeof text);
    return text;
}

/* The status, or the error's number below 0. */
static int run(const char *program, const char *how, const void *given) {
    char address[32];
    snprintf(address, sizeof address, "%lx", (unsigned long)given);
    char *arguments[] = {(char *)program, (char *)how, address, NULL};
    int status = -1000;
    int error = underbar_link(&library, 1, program, arguments, NULL, &status);
    return error ? -error : status;
}

static int jumps_on(void) { return run("odd_checked", "jumps", &place); }

static int escapes(const char *what) {
    static int destroyed;
    char address[32];
    destroyed = 0;
    snprintf(address, sizeof address, "%lx", (unsigned long)&destroyed);
    char *arguments[] = {"escapes", address, (char *)what, NULL};
    int status = -1000;
    int error = underbar_link(&library, 1, "escapes", arguments, NULL, &status);
    CHECK(destroyed == 10);
    return error;
}

static void jump(int way) {
    volatile int turn = 0;
    int value = sigsetjmp(place, 1);
    if (value == 0) {
        turn = 1;
        if (way == 0) run("odd", "jumps", &place);
        if (way == 1) run("odd", "signal", &place);
        if (way == 2) run("odd", "through", jumps_on);
        CHECK(!"it returned");
    }
    CHECK(turn == 1 && value == (way == 1 ? 10 : 5));
}

/* Jumps that the loader does not see: by code that the system's loader has loaded, and without any function. */
static jmp_buf unseen;
static int jumps_unseen(void) { longjmp(unseen, 5); }

static int pass(int way) {
    static void *words[5];
    if (way == 0) {
        if (setjmp(unseen) == 0) run("odd", "through", jumps_unseen);
    } else if (way == 1) {
        if (__builtin_setjmp(words) == 0) run("odd", "builtin", words);
    } else {
        char *environment[] = {"ONLY=1", NULL};
        char address[32];
        snprintf(address, sizeof address, "%lx", (unsigned long)jumps_unseen);
        char *arguments[] = {"odd_checked", "through", address, NULL};
        int status;
        if (setjmp(unseen) == 0) underbar_link(&library, 1, "odd_checked", arguments, environment, &status);
    }
    return 9;
}

static int passes(void) { return pass(0); }

static void *passes_and_ends(void *unused) {
    pass(0);
    return unused;
}

static int passes_twice_and_jumps(void) {
    pass(1);
    pass(2);
    return jumps_on();
}

static void *thread(void *how) {
    volatile int told = 0;
    run("odd", how, (void *)&told);
    return NULL;
}

static volatile int *told_by_waiting;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *waiting(void *unused) {
    volatile int told = 0;
    (void)unused;
    pthread_mutex_lock(&lock);
    told_by_waiting = &told;
    pthread_mutex_unlock(&lock);
    run("odd", "waits", (void *)&told);
    return NULL;
}

static void cancel(void) {
    pthread_t id;
    void *result;
    told_by_waiting = NULL;
    CHECK(!pthread_create(&id, NULL, waiting, NULL));
    for (int is_there = 0; !is_there;) {
        pthread_mutex_lock(&lock);
        is_there = told_by_waiting && *told_by_waiting;
        pthread_mutex_unlock(&lock);
        usleep(100);
    }
    pthread_cancel(id);
    CHECK(!pthread_join(id, &result) && result == PTHREAD_CANCELED);
}

static void end_thread(void) {
    pthread_t id;
    void *result;
    CHECK(!pthread_create(&id, NULL, thread, "ends-thread"));
    CHECK(!pthread_join(id, &result) && result == (void *)5);
}

static long mappings(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    long lines = 0;
    for (int byte; (byte = fgetc(maps)) != EOF;) lines += byte == '\n';
    fclose(maps);
    return lines;
}

static long resident(void) {
    FILE *statm = fopen("/proc/self/statm", "r");
    long size, pages;
    CHECK(fscanf(statm, "%ld %ld", &size, &pages) == 2);
    fclose(statm);
    return pages;
}

static void once(const char *part) {
    if (!strcmp(part, "passes")) {
        for (int way = 0; way < 3; way++) CHECK(pass(way) == 9);
        /* The next LINK notices, and gives back what was passed, with the environment. */
        CHECK(run("odd", "inside", NULL) == 7);
        CHECK(getenv("HOME_OF_CALLER") != NULL);
        /* The exit of a program that was LINKed further out ends that one. */
        CHECK(run("odd", "through-exits", passes) == 9);
        CHECK(run("odd", "through", passes) == 9);
        if (sigsetjmp(place, 1) == 0) run("odd", "through", passes_twice_and_jumps);
        pthread_t id;
        CHECK(!pthread_create(&id, NULL, passes_and_ends, NULL) && !pthread_join(id, NULL));
    } else if (!strcmp(part, "jumps"))
        for (int way = 0; way < 3; way++) jump(way);
    else if (!strcmp(part, "throws")) {
        CHECK(escapes("i") == UNDERBAR_THROWN);
        CHECK(escapes("o") == UNDERBAR_THROWN);
    } else if (!strcmp(part, "threads")) {
        cancel();
        end_thread();
    } else if (!strcmp(part, "libraries")) {
        CHECK(run("libraries", "", NULL) == 7);
    } else if (!strcmp(part, "ends")) {
        CHECK(run("odd_checked", "inside", NULL) == 7);
        CHECK(run("odd", "inside", NULL) == 7);
        CHECK(run("odd", "exits-at-exit", NULL) == 7);
        CHECK(run("odd", "forks", NULL) == 7);
        CHECK(run("missing", "", NULL) == -UNDERBAR_NOT_FOUND);
        CHECK(run("no_main", "", NULL) == -UNDERBAR_NO_ENTRY);
    } else {
        exit(2);
    }
    CHECK(run("odd", "inside", NULL) == 7);
}

int main(int count, char **words) {
    CHECK(count > 2 && underbar_library_open(words[1], UNDERBAR_FREEZE, &library) == 0);
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    /* These end the process: by the same signal as without underbar, or under HEAPZONES. */
    const char *ends[] = {"overflows", "overruns", "aborts"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(words[2], ends[i])) return run("odd", ends[i], NULL);
    if (!strcmp(words[2], "overflows-in-thread")) {
        pthread_t id;
        CHECK(!pthread_create(&id, NULL, thread, "overflows"));
        return pthread_join(id, NULL);
    }
    setenv("HOME_OF_CALLER", "here", 1);
    unsigned char *mine = malloc(BYTES);
    memset(mine, 0x33, BYTES);
    for (int i = 0; i < 20; i++) once(words[2]);
    long before[] = {mappings(), resident()};
    for (int i = 0; i < 100; i++) once(words[2]);
    /* Each time leaks 200 KB, in a heap of its own under underbar. */
    if (count > 3) CHECK(mappings() <= before[0] + 4 && resident() <= before[1] + 512);
    for (int i = 0; i < BYTES; i++) CHECK(mine[i] == 0x33);
    free(mine);
    puts("all held");
    return 0;
}
