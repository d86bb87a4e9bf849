/* Units of work over one kind of arena (ARENA names its file): create, requests of a script, end.
 *
 *     unit SCRIPT TURNS               units one after another
 *     several SCRIPT TURNS LIVE       LIVE units at a time, ten requests of each in turns
 *     live COUNT                      COUNT units of 4 KB each: resident memory
 *     threads SCRIPT TURNS THREADS    threads share one arena, and free what they get
 *     locate TAGS TURNS               buffers found by their names
 *
 * A script is a text of lines "g SLOT SIZE" (get), "z SLOT SIZE" (get zeroed), "r SLOT SIZE" (change the size), "f SLOT" (free), and
 * "e" (end of a unit). The first bytes of each piece are written, and compared when it is freed or moved: overlapping pieces end the
 * run. Prints lines NAME=FIGURE. Exit status 3: the arena is not available here.
 *
 * Each arena is used as its authors mean it: what it cannot do (free a piece, change its size) its users do without it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include ARENA

#ifndef CAN_FREE
#define CAN_FREE 0
static inline void give(arena a, void *piece) { (void)a; (void)piece; }
static inline void *resize(arena a, void *piece, size_t old, size_t size) {
    void *now = get(a, size);
    return now ? memcpy(now, piece, old < size ? old : size) : NULL;
}
#endif

enum kind { GET = 'g', ZEROED = 'z', RESIZE = 'r', FREE = 'f' };

struct op {
    uint32_t kind, slot;
    size_t size;
};

/* The requests of one unit. */
struct unit {
    struct op *ops;
    size_t count, slots;
};

struct script {
    struct unit *units;
    size_t count, slots;
};

/* A unit on its way. */
struct state {
    arena of;
    const struct unit *unit;
    size_t next;
    void **pieces;
    size_t *sizes;
};

static void fail(const char *why) {
    fprintf(stderr, "driver: %s\n", why);
    exit(2);
}

static struct script read_script(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) fail(path);
    struct script script = {0};
    struct unit unit = {0};
    char kind;
    while (fscanf(file, " %c", &kind) == 1) {
        if (kind == 'e') {
            script.units = realloc(script.units, (script.count + 1) * sizeof unit);
            script.units[script.count++] = unit;
            if (unit.slots > script.slots) script.slots = unit.slots;
            unit = (struct unit){0};
            continue;
        }
        struct op op = {.kind = (uint32_t)kind};
        if (fscanf(file, "%u", &op.slot) != 1) fail("a line without a slot");
        if (kind != FREE && fscanf(file, "%zu", &op.size) != 1) fail("a line without a size");
        unit.ops = realloc(unit.ops, (unit.count + 1) * sizeof op);
        unit.ops[unit.count++] = op;
        if (op.slot >= unit.slots) unit.slots = op.slot + 1;
    }
    fclose(file);
    if (!script.count) fail("an empty script");
    return script;
}

/* Writes the first bytes of a piece. */
static inline void touch(void *piece, size_t size, uint32_t slot) {
    if (size >= 8)
        *(uint64_t *)piece = slot;
    else if (size)
        *(unsigned char *)piece = (unsigned char)slot;
}

static inline void compare(const void *piece, size_t size, uint32_t slot) {
    if (size >= 8 ? *(const uint64_t *)piece != slot : size && *(const unsigned char *)piece != (unsigned char)slot)
        fail("a piece has other contents than were written");
}

/* Serves requests of a unit, at most this many; true when it is done. */
static inline int serve(struct state *state, size_t most) {
    const struct unit *unit = state->unit;
    arena a = state->of;
    void **pieces = state->pieces;
    size_t *sizes = state->sizes;
    size_t end = unit->count - state->next > most ? state->next + most : unit->count;
    for (size_t at = state->next; at < end; at++) {
        struct op op = unit->ops[at];
        void *piece = pieces[op.slot];
        switch (op.kind) {
        case GET: piece = get(a, op.size); break;
        case ZEROED: piece = get_zeroed(a, op.size); break;
        case RESIZE:
            compare(piece, sizes[op.slot] < op.size ? sizes[op.slot] : op.size, op.slot);
            piece = resize(a, piece, sizes[op.slot], op.size);
            break;
        default:
            compare(piece, sizes[op.slot], op.slot);
            give(a, piece);
            pieces[op.slot] = NULL;
            continue;
        }
        if (!piece) fail("no storage");
        touch(piece, op.size, op.slot);
        pieces[op.slot] = piece;
        sizes[op.slot] = op.size;
    }
    state->next = end;
    return end == unit->count;
}

