/* Language Environment's callable services for storage, by their C header: what each does, and what it answers to each fault. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <underbar/ceeedcct.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                                    \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
#define IS(condition) CHECK(_FBCHECK(fc, condition) == 0)

static _FEEDBACK fc;

static _INT4 create(_INT4 initial, _INT4 increment, _INT4 options) {
    _INT4 heap = 77;
    CEECRHP(&heap, &initial, &increment, &options, &fc);
    return heap;
}

static unsigned char *get(_INT4 heap, _INT4 size) {
    _POINTER address = &heap;
    CEEGTST(&heap, &size, &address, &fc);
    return address;
}

static void *resize(void *address, _INT4 size) {
    CEECZST(&address, &size, &fc);
    return address;
}

static void give_back(void *address) { CEEFRST(&address, &fc); }

static void discard(_INT4 heap) { CEEDSHP(&heap, &fc); }

static int holds(const unsigned char *address, size_t size, unsigned char byte) {
    for (size_t at = 0; at < size; at++)
        if (address[at] != byte) return 0;
    return 1;
}

/* The six calls of the books, in their order. */
static void in_order(void) {
    _CHAR80 heading;
    memset(heading, ' ', sizeof heading);
    memcpy(heading, "User defined report heading", 27);
    CEE3RPH(heading, &fc);
    IS(CEE000);
    CHECK(fc.tok_sev == 0 && fc.tok_msgno == 0 && fc.tok_isi == 0);
    _INT4 heap = create(1, 0, 0);
    IS(CEE000);
    CHECK(heap > 0);
    unsigned char *address = get(heap, 4000);
    IS(CEE000);
    memset(address, 5, 4000);
    address = resize(address, 2000);
    IS(CEE000);
    CHECK(holds(address, 2000, 5));
    unsigned char *behind = get(heap, 500);
    memset(behind, 6, 500);
    address = resize(address, 300000);
    IS(CEE000);
    CHECK(holds(address, 2000, 5) && holds(behind, 500, 6));
    give_back(address);
    IS(CEE000);
    discard(heap);
    IS(CEE000);
    CEE3RPH("Another heading", &fc);
    IS(CEE3JK);
    CHECK(fc.tok_msgno == 3700 && fc.tok_sev == 0);
    /* The names in lower case are the same functions, and feedback may be left out. */
    _INT4 zero = 0, size = 100;
    _POINTER storage = NULL;
    ceecrhp(&heap, &zero, &zero, &zero, NULL);
    ceegtst(&heap, &size, &storage, NULL);
    CHECK(storage != NULL);
    ceeczst(&storage, &size, NULL);
    ceefrst(&storage, NULL);
    ceedshp(&heap, &fc);
    IS(CEE000);
    cee3rph(heading, &fc);
    IS(CEE3JK);
}

/* Every fault: the answer, and nothing else changes. */
static void faults(void) {
    _INT4 heap = create(8192, 4096, 70), other = create(0, 0, 1);
    CHECK(heap > 0 && other > 0 && heap != other);
    CHECK(create(-1, 0, 0) == -1);
    IS(CEE0P4);
    CHECK(create(0, -4096, 0) == -1);
    IS(CEE0P5);
    CHECK(create(0, 0, 2) == -1);
    IS(CEE0P6);
    unsigned char *kept = get(heap, 300), *mine = get(heap, 300), *last = get(heap, 300), *theirs = get(other, 300);
    memset(kept, 1, 300);
    memset(mine, 2, 300);
    memset(last, 3, 300);
    memset(theirs, 4, 300);
    CHECK(get(12345, 100) == NULL);
    IS(CEE0P3);
    CHECK(fc.tok_sev == 3 && fc.tok_msgno == 803 && memcmp(fc.tok_facid, "CEE", 3) == 0);
    CHECK(fc.tok_case == 1 && fc.tok_sever == 3 && fc.tok_ctrl == 1);
    CHECK(get(heap, 0) == NULL);
    IS(CEE0P8);
    CHECK(get(heap, -100) == NULL);
    IS(CEE0P8);
    CHECK(resize(mine, 0) == mine);
    IS(CEE0P8);
    int of_stack = 0;
    void *wrong[] = {NULL, (void *)8, (void *)-16, mine + 16, mine + 1, mine - 16, &of_stack, &fc};
    for (size_t at = 0; at < sizeof wrong / sizeof *wrong; at++) {
        give_back(wrong[at]);
        IS(CEE0PA);
        CHECK(resize(wrong[at], 50) == wrong[at]);
        IS(CEE0PA);
    }
    give_back(mine);
    IS(CEE000);
    give_back(mine);
    IS(CEE0PA);
    CHECK(resize(mine, 50) == mine);
    IS(CEE0PA);
    /* The element has 312 bytes: its block is 320, with a header of 8. The next header follows. */
    for (int at = 312; at < 320; at++) last[at] ^= 0x55;
    give_back(last);
    IS(CEE0P2);
    CHECK(fc.tok_sev == 4);
    for (int at = 312; at < 320; at++) last[at] ^= 0x55;
    discard(0);
    IS(CEE0PC);
    discard(heap + 1000000);
    IS(CEE0P3);
    CHECK(holds(kept, 300, 1) && holds(theirs, 300, 4));
    discard(other);
    IS(CEE000);
    discard(other);
    IS(CEE0P3);
    CHECK(get(other, 100) == NULL);
    IS(CEE0P3);
    give_back(theirs);
    IS(CEE0PA);
    CHECK(holds(kept, 300, 1) && holds(last, 300, 3));
    give_back(kept);
    IS(CEE000);
    discard(heap);
    /* Heap 0 is malloc's: its functions and the services take each other's elements. */
    unsigned char *element = get(0, 1000);
    memset(element, 9, 1000);
    element = realloc(element, 100000);
    CHECK(holds(element, 1000, 9));
    give_back(element);
    IS(CEE000);
    free(get(0, 50));
}

