//! The number of the calling thread, as the kernel has it and as mutexes name their holders.
//!
//! Cost: a load and a test, except on a thread's first call.

use underbar_sys::syscall;

use crate::thread_word::thread_word;

// The number of this thread; 0: not read yet.
thread_word!(number, set_number, "underbar_thread_number", "0");

/// This thread, as the kernel numbers it.
#[inline(always)]
pub(crate) fn thread() -> u32 {
    let number = number() as u32;
    if number != 0 { number } else { ask_thread() }
}

#[cold]
#[inline(never)]
fn ask_thread() -> u32 {
    let number = syscall::gettid() as u32;
    set_number(number as usize);
    number
}

/// The thread that continues in a forked child has another number.
pub(super) fn forget() {
    set_number(0);
}
