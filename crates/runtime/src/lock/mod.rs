//! Locks: mutexes of the C library, waited for in our way or in its own, and the record of who waits for whom.
//!
//! ```text
//! pthread_mutex_lock ─> free? one compare-and-swap, nothing else ─────────────────────────────> held
//!                         │ not free                              no: a kind that is not ours ─> C library
//!                         v
//!                       record: waits begins ─> COUNT: the C library waits │ SIMPLE: look, then sleep
//!                         │                        after a millisecond: what does the holder do? what do I hold?
//!                         v
//!                       record: waits ends
//! pthread_mutex_unlock ─> exchange; somebody may sleep? wake one, blame this place for their wait
//! ```
//!
//! | module | idea |
//! |---|---|
//! | `mutex` | the C library's mutex, by its own protocol |
//! | `passed_through` | mutexes that are left to the C library |
//! | `owned` | of those, recursive and error-checking ones that are free or the caller's |
//! | `wait_sampling` | which waits are recorded |
//! | `simple` | waiting for its word as simple locks do |
//! | `record` | what one lock has seen |
//! | `delayed_record` | what a wait came to, until the lock is given up |
//! | `area` | the file in which the records lie |
//! | `order` | which locks a thread holds while it waits for another |
//! | `holder` | what the holder does meanwhile |
//! | `observer` | what simple locks tell |
//! | `one` | the mutex that LOCK says something of its own of |
//! | `trial` | what the host changes while the program runs |
//!
//! Invariant: nothing here allocates, prints, or takes a lock, and errno stays as it was. What is recorded is recorded
//! by those who wait or wake; who finds a lock free pays nothing.
//! Not here: the C names (`preload`), simple locks (`underbar_lock`), and what follows from the records (the host).

mod area;
mod delayed_record;
mod holder;
mod mutex;
mod number;
mod observer;
mod one;
mod order;
mod owned;
mod passed_through;
mod record;
mod simple;
mod trial;
mod wait_sampling;

use core::sync::atomic::{AtomicU32, Ordering};

pub use mutex::{Mutex, clocklock, lock, timedlock, trylock, unlock};
pub use observer::OBSERVER;
pub use passed_through::{ENTRIES, Entries};

use underbar_options::{Locks, OneLock};

use crate::options::Orders;
use crate::start;

/// Until the options are read: nobody is recorded, and whoever waits does so in the C library. Written once; relaxed.
static MODE: AtomicU32 = AtomicU32::new(Locks::Off as u32);

fn mode() -> Locks {
    match MODE.load(Ordering::Relaxed) {
        1 => Locks::Count,
        2 => Locks::Simple,
        _ => Locks::Off,
    }
}

/// Obeys LOCK.
pub(crate) fn configure(orders: &Orders<'_>) {
    set_mode(orders.settings.locks());
    if let Some((place, how)) = orders.settings.one_lock() {
        set_one(place, how);
    }
}

fn set_mode(mode: Locks) {
    MODE.store(mode as u32, Ordering::Relaxed);
    if mode == Locks::Simple {
        simple::comes_into_use();
    }
    mutex::leave_all(mode == Locks::Off);
}

/// What LOCK says of one mutex, by its place in the program's file.
fn set_one(place: u64, how: OneLock) {
    if place != 0 {
        simple::comes_into_use();
    }
    one::configure(place, how as u32);
}

/// When the C library is up: finds its functions, while nobody waits yet.
pub fn at_start() {
    let errno = start::errno();
    mutex::find_what_it_tells();
    passed_through::find();
    start::set_errno(errno);
}

/// The process ends, or becomes another program: what its threads waited last is written down.
pub fn settle() {
    delayed_record::write_all_down();
}

/// In a forked child, whose thread has another number than its parent had.
pub fn after_fork_in_child() {
    mutex::forget_thread();
    delayed_record::in_child();
    record::in_child();
    trial::in_child();
    area::in_child();
}
