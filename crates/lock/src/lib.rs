//! The simple lock: cheap without waiters, and still cheap with many.
//!
//! ```text
//! lock    one compare-and-swap ----------------------------------------> held
//!           | another thread has it
//!           v
//!         a few threads look, reading only, for a moment --seen free--> compare-and-swap --> held
//!           | enough threads look, too long, or the holder is known not to run
//!           v
//!         sleep in the kernel --woken--> look again; after a millisecond the lock is reserved for a starving thread
//! unlock  one subtraction; wakes one sleeper if there may be any
//! ```
//!
//! z/TPF's simple locks had the same problem and the same solution: threads that update a word in a loop take it away from
//! each other, and from its holder. Waiting threads therefore only read, few at a time, and give up their processor soon.
//!
//! | module | idea |
//! |---|---|
//! `raw` | the word: which thread may take it, and which is woken |
//! `wait` | looking, sleeping, being the next |
//! `spin` | how long a thread may look, and how many threads at a time |
//! `turn` | a lock that one thread keeps busy stays with it for a while |
//! `processor` | the current processor, the number of processors, and the cost of a pause |
//! | `futex` | sleeping and waking |
//! `observer` | the functions that are told of waits |
//! | `debug` | the debug form: faults are found and named (feature `debug`) |
//! `holders` | its table of the holders of locks |
//!
//! Invariant: one thread at a time holds a lock, and a thread that sleeps for it is woken. The lock's memory is not touched
//! after the releasing operation, so the next holder may free it.
//! Not here: guards and values (the crate `underbar`), C names (`preload`), accounts (`runtime`).
#![no_std]
#![warn(missing_docs)]

#[cfg(any(test, loom))]
extern crate std;

#[cfg(all(feature = "debug", not(any(loom, miri))))]
mod call_site;
#[cfg(all(feature = "debug", not(any(loom, miri))))]
pub mod debug;
mod futex;
#[cfg(all(feature = "debug", not(any(loom, miri))))]
mod holders;
mod observer;
mod places;
mod processor;
mod raw;
mod spin;
mod wait;

pub use observer::{OBSERVER_VERSION, Observer, Waited};
pub use raw::{SimpleLock, SmallLock};

/// The rules of waiting, for the runtime, which waits for the C library's mutexes in the same way.
#[doc(hidden)]
pub mod waiting {
    #[cfg(not(loom))]
    pub use crate::futex::sleep_until;
    pub use crate::places::turn::{ASIDE_NS, Sight, TURN_NS, Turn, looks_again_at};
    pub use crate::places::{Place, place};
    pub use crate::processor::{known, now};
    pub use crate::spin::{Looker, SLEEP_NS, WATCH_NS, stays};
}
