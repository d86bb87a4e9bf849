//! Switches: entries to the kernel, counted by the module that made them, under SWITCHES(ON).
//!
//! ```text
//! at the start     bind: words and symbols of all libraries ──> stubs
//! program ── its word for write ──> stub: counts the site in the thread's table ──> the function that the program would have had
//! fputs, in the C library ── table of its streams ──> stub: counts, for the last noted caller ──> the C library's own function
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `bind` | taking the place of functions, for what is loaded now and later |
//! | `stubs` | the code that counts and jumps on |
//! | `sites` | the tables of threads, and what happens when a site is not in its place |
//! | `called`, `called_stubs` | calls of functions of libraries that ZIIP(3GL) names, and their code |
//! | `owners` | modules, and who calls those that hide their callers, by samples |
//! | `project` | the CPU time of eligible components between switches of others |
//! | `words` | the words of each thread that stubs use |
//! | `tables`, `streams` | the C library's own entries for its streams: their stubs' places, and who called |
//! | `own` | reads and writes of underbar's caches, which it makes for the program |
//! | `kernel` | the kernel's own counts, for comparison |
//!
//! Invariant: a stub keeps every argument, the stack and `errno`, and leaves no frame: the function returns to its caller, and may never
//! return, be cancelled, or be jumped out of. Counting takes no lock and requests no storage. Off, nothing of this is done.
//! Cost: about a nanosecond a call; at the start about a quarter of a millisecond.
//! Limits: calls that the C library makes for itself outside its streams are not seen: `readdir`, `getaddrinfo`, `system`. Nor are those of
//! programs that make system calls on their own. The kernel's counts show how many are missing.
//! Not here: the functions and the pages of the ledger (`underbar_ledger`), and costs (`report`).

pub(crate) mod bind;
mod called;
mod called_stubs;
mod kernel;
pub(crate) mod own;
mod owners;
mod project;
mod sites;
mod streams;
mod stubs;
pub(crate) mod tables;
mod words;

use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use underbar_ledger::switch_names::{NAMED, c_name, hash};

use crate::ledger;
use crate::orders::{Given, Orders};

pub(crate) use kernel::look;
pub(crate) use sites::END;

/// Whether switches are to be counted. Written when options are obeyed, and if they cannot be; relaxed, since nothing else is read by it.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// A `fn(i32) -> bool` that knows work files by their descriptors, or null. Written when options are obeyed; relaxed, as the code was
/// there before.
static WORK_FILES: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Has calls for work files counted as such.
pub(crate) fn work_files_are(known_by: fn(i32) -> bool) {
    WORK_FILES.store(known_by as *mut (), Ordering::Relaxed);
}

/// Whether a descriptor is that of a work file.
fn is_work_file(descriptor: i32) -> bool {
    let known_by = WORK_FILES.load(Ordering::Relaxed);
    // SAFETY: as `work_files_are` stored it.
    !known_by.is_null() && unsafe { core::mem::transmute::<*mut (), fn(i32) -> bool>(known_by) }(descriptor)
}

/// Whether switches are counted.
pub(crate) fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// Obeys SWITCHES.
pub(crate) fn configure(orders: &Orders<'_>) {
    let has_libraries = called::configure(orders);
    IS_ON.store(orders.settings.counts_switches() || has_libraries, Ordering::Relaxed);
    project::configure(orders);
}

/// Takes the functions' places, if their counts have a reader.
pub(crate) fn at_start(_: &Given) {
    if !is_on() {
        return;
    }
    if ledger::switch_pages().is_none() {
        return IS_ON.store(false, Ordering::Relaxed);
    }
    END.prepare();
    kernel::begin();
    if project::is_on() {
        project::begin();
    }
    let bound = bind::bind(NAMED, |number| {
        Some(bind::Binding {
            name: c_name(number)?,
            hash: hash(number)?,
            ours: stubs::address(number),
            original: stubs::REAL.get(number)?,
        })
    });
    let bound = bound + tables::bind();
    called::begin();
    ledger::switches_are_bound(bound, sites::forget_table);
}

/// A child by fork counts on its own.
pub(crate) fn after_fork_in_child() {
    if is_on() {
        sites::forget_table();
        kernel::in_child();
        if project::is_on() {
            project::begin();
        }
    }
}
