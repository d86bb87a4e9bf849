//! Locks: mutexes of the C library, waited for by underbar or by the C library, and the record of waits and holders.
//!
//! ```text
//! pthread_mutex_lock ─> free? one compare-and-swap, nothing else ─────────────────────────────> held
//!                         │ not free                              no: a kind not handled here ─> C library
//!                         v
//!                       record: waits begins ─> COUNT: the C library waits │ SIMPLE: look, then sleep
//!                         │                        after a millisecond: what does the holder do? what do I hold?
//!                         v
//!                       record: waits ends
//! pthread_mutex_unlock ─> exchange; a thread may sleep? wake one, blame this call site for the wait
//! ```
//!
//! | module | idea |
//! |---|---|
//! | `mutex` | the C library's mutex, by its own protocol |
//! | `entries` | the functions of the C names |
//! | `c_library` | the C library's own functions |
//! | `passed_through` | kinds of mutex that are left to it |
//! | `owned` | recursive and error-checking ones among those, while they are free or held by the caller |
//! | `wait_sampling` | which waits are recorded |
//! | `simple` | waiting for a mutex as simple locks do |
//! | `wait` | one thread's wait |
//! | `record` | the statistics of one lock |
//! | `delayed_record` | the results of a wait, until the lock is given up |
//! | `area` | the file of lock records |
//! | `order` | which locks a thread holds while it waits for another |
//! | `holder` | what the holder does meanwhile |
//! | `observer` | what simple locks report |
//! | `one` | the one mutex that LOCK names, with its own policy |
//! | `trial` | what the host changes while the program runs |
//!
//! Invariant: nothing here allocates, prints, or takes a lock, and errno is unchanged. Threads that wait or wake do the
//! recording; a thread that finds a lock free pays nothing.
//! Not here: the C names (`preload`), simple locks (`underbar_lock`), and the conclusions from the records (the host).

mod area;
mod c_library;
mod delayed_record;
mod entries;
mod holder;
mod mutex;
pub(crate) mod number;
mod observer;
mod one;
mod order;
mod owned;
mod passed_through;
mod record;
mod simple;
mod trial;
mod wait;
mod wait_sampling;

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

pub use entries::{ENTRIES, Entries, clocklock, lock, timedlock, trylock, unlock};
pub use mutex::Mutex;
pub use observer::OBSERVER;

use underbar_options::{Locks, OneLock};

use crate::errno;
use crate::orders::Orders;

/// Until the options are read, no wait is recorded, and threads wait in the C library. Written once; relaxed.
static MODE: AtomicU32 = AtomicU32::new(Locks::Off as u32);

fn mode() -> Locks {
    match MODE.load(Ordering::Relaxed) {
        1 => Locks::Count,
        2 => Locks::Simple,
        _ => Locks::Off,
    }
}

/// Whether any mutex may be waited for as simple locks are (`simple`). Set by LOCK, and by the code that sets a policy for one mutex, before
/// any thread obeys that policy; never reset. Relaxed: a thread that does not see it yet wakes a sleeper, as the C library
/// would.
static SIMPLE_IN_USE: AtomicBool = AtomicBool::new(false);

/// Whether any mutex may be waited for in that way.
#[inline(always)]
fn is_simple_in_use() -> bool {
    SIMPLE_IN_USE.load(Ordering::Relaxed)
}

/// From now on any mutex may be.
fn simple_comes_into_use() {
    SIMPLE_IN_USE.store(true, Ordering::Relaxed);
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
        simple_comes_into_use();
    }
    mutex::leave_all(mode == Locks::Off);
}

/// The policy that LOCK sets for one mutex, by the mutex's address in the program's file.
fn set_one(place: u64, how: OneLock) {
    if place != 0 {
        simple_comes_into_use();
    }
    one::configure(place, how as u32);
}

/// When the C library is up: finds its functions, while no thread waits yet.
pub fn at_start() {
    let before = errno::errno();
    mutex::find_what_it_tells();
    entries::find();
    errno::set_errno(before);
}

/// The process ends, or becomes another program: the last waits of its threads are recorded.
pub fn settle() {
    delayed_record::write_all_down();
}

/// In a forked child, whose thread number differs from the parent's.
pub fn after_fork_in_child() {
    // The thread that continues has another number.
    number::forget();
    owned::forget_thread();
    wait_sampling::in_child();
    delayed_record::in_child();
    wait::in_child();
    trial::in_child();
    area::in_child();
}
