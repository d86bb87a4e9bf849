//! Calls by which a thread sleeps until another one wakes it, as long as a word has the expected value.
//!
//! All are private to this process: words in shared files need other means.

use core::sync::atomic::AtomicU32;

use super::{Result, Timespec, number, syscall3, syscall6};

const FUTEX_WAIT_PRIVATE: usize = 128;
const FUTEX_WAKE_PRIVATE: usize = 1 | 128;
const FUTEX_WAIT_BITSET_PRIVATE: usize = 9 | 128;
const FUTEX_WAKE_BITSET_PRIVATE: usize = 10 | 128;

/// Sleeps while `word` holds `expected`, at most `timeout` nanoseconds. May wake without a reason: check again.
///
/// [`Errno::EAGAIN`](super::Errno::EAGAIN): the word had another value. [`Errno::ETIMEDOUT`](super::Errno::ETIMEDOUT),
/// [`Errno::EINTR`](super::Errno::EINTR): as named.
/// Private to this process: words in shared files need other means.
#[inline]
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout: Option<u64>) -> Result<()> {
    futex_sleep(word, FUTEX_WAIT_PRIVATE, expected, timeout.map(Timespec::of).as_ref(), 0)
}

/// Wakes at most `count` threads that sleep in [`futex_wait`] on `word`; returns how many.
#[inline]
pub fn futex_wake(word: &AtomicU32, count: u32) -> Result<usize> {
    // SAFETY: the kernel uses only the word's address.
    unsafe { syscall3(number::FUTEX, core::ptr::from_ref(word) as usize, FUTEX_WAKE_PRIVATE, count as usize) }
}

/// Sleeps while `word` holds `expected`, until a time of the monotonic clock, in the wait queues that share a bit of `rooms`.
///
/// Like [`futex_wait`], but the time is an absolute one, not a duration.
#[inline]
pub fn futex_wait_until(word: &AtomicU32, expected: u32, deadline: Option<u64>, rooms: u32) -> Result<()> {
    futex_sleep(word, FUTEX_WAIT_BITSET_PRIVATE, expected, deadline.map(Timespec::of).as_ref(), rooms)
}

/// As [`futex_wait_until`], until a time of the wall clock.
#[inline]
pub fn futex_wait_until_wall_clock(word: &AtomicU32, expected: u32, deadline: u64, rooms: u32) -> Result<()> {
    const FUTEX_CLOCK_REALTIME: usize = 256;
    let deadline = Timespec::of(deadline);
    futex_sleep(word, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, expected, Some(&deadline), rooms)
}

/// Wakes at most `count` of the threads that sleep on the word at this address in one of `rooms`; returns how many. Does not
/// read the word, which may be gone.
#[inline]
pub fn futex_wake_at(word: *const AtomicU32, count: u32, rooms: u32) -> Result<usize> {
    // SAFETY: the kernel uses only the address.
    unsafe {
        syscall6(
            number::FUTEX,
            word as usize,
            FUTEX_WAKE_BITSET_PRIVATE,
            count as usize,
            0,
            0,
            rooms as usize,
        )
    }
}

#[inline]
fn futex_sleep(
    word: &AtomicU32,
    operation: usize,
    expected: u32,
    time: Option<&Timespec>,
    rooms: u32,
) -> Result<()> {
    let word = core::ptr::from_ref(word) as usize;
    let time = time.map_or(core::ptr::null(), core::ptr::from_ref) as usize;
    // SAFETY: the kernel reads the word, which outlives the call, and the time, which is borrowed.
    unsafe { syscall6(number::FUTEX, word, operation, expected as usize, time, 0, rooms as usize)? };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscall::Errno;
    use core::sync::atomic::Ordering;

    #[test]
    fn futex_sees_a_changed_word_and_a_timeout() {
        let word = AtomicU32::new(1);
        assert_eq!(futex_wait(&word, 0, None), Err(Errno::EAGAIN));
        assert_eq!(futex_wait(&word, 1, Some(1)), Err(Errno::ETIMEDOUT));
        assert_eq!(futex_wake(&word, 1), Ok(0));
        assert_eq!(word.load(Ordering::Relaxed), 1);
    }
}
