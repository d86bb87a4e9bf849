//! Functions of other libraries that this library interposes.
//!
//! Which library has a function differs between versions of the C library: before 2.34 threads, `dlsym` and `dlopen` are in
//! libraries of their own, which a program need not have loaded, or loads later. So functions are looked up in the tables of the
//! loaded libraries ([`crate::loaded`]), not by `dlsym`: it may be absent, it changes what `dlerror` tells the program, and it
//! does not find the definitions that a library opened later brings along for itself.
//!
//! Invariant: an absent function is None; only functions that were found are called. Only addresses that stay loaded are
//! remembered, and absence never is.
//! Cost: a load if the address is remembered. Otherwise a look at each library up to the one that has it: some ten nanoseconds each for
//! those that come with the program, whose tables are remembered, and a hundred for others.
//! Not here: functions that may be absent (`c_library`).

use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::c_library::version;
use crate::loaded::{self, Kept};
use crate::originals;

/// The libraries that follow this one in the loader's order, up to the C library.
static KEPT: Kept = Kept::new();

/// A function of the next library in the loader's order.
pub(crate) struct Next {
    /// Its C name.
    pub(crate) name: &'static CStr,
    /// 0: not found yet. Written by any thread that finds it (all find the same), read by any thread; relaxed, as its code
    /// was there before.
    address: AtomicUsize,
}

impl Next {
    pub(crate) const fn new(name: &'static CStr) -> Next {
        Next { name, address: AtomicUsize::new(0) }
    }

    /// The function's address. Functions that signal handlers may call, or threads that hold underbar's locks, are looked
    /// up at the start, since a lookup takes a lock of the loader. But constructors of other libraries may run before that,
    /// and call this library.
    #[inline]
    pub(crate) fn get(&self) -> Option<usize> {
        match self.known() {
            0 => self.find(),
            address => Some(address),
        }
    }

    /// The function's address if it is remembered: after [`Next::get`] has found it in this thread, or before what this
    /// thread has acquired. Otherwise 0.
    #[inline(always)]
    pub(crate) fn known(&self) -> usize {
        self.address.load(Ordering::Relaxed)
    }

    #[cold]
    fn find(&self) -> Option<usize> {
        let here = version as *const () as usize;
        let (address, stays) = match originals::original(self.name) {
            Some(address) => (address, true),
            None => {
                let found = match KEPT.next_after(here, self.name) {
                    Some(address) => (address, true),
                    None => loaded::next_after(here, self.name)?,
                };
                // Meanwhile another thread may have put this library's function into the table that was just read.
                originals::original(self.name).map_or(found, |address| (address, true))
            }
        };
        if stays {
            self.address.store(address, Ordering::Relaxed);
        }
        Some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ffi::{c_char, c_void};

    unsafe extern "C" {
        fn dlopen(file: *const c_char, mode: i32) -> *mut c_void;
        fn dlclose(library: *mut c_void) -> i32;
    }

    /// As `dlopen` before 2.34, which comes with the first library that needs it; and like a function that is gone again
    /// after `dlclose`.
    #[test]
    fn what_comes_later_is_found_then_and_not_remembered_for_ever() {
        static LATE: Next = Next::new(c"td_init");
        assert_eq!(LATE.get(), None);
        // It comes with the C library, for debuggers.
        let library = open(c"libthread_db.so.1");
        assert!(!library.is_null());
        assert!(LATE.get().is_some(), "its absence was remembered");
        // SAFETY: opened above.
        unsafe { dlclose(library) };
        assert_eq!((LATE.known(), LATE.get()), (0, None), "it is gone");
        assert!(!open(c"libthread_db.so.1").is_null());
        assert!(LATE.get().is_some());
    }

    fn open(file: &CStr) -> *mut c_void {
        // SAFETY: a C string; the library's constructors do no harm.
        unsafe { dlopen(file.as_ptr(), 1) }
    }

    #[test]
    fn a_function_of_the_c_library_is_remembered() {
        static CREATE: Next = Next::new(c"pthread_create");
        let found = CREATE.get().expect("the C library has it");
        assert_eq!(CREATE.known(), found);
    }
}
