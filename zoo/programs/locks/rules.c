/* Threads that wait for each other as the rules about locks describe it, each case by structure and not by chance:
   who waits, how often, and what the holder does meanwhile. How long is measured here, and waited for, never assumed.

   rules blocks     the holder is in write while the other waits
   rules computes   it computes, but for one write
   rules near       two locks in one line, each waited for
   rules far        the same, each in its own
   rules again      one thread gives a lock up and takes it again, for hundreds of times, while the other waits
   rules turns      two threads give it to each other
   rules short      the same, at once: who waits, waits for a moment. Says "alone" where the two were not let run at one time
   rules adaptive   an adaptive mutex is held for long
   rules hot N      four threads take it N times each, and work outside of it, too
   rules steady N   three threads take it N times each, and sleep for a moment while they hold it: somebody always waits */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MILLISECOND 1000000L

/* Forty bytes each: the second begins in the first one's line. */
struct line {
    pthread_mutex_t first, second;
} __attribute__((aligned(128)));
struct line line = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
pthread_mutex_t apart __attribute__((aligned(128))) = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t hot __attribute__((aligned(128))) = PTHREAD_MUTEX_INITIALIZER;

static pthread_mutex_t *shared;
static int ends[2];
static atomic_int wants, has, is_over, was_alone;
static atomic_long waited, waits, moments, in_moments;
static volatile unsigned long sum;
static long began;
static pthread_t main_thread;

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

static void a_moment(void) {
    struct timespec moment = {0, 50000};
    nanosleep(&moment, NULL);
}

/* Until somebody sleeps for it, as the C library marks it. */
static void until_wanted(pthread_mutex_t *lock) {
    while (*(volatile int *)&lock->__data.__lock != 2) a_moment();
}

static void compute(long ns) {
    for (long until = now() + ns; now() < until;) sum++;
}

static long timed_lock(pthread_mutex_t *lock) {
    long before = now();
    pthread_mutex_lock(lock);
    long took = now() - before;
    waited += took;
    waits++;
    return took;
}

static pthread_t begin(void *(*what)(void *), void *with) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, what, with)) exit(3);
    return thread;
}

/* ---- one waits while the other holds ---- */

