/* The C library's private names of atomic operations, by those of the compiler. */
#pragma once

#define atomic_load_relaxed(at) __atomic_load_n (at, __ATOMIC_RELAXED)
#define atomic_load_acquire(at) __atomic_load_n (at, __ATOMIC_ACQUIRE)
#define atomic_store_relaxed(at, value) __atomic_store_n (at, value, __ATOMIC_RELAXED)
#define atomic_store_release(at, value) __atomic_store_n (at, value, __ATOMIC_RELEASE)
#define atomic_fetch_add_relaxed(at, value) __atomic_fetch_add (at, value, __ATOMIC_RELAXED)
#define atomic_compare_exchange_weak_acquire(at, expected, value) \
  __atomic_compare_exchange_n (at, expected, value, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)
#define atomic_compare_exchange_weak_release(at, expected, value) \
  __atomic_compare_exchange_n (at, expected, value, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED)
#define atomic_increment(at) ((void) __atomic_fetch_add (at, 1, __ATOMIC_ACQ_REL))
#define atomic_decrement(at) ((void) __atomic_fetch_sub (at, 1, __ATOMIC_ACQ_REL))
#define atomic_full_barrier() __atomic_thread_fence (__ATOMIC_SEQ_CST)
