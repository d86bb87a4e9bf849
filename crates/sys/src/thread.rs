//! Threads that ask for no stack size, as C programs start them: the standard library always asks for one.
//!
//! Invariant: a thread that was started and not joined is detached; it borrows nothing from its starter.
//! Not here: the size that it gets then, which the C library decides (`ulimit -s`, THREADSTACK).

use core::ffi::{c_int, c_void};
use core::ptr::null;

use crate::syscall::{Errno, Result};

unsafe extern "C" {
    fn pthread_create(
        thread: *mut usize,
        attributes: *const c_void,
        start: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
    ) -> c_int;
    fn pthread_join(thread: usize, result: *mut *mut c_void) -> c_int;
}

/// A thread that was started.
pub struct Thread(usize);

impl Thread {
    /// Starts a thread that runs `work`. `work` must not panic: nothing catches it, so the process would end.
    ///
    /// # Errors
    /// Those of the C library: there is no room for another thread.
    pub fn start(work: fn() -> usize) -> Result<Thread> {
        let mut thread = 0;
        // SAFETY: no attributes are the default ones; `run` takes the type of `work`.
        match unsafe { pthread_create(&raw mut thread, null(), run, work as *mut c_void) } {
            0 => Ok(Thread(thread)),
            error => Err(Errno(u16::try_from(error).unwrap_or(Errno::EAGAIN.0))),
        }
    }

    /// Waits for its end and returns the result of its work.
    #[must_use]
    pub fn join(self) -> usize {
        let mut result = core::ptr::null_mut();
        // SAFETY: it was started, and is joined once, as this call consumes it.
        unsafe { pthread_join(self.0, &raw mut result) };
        result as usize
    }
}

/// Runs the function that `start` was given.
unsafe extern "C" fn run(work: *mut c_void) -> *mut c_void {
    // SAFETY: `start` gave a function of this type, and nothing else calls this.
    let work = unsafe { core::mem::transmute::<*mut c_void, fn() -> usize>(work) };
    work() as *mut c_void
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_and_its_result_comes_back() {
        fn work() -> usize {
            42
        }
        let threads = [0; 3].map(|_| Thread::start(work).expect("a thread"));
        assert_eq!(threads.map(Thread::join), [42; 3]);
    }
}
