//! Being told when a thread ends: by the destructor of a thread-specific key.
//!
//! The C library runs such destructors however the thread ends: by returning, by `pthread_exit`, by being
//! cancelled. It does not run them for the thread that ends the process.
//! Invariant: nothing is called that the C library at hand does not have; without keys nobody is told.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::next::weak;

weak! {
    address_of_create = "pthread_key_create";
    address_of_set = "pthread_setspecific";
}

type Destructor = unsafe extern "C" fn(*mut u8);

/// A destructor that is called with what a thread registered, when it ends.
pub struct ThreadEnd {
    destructor: Destructor,
    /// 0 for none, else the key plus 1. Written once, before there are other threads; relaxed.
    key: AtomicU32,
}

impl ThreadEnd {
    /// Not registered with the C library yet.
    pub const fn new(destructor: Destructor) -> Self {
        Self { destructor, key: AtomicU32::new(0) }
    }

    /// Registers the destructor. Does not ask for storage.
    pub fn prepare(&self) {
        let create = address_of_create();
        if create == 0 || self.key.load(Ordering::Relaxed) != 0 {
            return;
        }
        let mut key = 0;
        // SAFETY: the C library's function of that name, whose signature this is; `key` is ours to fill.
        let failed = unsafe {
            let create: unsafe extern "C" fn(*mut u32, Option<Destructor>) -> i32 =
                core::mem::transmute(create);
            create(&raw mut key, Some(self.destructor))
        };
        if failed == 0 {
            self.key.store(key + 1, Ordering::Relaxed);
        }
    }

    /// The destructor shall be called with this value when the calling thread ends. May ask for storage, where the
    /// program has many keys. A failure only means that nobody is told.
    pub fn register(&self, value: *mut u8) {
        let (key, set) = (self.key.load(Ordering::Relaxed), address_of_set());
        if key != 0 && set != 0 {
            // SAFETY: the C library's function of that name; the key exists.
            unsafe {
                let set: unsafe extern "C" fn(u32, *const u8) -> i32 = core::mem::transmute(set);
                set(key - 1, value);
            }
        }
    }
}