/* Ends a unit; all of its storage is free. */
static inline void finish(struct state *state) {
#ifdef FREES_ONE_BY_ONE
    for (size_t slot = 0; slot < state->unit->slots; slot++) {
        give(state->of, state->pieces[slot]);
        state->pieces[slot] = NULL;
    }
#endif
    end(state->of);
}

static struct state new_state(const struct script *script) {
    struct state state = {0};
    state.pieces = calloc(script->slots, sizeof *state.pieces);
    state.sizes = calloc(script->slots, sizeof *state.sizes);
    return state;
}

static uint64_t now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t elapsed, cpu;

static void begin_time(void) {
    elapsed = now(CLOCK_MONOTONIC);
    cpu = now(CLOCK_PROCESS_CPUTIME_ID);
}

static void end_time(uint64_t turns) {
    cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    elapsed = now(CLOCK_MONOTONIC) - elapsed;
    printf("turns=%llu\nelapsed_ns=%llu\ncpu_ns=%llu\n", (unsigned long long)turns, (unsigned long long)elapsed,
           (unsigned long long)cpu);
}

static void unit(const char *path, size_t turns) {
    struct script script = read_script(path);
    struct state state = new_state(&script);
    for (size_t turn = 0; turn < turns + turns / 8; turn++) {
        if (turn == turns / 8) begin_time();
        state.unit = &script.units[turn % script.count];
        state.of = create();
        state.next = 0;
        enter(state.of);
        serve(&state, SIZE_MAX);
        leave(state.of);
        finish(&state);
    }
    end_time(turns);
}

static void several(const char *path, size_t turns, size_t live) {
    struct script script = read_script(path);
    struct state *states = calloc(live, sizeof *states);
    size_t begun = 0, done = 0;
    for (size_t at = 0; at < live; at++) {
        states[at] = new_state(&script);
        states[at].unit = &script.units[begun++ % script.count];
        states[at].of = create();
    }
    for (size_t at = 0; done < turns + turns / 8; at = at + 1 < live ? at + 1 : 0) {
        struct state *state = &states[at];
        enter(state->of);
        int is_done = serve(state, 10);
        leave(state->of);
        if (!is_done) continue;
        finish(state);
        if (++done == turns / 8) begin_time();
        state->unit = &script.units[begun++ % script.count];
        state->next = 0;
        state->of = create();
    }
    end_time(turns);
}

/* Resident memory, in bytes. */
static uint64_t resident(void) {
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*u %llu", &pages) != 1) fail("no /proc/self/statm");
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* 4,096 bytes, in pieces of sizes that every allocator has: what else it takes is its own. */
static const size_t PIECES[] = {512, 32, 64, 32, 256, 128, 1024, 64, 256, 32, 128, 32, 256, 64, 512, 32, 128, 32, 256, 64, 32, 128, 32};

static void live(size_t count) {
    size_t sum = 0, pieces = sizeof PIECES / sizeof *PIECES;
    for (size_t at = 0; at < pieces; at++) sum += PIECES[at];
    if (sum != 4096) fail("the pieces are not 4,096 bytes");
    arena *all = calloc(count, sizeof *all);
    memset(all, 1, count * sizeof *all);
    uint64_t before = resident();
    begin_time();
    for (size_t one = 0; one < count; one++) {
        all[one] = create();
        enter(all[one]);
        for (size_t at = 0; at < pieces; at++) {
            void *piece = get(all[one], PIECES[at]);
            if (!piece) fail("no storage");
            memset(piece, (int)at, PIECES[at]);
        }
        leave(all[one]);
    }
    end_time(count);
    printf("requested=%llu\nresident=%llu\n", (unsigned long long)count * sum, (unsigned long long)(resident() - before));
    fflush(stdout);
    /* Ending them is not part of it, but they must be there until now: malloc has no end for them. */
    for (size_t one = 0; one < count; one++) end(all[one]);
}

#ifdef IS_SHARED
struct task {
    const struct script *script;
    arena of;
    size_t turns;
    pthread_barrier_t *barrier;
};

static void *thread(void *argument) {
    struct task *task = argument;
    struct state state = new_state(task->script);
    state.of = task->of;
    enter(state.of);
    for (size_t turn = 0; turn < task->turns + task->turns / 8; turn++) {
        if (turn == task->turns / 8) {
            pthread_barrier_wait(task->barrier);
            pthread_barrier_wait(task->barrier);
        }
        state.unit = &task->script->units[0];
        state.next = 0;
        serve(&state, SIZE_MAX);
        for (size_t slot = 0; slot < state.unit->slots; slot++)
            if (state.pieces[slot]) {
                compare(state.pieces[slot], state.sizes[slot], (uint32_t)slot);
                give(state.of, state.pieces[slot]);
                state.pieces[slot] = NULL;
            }
    }
    pthread_barrier_wait(task->barrier);
    leave(state.of);
    return NULL;
}

static void threads(const char *path, size_t turns, size_t count) {
    struct script script = read_script(path);
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, (unsigned)count + 1);
    struct task task = {&script, create(), turns, &barrier};
    pthread_t ids[64];
    if (count > 64) fail("at most 64 threads");
    for (size_t one = 0; one < count; one++)
        if (pthread_create(&ids[one], NULL, thread, &task)) fail("no thread");
    pthread_barrier_wait(&barrier);
    begin_time();
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    end_time(turns * count);
    for (size_t one = 0; one < count; one++) pthread_join(ids[one], NULL);
    end(task.of);
}
#endif

