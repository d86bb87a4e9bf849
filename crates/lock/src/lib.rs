//! The simple lock: cheap where nobody waits, and still cheap where many do.
//!
//! ```text
//! lock    one compare-and-swap ----------------------------------------> held
//!           | somebody has it
//!           v
//!         a few look, reading only, for a moment --seen free--> compare-and-swap --> held
//!           | no room among the few, too long, or the holder is known not to run
//!           v
//!         sleep in the kernel --woken--> look again; after a millisecond the lock is reserved for one who starves
//! unlock  one subtraction; wakes one sleeper if there may be any
//! ```
//!
//! z/TPF's simple locks had the same trouble and the same cure: threads that update a word in a loop take it away from
//! each other, and from its holder; so those who wait only read, few of them, and give up their processor soon.
//!
//! | module | idea |
//! |---|---|
//! | `raw` | the word: who may take it, and who is woken |
//! | `wait` | looking, sleeping, being next |
//! | `spin` | how long, and how many at a time, may look |
//! | `turn` | a lock that one thread keeps busy is left to it for a while |
//! | `processor` | which processor this is, how many there are, and what a pause costs |
//! | `futex` | sleeping and waking |
//! | `observer` | who is told of waits |
//! | `debug` | the debug form: faults are found and named (feature `debug`) |
//! | `holders` | its table of who holds which lock |
//!
//! Invariant: one thread at a time holds a lock, and whoever sleeps for it is woken. After the releasing operation the
//! lock's memory is not touched, so that it may be freed by the next holder.
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
mod processor;
mod raw;
mod spin;
mod turn;
mod wait;

pub use observer::{OBSERVER_VERSION, Observer, Waited};
pub use raw::{SimpleLock, SmallLock};

/// How to wait, for the runtime, which waits for the C library's mutexes in the same way.
#[doc(hidden)]
pub mod waiting {
    #[cfg(not(loom))]
    pub use crate::futex::sleep_until;
    pub use crate::processor::{known, now};
    pub use crate::spin::{Looker, Place, SLEEP_NS, WATCH_NS, place, stays};
    pub use crate::turn::{ASIDE_NS, Sight, TURN_NS, Turn, looks_again_at};
}