static void *waits_once(void *lock) {
    wants = 1;
    timed_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

static void *reads_a_page(void *page) {
    until_wanted(shared);
    // Who waits looks after one millisecond, and after ten.
    struct timespec longer = {0, 15 * MILLISECOND};
    nanosleep(&longer, NULL);
    if (read(ends[0], page, 4096) != 4096) exit(4);
    return NULL;
}

/* Into a pipe that is full, until somebody reads. */
__attribute__((noinline)) static void write_while_held(void) {
    static char page[4096], room[4096];
    pthread_t reader = begin(reads_a_page, room);
    if (write(ends[1], page, sizeof page) != sizeof page) exit(5);
    pthread_join(reader, NULL);
}

enum held { WRITES, COMPUTES };

static void hold(pthread_mutex_t *lock, enum held how) {
    shared = lock;
    wants = 0;
    pthread_mutex_lock(lock);
    pthread_t waiter = begin(waits_once, lock);
    while (!wants) a_moment();
    if (how == WRITES) {
        write_while_held();
    } else {
        until_wanted(lock);
        compute(5 * MILLISECOND);
    }
    pthread_mutex_unlock(lock);
    pthread_join(waiter, NULL);
}

static void fill_pipe(void) {
    static char page[4096];
    if (pipe2(ends, O_NONBLOCK)) exit(6);
    while (write(ends[1], page, sizeof page) > 0) {}
    for (int end = 0; end < 2; end++)
        if (fcntl(ends[end], F_SETFL, 0)) exit(7);
}

/* ---- one takes it again and again ---- */

/* On this one of the processors that the program may use, by their order; on the last where there are fewer. */
static void on_processor(int which) {
    cpu_set_t all, one;
    if (pthread_getaffinity_np(main_thread, sizeof all, &all)) exit(8);
    for (int processor = 0; processor < CPU_SETSIZE && which >= 0; processor++)
        if (CPU_ISSET(processor, &all)) {
            CPU_ZERO(&one);
            CPU_SET(processor, &one);
            which--;
        }
    if (sched_setaffinity(0, sizeof one, &one)) exit(8);
}

/* Both on one processor, and who is woken does not push the other aside: so what is given up is taken again. */
static void on_one_processor(void) {
    on_processor(0);
    struct sched_param none = {0};
    if (sched_setscheduler(0, SCHED_BATCH, &none)) exit(9);
}

/* Served so often, the waiter does not starve, and will not. */
enum { SHORT = 20, OFTEN = 300, SERVED = 200 };

static int by_length(const void *one, const void *other) {
    long a = *(const long *)one, b = *(const long *)other;
    return (a > b) - (a < b);
}

static void *waits_now_and_then(void *lock) {
    long took[SHORT];
    for (int round = 0; round < SHORT; round++) {
        while (wants != round + 1) a_moment();
        long before = now();
        pthread_mutex_lock(lock);
        took[round] = now() - before;
        has = round + 1;
        pthread_mutex_unlock(lock);
    }
    qsort(took, SHORT, sizeof *took, by_length);
    waited = took[SHORT / 2];
    while (wants != SHORT + 1) a_moment();
    // Should it ever get it between, it comes again.
    while (!is_over) {
        pthread_mutex_lock(lock);
        has++;
        pthread_mutex_unlock(lock);
    }
    return NULL;
}

/* Twenty short waits, and one that is thirty times as long as most of them. */
static void again(void) {
    on_one_processor();
    pthread_mutex_lock(&hot);
    pthread_t waiter = begin(waits_now_and_then, &hot);
    for (int round = 0; round < SHORT; round++) {
        wants = round + 1;
        until_wanted(&hot);
        pthread_mutex_unlock(&hot);
        while (has != round + 1) a_moment();
        pthread_mutex_lock(&hot);
    }
    while (!waited) a_moment();
    long least = waited * 30 > 5 * MILLISECOND ? waited * 30 : 5 * MILLISECOND;
    wants = SHORT + 1;
    long from = now();
    int had = has, served = 0;
    for (int times = 0; served < SERVED && (times < OFTEN || now() - from < least); times++) {
        until_wanted(&hot);
        pthread_mutex_unlock(&hot);
        pthread_mutex_lock(&hot);
        if (has != had) {
            from = now();
            had = has;
            served++;
        }
    }
    is_over = 1;
    pthread_mutex_unlock(&hot);
    pthread_join(waiter, NULL);
}

/* ---- they give it to each other ---- */

struct side {
    int me;
    atomic_int thread, comes;
    struct side *other;
};

/* Whether a thread sleeps for a mutex: the word does not tell, as who slept for it leaves a 2. */
static int sleeps(int thread) {
    char path[64], text[8] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread);
    int fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof text - 1) < 0) exit(10);
    close(fd);
    return !strncmp(text, "202 ", 4);
}

static void *gives_and_takes(void *with) {
    struct side *side = with;
    side->thread = gettid();
    for (int turn = 1;; turn++) {
        side->comes = 1;
        timed_lock(&hot);
        side->comes = 0;
        has = side->me;
        if (turn > 200 && waited > 50 * MILLISECOND) is_over = 1;
        if (is_over) break;
        while (!side->other->comes || !sleeps(side->other->thread)) a_moment();
        pthread_mutex_unlock(&hot);
        while (has == side->me) a_moment();
    }
    pthread_mutex_unlock(&hot);
    return NULL;
}

static void by_turns(void *(*how)(void *)) {
    static struct side sides[2] = {{.me = 1, .other = sides + 1}, {.me = 2, .other = sides}};
    began = now();
    pthread_t one = begin(how, &sides[0]), two = begin(how, &sides[1]);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
}

/* ---- short ---- */

/* Before all others on it, where the system allows that: next to other work the two seldom run at the same time. */
static void first_on_processor(int which) {
    on_processor(which);
    struct sched_param first = {.sched_priority = 1};
    sched_setscheduler(0, SCHED_FIFO, &first);
}

/* Each has a processor, and gives it up as soon as the other asks, who waits for a moment; longer where one of them was
   not let run. */