#ifdef HAS_NAMES
static void locate(size_t tags, size_t turns) {
    char(*names)[8] = malloc(tags * 8), (*wanted)[8] = malloc(tags * 8);
    uint32_t *numbers = malloc(tags * sizeof *numbers);
    uint64_t random = 1;
    for (size_t tag = 0; tag < tags; tag++) {
        char name[24];
        snprintf(name, sizeof name, "%08zu", tag);
        memcpy(names[tag], name, 8);
        numbers[tag] = (uint32_t)tag;
    }
    for (size_t last = tags; last > 1; last--) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t other = (size_t)((random >> 33) % last);
        uint32_t kept = numbers[last - 1];
        numbers[last - 1] = numbers[other];
        numbers[other] = kept;
    }
    /* In the order of the search, so that the names themselves are read in sequence. */
    for (size_t at = 0; at < tags; at++) memcpy(wanted[at], names[numbers[at]], 8);
    arena of = create();
    enter(of);
    void **pieces = underbar_process_malloc(tags * sizeof *pieces);
    for (size_t tag = 0; tag < tags; tag++) {
        pieces[tag] = malloc(64);
        if (!pieces[tag] || underbar_ecb_tag(pieces[tag], names[tag], 8)) fail("a buffer was not tagged");
    }
    for (size_t at = 0; at < tags; at++)
        if (underbar_ecb_locate(wanted[at], 8, NULL) != pieces[numbers[at]]) fail("another buffer was found");
    uintptr_t sum = 0;
    begin_time();
    for (size_t turn = 0, at = 0; turn < turns; turn++, at = at + 1 < tags ? at + 1 : 0)
        sum += (uintptr_t)underbar_ecb_locate(wanted[at], 8, NULL);
    end_time(turns);
    if (!sum) fail("nothing was found");
    leave(of);
    end(of);
    free(pieces);
}
#endif

int main(int count, char **words) {
    if (count < 3) fail("WHAT ARGUMENTS");
    if (!available()) return 3;
    const char *what = words[1];
    size_t last = count > 4 ? (size_t)strtoull(words[4], NULL, 10) : 0;
    size_t third = count > 3 ? (size_t)strtoull(words[3], NULL, 10) : 0;
    if (!strcmp(what, "unit") && third)
        unit(words[2], third);
    else if (!strcmp(what, "several") && third && last)
        several(words[2], third, last);
    else if (!strcmp(what, "live"))
        live((size_t)strtoull(words[2], NULL, 10));
#ifdef IS_SHARED
    else if (!strcmp(what, "threads") && third && last)
        threads(words[2], third, last);
#endif
#ifdef HAS_NAMES
    else if (!strcmp(what, "locate") && third)
        locate((size_t)strtoull(words[2], NULL, 10), third);
#endif
    else
        fail("nothing of this name here");
    return 0;
}
