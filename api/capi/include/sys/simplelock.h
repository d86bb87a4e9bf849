/* sys/simplelock.h: simple locks, by the names of z/TPF.
 *
 * A lock of eight bytes. All zeros are a free lock, so static locks need no call. Size, alignment and the meaning of
 * zeros are a promise; what stands in the words is not: use the calls alone, and no later version needs a change.
 *
 * One compare-and-swap to lock and one to unlock where nobody waits. Threads that wait only read, few of them and
 * briefly, then sleep; one that has waited for a millisecond has the lock reserved. The memory of a lock is not touched
 * after it was given up: the next holder may free it.
 *
 * Not recursive. Not for memory shared between processes. What must not be done, and what comes of it:
 *
 *   locking what one holds            waits for ever
 *   locking in a signal handler       the same, where the handler interrupted the holder; only simple_trylock is safe
 *                                     there, and only together with its simple_unlock
 *   unlocking what nobody holds       EPERM, and nothing is done
 *   unlocking what another holds      gives it up: one word cannot tell whose it is
 *   ending a thread that holds one    it stays taken
 *   fork while others hold some       in the child they stay taken; what the forking thread holds, the child holds
 *
 * With SIMPLE_LOCK_DEBUG defined before this header each of these is found, named with the lock, the threads and both
 * places in the source, and ends the program by abort; see below. Locks are of the same size and the same words in both
 * forms: files compiled with it and without it may share one, as long as each unlocks what it has locked.
 */
#ifndef UNDERBAR_SYS_SIMPLELOCK_H
#define UNDERBAR_SYS_SIMPLELOCK_H

#include <time.h>

/* <time.h> has it under POSIX only, not under plain ISO C. */
struct timespec;

#ifdef __cplusplus
extern "C" {
#endif

/* A lock. */
typedef struct simplelock {
    unsigned int underbar_private[2];
} simplelock_t;

/* A free lock. */
#define SIMPLE_LOCK_INIT {{0, 0}}

/* Makes a lock free, whatever was in its memory. Nobody may hold it or wait for it. */
void simple_lock_init(simplelock_t *lock);

/* Waits for the lock. */
void simple_lock(simplelock_t *lock);

/* Takes the lock if it is free: 0, otherwise EBUSY. */
int simple_trylock(simplelock_t *lock);

/* Waits for the lock until a time of CLOCK_MONOTONIC: 0, ETIMEDOUT, or EINVAL for nanoseconds out of range. */
int simple_timedlock(simplelock_t *lock, const struct timespec *until);

/* Gives the lock up: 0, or EPERM where nobody held it. */
int simple_unlock(simplelock_t *lock);

/* ---- the debug form --------------------------------------------------------------------------------------------- */

#ifdef SIMPLE_LOCK_DEBUG

/* What was found. */
enum simplelock_fault_code {
    SIMPLE_LOCK_LOCKED_TWICE = 1,
    SIMPLE_LOCK_IN_SIGNAL_HANDLER = 2,
    SIMPLE_LOCK_NOT_HOLDER = 3,
    SIMPLE_LOCK_NOT_LOCKED = 4,
    SIMPLE_LOCK_HOLDER_ENDED = 5,
    SIMPLE_LOCK_HELD_ACROSS_FORK = 6
};

/* A fault. Numbers of threads are the system's (gettid); holder is 0 where nobody holds the lock, signal where none is
 * known. The text is one line that says all of it, and lasts as long as the call of the handler. */
struct simplelock_fault {
    unsigned int code;
    unsigned int thread;
    unsigned int holder;
    unsigned int signal;
    const void *lock;
    const char *text;
};

typedef void (*simplelock_fault_handler)(const struct simplelock_fault *fault);

/* Calls this for each fault, in place of one line on standard error and abort; NULL: as before. It may be called in a
 * signal handler, where the fault is found in one. When it returns, the call fails: simple_unlock with EPERM,
 * simple_timedlock with EDEADLK, both having done nothing; simple_lock, which cannot fail, waits as it would without the
 * debug form. */
void simple_lock_on_fault(simplelock_fault_handler handler);

/* Where a call is. */
struct simplelock_place {
    const char *file;
    unsigned int line;
};

void simple_lock_init_debug(simplelock_t *lock);
void simple_lock_debug(simplelock_t *lock, const struct simplelock_place *place);
int simple_trylock_debug(simplelock_t *lock, const struct simplelock_place *place);
int simple_timedlock_debug(simplelock_t *lock, const struct timespec *until, const struct simplelock_place *place);
int simple_unlock_debug(simplelock_t *lock, const struct simplelock_place *place);

#define UNDERBAR_PLACED(call) \
    __extension__({ \
        static const struct simplelock_place underbar_place = {__FILE__, __LINE__}; \
        call; \
    })
#define simple_lock_init(lock) simple_lock_init_debug(lock)
#define simple_lock(lock) UNDERBAR_PLACED(simple_lock_debug((lock), &underbar_place))
#define simple_trylock(lock) UNDERBAR_PLACED(simple_trylock_debug((lock), &underbar_place))
#define simple_timedlock(lock, until) UNDERBAR_PLACED(simple_timedlock_debug((lock), (until), &underbar_place))
#define simple_unlock(lock) UNDERBAR_PLACED(simple_unlock_debug((lock), &underbar_place))

#endif

#ifdef __cplusplus
}
#endif

#endif
