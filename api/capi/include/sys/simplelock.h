/* sys/simplelock.h: simple locks, by the names of z/TPF.
 *
 * A lock of eight bytes. All zeros are a free lock, so static locks need no call. Size, alignment and the meaning of
 * zeros are a promise; what stands in the words is not: use the calls alone, and no later version needs a change.
 *
 * One compare-and-swap to lock and one to unlock where nobody waits. Threads that wait only read, few of them and
 * briefly, then sleep; one that has waited for a millisecond has the lock reserved. The memory of a lock is not touched
 * after it was given up: the next holder may free it.
 *
 * Not recursive. Not for memory shared between processes. A lock taken by a thread that ends stays taken. Unlocking a
 * lock that nobody holds does nothing and says so; unlocking one that another thread holds gives it up. In a signal
 * handler only simple_trylock is safe, and only together with its simple_unlock. After fork the child's locks are as
 * they were: those that other threads held stay held.
 */
#ifndef UNDERBAR_SYS_SIMPLELOCK_H
#define UNDERBAR_SYS_SIMPLELOCK_H

#include <time.h>

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

#ifdef __cplusplus
}
#endif

#endif
