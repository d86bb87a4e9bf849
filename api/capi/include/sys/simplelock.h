/* sys/simplelock.h: simple locks, by the names of z/TPF.
 *
 * A lock of eight bytes. All zeros are a free lock, so static locks need no call. Size, alignment and the meaning of
 * zeros are a promise; the content of the words is not. If you use only the calls, no later version needs a change.
 *
 * Without waiters, locking and unlocking are one compare-and-swap each. Waiting threads only read, few of them and
 * briefly, then sleep; the lock is reserved for a thread that has waited for a millisecond. The memory of a lock is not
 * touched after its release: the next holder may free it.
 *
 * Not recursive. Not for memory shared between processes. Errors and their consequences:
 *
 *   locking a lock that one holds     waits forever
 *   locking in a signal handler       the same, if the handler interrupted the holder; only simple_trylock is safe
 *                                     there, and only together with its simple_unlock
 *   unlocking a free lock             EPERM, without any change
 *   unlocking another thread's lock   releases it: one word cannot tell its holder
 *   ending a thread that holds one    it stays taken
 *   fork while others hold some       in the child they stay taken; the child holds the locks of the forking thread
 *
 * With SIMPLE_LOCK_DEBUG defined before this header each of these is found, named with the lock, the threads and both
 * places in the source, and ends the program by abort; see below. Locks have the same size and the same words in both
 * forms: files compiled with it and without it may share one, as long as each unlocks the locks that it takes.
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

/* Makes a lock free, whatever was in its memory. No thread may hold it or wait for it. */
void simple_lock_init(simplelock_t *lock);

/* Waits for the lock. */
void simple_lock(simplelock_t *lock);

/* Takes the lock if it is free: 0, otherwise EBUSY. */
int simple_trylock(simplelock_t *lock);

/* Waits for the lock until a time of CLOCK_MONOTONIC: 0, ETIMEDOUT, or EINVAL for nanoseconds out of range. */
int simple_timedlock(simplelock_t *lock, const struct timespec *until);

/* Releases the lock: 0, or EPERM if no thread held it. */
int simple_unlock(simplelock_t *lock);

/* ---- the debug form --------------------------------------------------------------------------------------------- */

#ifdef SIMPLE_LOCK_DEBUG

/* Kinds of faults. */
enum simplelock_fault_code {
    SIMPLE_LOCK_LOCKED_TWICE = 1,
    SIMPLE_LOCK_IN_SIGNAL_HANDLER = 2,
    SIMPLE_LOCK_NOT_HOLDER = 3,
    SIMPLE_LOCK_NOT_LOCKED = 4,
    SIMPLE_LOCK_HOLDER_ENDED = 5,
    SIMPLE_LOCK_HELD_ACROSS_FORK = 6
};

/* A fault. Numbers of threads are the system's (gettid); holder is 0 if no thread holds the lock, signal is 0 if
 * unknown. The text is one line with the whole message, valid during the call of the handler. */
struct simplelock_fault {
    unsigned int code;
    unsigned int thread;
    unsigned int holder;
    unsigned int signal;
    const void *lock;
    const char *text;
};

typedef void (*simplelock_fault_handler)(const struct simplelock_fault *fault);

/* Calls this function for each fault, in place of one line on standard error and abort; NULL: as before. It may be called
 * in a signal handler, if the fault is found in one. When it returns, the call fails without any change: simple_unlock
 * with EPERM, simple_timedlock with EDEADLK; simple_lock, which cannot fail, waits as it would without the debug
 * form. */
void simple_lock_on_fault(simplelock_fault_handler handler);

/* The place of a call. */
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