static void *gives_at_once(void *with) {
    struct side *side = with;
    first_on_processor(side->me - 1);
    for (int turn = 1;; turn++) {
        side->comes = 1;
        // What was free is no wait: where the two do not run at the same time, nearly all are that.
        if (pthread_mutex_trylock(&hot)) {
            long wait = timed_lock(&hot);
            if (wait < 3000) {
                moments++;
                in_moments += wait;
            }
        }
        side->comes = 0;
        has = side->me;
        // So many that their time counts, and the moments outnumber the rest: of all that was waited, one time in which a thread was
        // not let run may be the most. Not for ever where the two never run at the same time.
        long took = now() - began;
        int are_enough = in_moments > 60 * MILLISECOND && waited > took / 25 && moments > waits / 8 * 5;
        if (!are_enough && took > 20000 * MILLISECOND && !is_over) was_alone = 1;
        if (are_enough || was_alone) is_over = 1;
        if (is_over) break;
        for (int looks = 1; !side->other->comes; looks++)
            if (looks % 4096 == 0) sched_yield();
        for (int work = 0; work < 16 * (turn % 8); work++) sum++;
        pthread_mutex_unlock(&hot);
        for (int looks = 1; has == side->me; looks++)
            if (looks % 4096 == 0) sched_yield();
    }
    pthread_mutex_unlock(&hot);
    return NULL;
}

/* ---- hot ---- */

static void *takes_often(void *times) {
    unsigned long own = 1;
    for (long left = *(long *)times; left > 0; left--) {
        pthread_mutex_lock(&hot);
        sum++;
        pthread_mutex_unlock(&hot);
        for (int work = 0; work < 100; work++) own = own * 6364136223846793005 + 1442695040888963407;
    }
    return (void *)(own | 1);
}

/* ---- steady ---- */

static void *sleeps_with_it(void *times) {
    for (long left = *(long *)times; left > 0; left--) {
        pthread_mutex_lock(&hot);
        a_moment();
        sum++;
        pthread_mutex_unlock(&hot);
    }
    return NULL;
}

int main(int words, char **argv) {
    main_thread = pthread_self();
    const char *what = words > 1 ? argv[1] : "";
    if (!strcmp(what, "blocks")) {
        fill_pipe();
        for (int round = 0; round < 12; round++) hold(&hot, WRITES);
    } else if (!strcmp(what, "computes")) {
        fill_pipe();
        hold(&hot, WRITES);
        for (int round = 0; round < 40; round++) hold(&hot, COMPUTES);
    } else if (!strcmp(what, "near") || !strcmp(what, "far")) {
        for (int round = 0; round < 6; round++) {
            hold(&line.first, COMPUTES);
            hold(*what == 'n' ? &line.second : &apart, COMPUTES);
        }
    } else if (!strcmp(what, "again")) {
        again();
    } else if (!strcmp(what, "turns")) {
        by_turns(gives_and_takes);
    } else if (!strcmp(what, "short")) {
        by_turns(gives_at_once);
    } else if (!strcmp(what, "adaptive")) {
        pthread_mutexattr_t kind;
        pthread_mutexattr_init(&kind);
        pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ADAPTIVE_NP);
        pthread_mutex_init(&hot, &kind);
        for (int round = 0; round < 20; round++) hold(&hot, COMPUTES);
    } else if (!strcmp(what, "hot") && words > 2) {
        long times = atol(argv[2]);
        pthread_t threads[4];
        for (int number = 0; number < 4; number++) threads[number] = begin(takes_often, &times);
        for (int number = 0; number < 4; number++) pthread_join(threads[number], NULL);
        printf("%lu\n", sum);
    } else if (!strcmp(what, "steady") && words > 2) {
        long times = atol(argv[2]);
        pthread_t threads[3];
        for (int number = 0; number < 3; number++) threads[number] = begin(sleeps_with_it, &times);
        for (int number = 0; number < 3; number++) pthread_join(threads[number], NULL);
        printf("%lu\n", sum);
    } else {
        return 2;
    }
    puts(was_alone ? "alone" : "done");
    return 0;
}
