//! Learning when a thread ends: by the destructor of a thread-specific key.
//!
//! ```text
//! keys  0 ............ 29 30 31 | 32 ................................. 1023
//!       the program's  underbar's | the program's; underbar's, too, if it makes all of them
//! ```
//!
//! The C library runs such destructors however the thread ends: by returning, by `pthread_exit`, by being
//! cancelled. It does not run them for the thread that ends the process.
//!
//! A program may use a key that it forgot to make: a static one is 0. So this library's keys are the last ones for which
//! the C library has room in the thread itself, and the program's begin at 0. A program may also make as many keys as the C
//! library has. Then it gets this library's keys ([`ThreadEnd::give_up`]), and ends are no longer reported.
//!
//! Alternatives: `__cxa_thread_atexit_impl` takes the loader's lock, in the first request of each thread. A robust mutex in
//! each heap needs no key, but reveals an end only to a thread that looks at it later. A frame below the thread's function
//! has ended when destructors of the program still use the heap.
//!
//! Invariant: only functions that the present C library has are called; without keys no end is reported.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::c_library::weak;

// The first is the C library's other name of `pthread_key_create`, a name that this library interposes.
weak! {
    address_of_create = "__pthread_key_create";
    address_of_delete = "pthread_key_delete";
    address_of_set = "pthread_setspecific";
}

type Destructor = unsafe extern "C" fn(*mut u8);
type Create = unsafe extern "C" fn(*mut u32, Option<Destructor>) -> i32;
type Delete = unsafe extern "C" fn(u32) -> i32;

/// A thread has room for this many keys from its start. A value under a later key makes the C library ask for storage.
const FIRST_LEVEL: usize = 32;
/// The key was given to the program.
const GIVEN_UP: u32 = u32::MAX;

/// A destructor that is called with the value that a thread registered, when the thread ends.
pub struct ThreadEnd {
    destructor: Destructor,
    /// 0 for none, else the key plus 1, or [`GIVEN_UP`]. Written before there are other threads, and when it is given up;
    /// relaxed, as a thread that still reads the key sets a value that the C library refuses or forgets.
    key: AtomicU32,
}

impl ThreadEnd {
    /// Not registered with the C library yet.
    pub const fn new(destructor: Destructor) -> Self {
        Self { destructor, key: AtomicU32::new(0) }
    }

    /// Registers the destructor. Does not ask for storage.
    pub fn prepare(&self) {
        if self.key.load(Ordering::Relaxed) == 0
            && let Some(key) = last_of_the_first_level(self.destructor)
        {
            self.key.store(key + 1, Ordering::Relaxed);
        }
    }

    /// Registers this value for the destructor at the end of the calling thread. May ask for storage, if the program has
    /// many keys. A failure only means that the end is not reported.
    pub fn register(&self, value: *mut u8) {
        let (key, set) = (self.key.load(Ordering::Relaxed), address_of_set());
        if key != 0 && key != GIVEN_UP && set != 0 {
            // SAFETY: the C library's function of that name; it refuses keys that do not exist.
            unsafe {
                let set: unsafe extern "C" fn(u32, *const u8) -> i32 = core::mem::transmute(set);
                set(key - 1, value);
            }
        }
    }

    /// As [`ThreadEnd::register`], unless the C library might ask for storage.
    pub fn register_without_storage(&self, value: *mut u8) {
        if (self.key.load(Ordering::Relaxed) as usize) <= FIRST_LEVEL {
            self.register(value);
        }
    }

    /// Gives the key back to the C library, for the program. False if there is none, or it was given up before.
    pub fn give_up(&self) -> bool {
        let key = self.key.load(Ordering::Relaxed);
        let delete = address_of_delete();
        let is_ours = key != 0
            && key != GIVEN_UP
            && delete != 0
            && self.key.compare_exchange(key, GIVEN_UP, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if is_ours {
            // SAFETY: the C library's function of that name; the key is this library's, and only one thread gets here with
            // it.
            unsafe { core::mem::transmute::<usize, Delete>(delete)(key - 1) };
        }
        is_ours
    }

    /// Whether the program has got the key.
    #[inline]
    pub fn is_given_up(&self) -> bool {
        self.key.load(Ordering::Relaxed) == GIVEN_UP
    }
}

/// Makes a key with this destructor: the last free one of the first level, or, if that is full, the first free one. All
/// keys before it that were free are free again.
fn last_of_the_first_level(destructor: Destructor) -> Option<u32> {
    let (create, delete) = (address_of_create(), address_of_delete());
    if create == 0 || delete == 0 {
        return None;
    }
    // SAFETY: the C library's functions of those names, whose signatures these are.
    let (create, delete) = unsafe {
        (core::mem::transmute::<usize, Create>(create), core::mem::transmute::<usize, Delete>(delete))
    };
    let mut chosen: Option<u32> = None;
    let mut others = [0; FIRST_LEVEL + 1];
    let mut count = 0;
    while count < others.len() {
        let mut key = 0;
        // SAFETY: the call fills the local `key`.
        if unsafe { create(&raw mut key, Some(destructor)) } != 0 {
            break;
        }
        // The C library gives the first free one, so numbers rise.
        let is_beyond = key as usize >= FIRST_LEVEL;
        let other = if is_beyond && chosen.is_some() { Some(key) } else { chosen.replace(key) };
        if let Some(other) = other {
            others[count] = other;
            count += 1;
        }
        if is_beyond {
            break;
        }
    }
    for &other in &others[..count] {
        // SAFETY: made above, and not used by any code.
        unsafe { delete(other) };
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_keys_are_behind_those_that_a_program_makes_first() {
        unsafe extern "C" fn nothing(_: *mut u8) {}
        static ONE: ThreadEnd = ThreadEnd::new(nothing);
        static OTHER: ThreadEnd = ThreadEnd::new(nothing);
        assert!(!ONE.give_up() && !ONE.is_given_up(), "there is none yet");
        ONE.prepare();
        OTHER.prepare();
        let key = |end: &ThreadEnd| end.key.load(Ordering::Relaxed) - 1;
        // The keys of other tests, of std and of the heap are among them.
        assert!(key(&ONE) > 16 && key(&OTHER) > 16, "{} and {}", key(&ONE), key(&OTHER));
        assert_ne!(key(&ONE), key(&OTHER));
        assert!(ONE.give_up() && ONE.is_given_up());
        assert!(!ONE.give_up(), "once");
        assert!(!OTHER.is_given_up() && OTHER.give_up());
    }
}