/* Storage that the machine does not have. */
static void too_much(void) {
    _INT4 heap = create(0, 0, 0);
    size_t count = 0;
    unsigned char *address;
    while (count < 100 && (address = get(heap, 0x7fffffff)) != NULL) count++;
    IS(CEE0PD);
    address = get(heap, 100);
    IS(CEE000);
    CHECK(resize(address, 0x7fffffff) == address);
    IS(CEE0PD);
    discard(heap);
    IS(CEE000);
    give_back(get(create(0, 0, 0), 100000000));
    IS(CEE000);
}

static void many(void) {
    enum { HEAPS = 100000 };
    static _INT4 heaps[HEAPS];
    static unsigned char *storage[HEAPS];
    for (int at = 0; at < HEAPS; at++) {
        heaps[at] = create(4096, 4096, 70);
        IS(CEE000);
        if (at % 100 == 0) memset(storage[at] = get(heaps[at], 100), at / 100, 100);
    }
    for (int at = 0; at < HEAPS; at++) {
        CHECK(storage[at] == NULL || holds(storage[at], 100, at / 100));
        discard(heaps[at]);
        IS(CEE000);
    }
}

static _Atomic _INT4 shared;
static atomic_int served, told, stops;

static void *gets(void *unused) {
    (void)unused;
    while (!stops) {
        _INT4 heap = shared, size = 200;
        _POINTER address;
        _FEEDBACK mine;
        CEEGTST(&heap, &size, &address, &mine);
        if (_FBCHECK(mine, CEE000) == 0) {
            served++;
            CEEFRST(&address, &mine);
            if (_FBCHECK(mine, CEE000) != 0 && _FBCHECK(mine, CEE0PA) != 0) exit(1);
        } else {
            if (_FBCHECK(mine, CEE0P3) != 0) exit(1);
            told++;
        }
    }
    return NULL;
}

/* A heap goes while threads get from it. */
static void threads(void) {
    pthread_t thread[3];
    shared = create(0, 0, 0);
    for (int at = 0; at < 3; at++) CHECK(pthread_create(&thread[at], NULL, gets, NULL) == 0);
    for (int round = 0; round < 20; round++) {
        for (int goal = served + 50; served < goal;) usleep(0);
        discard(shared);
        IS(CEE000);
        for (int goal = told + 1; told < goal;) usleep(0);
        shared = create(0, 0, 0);
    }
    stops = 1;
    for (int at = 0; at < 3; at++) pthread_join(thread[at], NULL);
    discard(shared);
    IS(CEE000);
}

/* A child has the heaps of its parent, and discards its own copy. */
static void child(void) {
    _INT4 heap = create(0, 0, 0), other = create(0, 0, 0);
    unsigned char *mine = get(heap, 1000), *theirs = get(other, 1000);
    memset(mine, 1, 1000);
    memset(theirs, 2, 1000);
    pid_t process = fork();
    if (process == 0) {
        CHECK(holds(mine, 1000, 1));
        memset(theirs, 3, 1000);
        discard(heap);
        IS(CEE000);
        give_back(mine);
        IS(CEE0PA);
        give_back(theirs);
        IS(CEE000);
        exit(0);
    }
    int status = -1;
    CHECK(waitpid(process, &status, 0) == process && status == 0);
    CHECK(holds(mine, 1000, 1) && holds(theirs, 1000, 2));
    discard(heap);
    discard(other);
    IS(CEE000);
}

int main(int count, char **arguments) {
    if (!CEECRHP || !CEEGTST || !CEECZST || !CEEFRST || !CEEDSHP || !CEE3RPH || !ceecrhp) {
        puts("no services");
        return 0;
    }
    const char *which = count > 1 ? arguments[1] : "in-order";
    if (strcmp(which, "in-order") == 0) in_order();
    if (strcmp(which, "faults") == 0) faults();
    if (strcmp(which, "too-much") == 0) too_much();
    if (strcmp(which, "many") == 0) many();
    if (strcmp(which, "threads") == 0) threads();
    if (strcmp(which, "child") == 0) child();
    puts("all held");
    return 0;
}
