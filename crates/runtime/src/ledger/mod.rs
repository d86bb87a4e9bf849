//! Keeping the accounts: plain stores into the process's slot of the ledger.
//!
//! ```text
//! add(key, n) -> GUARD -> page that fork wipes -> slot in the shared file (or a private one)
//! ```
//!
//! Before the ledger is attached, and without one, the figures go to a private slot. A child made by fork or clone must
//! never write to its parent's slot, even if it was made without the C library's knowledge. So the pointer to the slot is
//! in a page that the kernel wipes in a child (MADV_WIPEONFORK), and the child's first look finds nothing and attaches
//! anew.
//!
//! Invariant: in every state there is a slot to write to; nothing here allocates, formats or waits.
//! Not here: which file (`path`), finding and folding slots in it (`attach`, `expected`, `inherited`, `fold`), the identity of the program (`program`), its
//! arguments (`arguments`) and allocator (`allocator`), files next to it (`beside`), rows of heaps (`heaps`) and of heap pools
//! (`pools`), pages of classes of ECBs (`classes`) and of their name-value pairs (`pairs`), their trace tables (`traces`), pages of switches (`switches`), rows of caches of files (`caches`), the host's changes (`control`), reads of underbar itself (`own_reads`).

pub(crate) mod allocator;
pub(crate) mod arguments;
pub mod attach;
pub(crate) mod beside;
mod caches;
pub(crate) mod classes;
pub mod control;
pub(crate) mod expected;
mod fold;
pub(crate) mod heap_steps;
pub(crate) mod heaps;
pub(crate) mod inherited;
pub(crate) mod own_reads;
pub(crate) mod pairs;
pub(crate) mod path;
pub(crate) mod pools;
pub mod program;
pub(crate) mod reached;
pub(crate) mod site_area;
mod switches;
pub(crate) mod traces;

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use underbar_ledger::classes::{ClassRow, ROWS};
use underbar_ledger::switches::{CALLED, Called, Fixed, TABLES, Table};
use underbar_ledger::{
    Caches, HeapSteps, Heaps, Key, Pairs, Pools, Slot, Switches, Traces, heap_steps as steps_of_heaps,
};

/// The process that took this process's slot, as its number is in the ledger's directory; 0 without a ledger. Written by the thread
/// that attaches or is a forked child's first; relaxed, since nothing else is read by it.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// This process's number in the ledger's directory; 0 without a ledger.
pub fn number() -> u32 {
    PROCESS.load(Ordering::Relaxed)
}

/// The page of this process's heaps, made if there is none yet. Called by the thread that has the lock of the list of heaps.
pub(crate) fn page_of_heaps() -> &'static Heaps {
    heaps::page_or_new(attach::map_heaps)
}

/// Makes the pages of this process's heap pools, unless there are some; see [`pools::make`].
pub(crate) fn make_pools(fill_in: impl FnOnce(&Pools) -> u64) {
    pools::make(attach::map_pools, fill_in);
}

/// Makes the page of a class of ECBs; see [`classes::make`].
pub(crate) fn make_class(class: usize, fill_in: impl FnOnce(&ClassRow)) {
    classes::make(attach::map_class, class, fill_in);
}

/// The trace tables of ECBs, made if there are none yet; see [`traces::get`].
pub(crate) fn trace_tables() -> Option<&'static Traces> {
    traces::get(attach::map_traces)
}

/// The pages of switches, made if there are none yet; see [`switches::get`].
pub(crate) fn switch_pages() -> Option<&'static Fixed> {
    switches::get(attach::map_switches)
}

/// So many functions count switches. `when_gone` is called in a child by fork, which has none of its parent's tables.
pub(crate) fn switches_are_bound(functions: u64, when_gone: fn()) {
    switches::when_gone(when_gone);
    switches::bound(functions);
}

/// The rows of caches of files, made if there are none yet. Called under the lock of the caches.
pub(crate) fn rows_of_caches() -> &'static Caches {
    caches::get(attach::map_caches)
}

/// A program that is LINKed has these addresses: its switches are its own. Nothing without SWITCHES(ON).
pub(crate) fn program_of_switches(name: &[u8], start: usize, end: usize) {
    if let Some(pages) = whole_switches() {
        pages.program_is_at(start as u64, end as u64, name);
    }
}

/// Whether switches are counted in this process.
pub(crate) fn counts_switches() -> bool {
    switches::is_bound()
}

/// All pages of switches, of which only those may be read that are there. None if nothing is counted.
fn whole_switches() -> Option<&'static Switches> {
    if !switches::is_bound() {
        return None;
    }
    switch_pages()?;
    switches::whole()
}

/// Allocates the pages of functions of libraries. False if they cannot be had.
pub(crate) fn called_functions_are_there() -> bool {
    switch_pages().is_some() && switches::called(attach::allocate_called).is_some()
}

/// The functions of libraries, once they were to be there. None without them.
pub(crate) fn called_functions() -> Option<&'static [Called; CALLED]> {
    switch_pages()?;
    switches::called(attach::allocate_called)
}

/// There is no room for one more function of a library.
pub(crate) fn called_function_left_out() {
    if let Some(pages) = switch_pages() {
        pages.head.called_left_out.fetch_add(1, Ordering::Relaxed);
    }
}

/// A table of switches of this process; see [`switches::table`].
pub(crate) fn switch_table(number: usize) -> Option<&'static Table> {
    switches::table(attach::allocate_switches, number)
}

/// A row of heaps begins with another kind or name; see [`heap_steps::begin`].
pub(crate) fn begin_heap_steps(row: usize) {
    heap_steps::begin(attach::map_heap_steps, row);
}

/// The pages of ECBs by name-value pairs, made if there are none yet. Called by the thread that has the lock of the classes.
pub(crate) fn pages_of_pairs() -> &'static Pairs {
    pairs::pages_or_new(attach::map_pairs)
}

/// Words that a fork wipes, if the kernel can: so they have a page to themselves.
#[repr(C)]
pub(crate) struct Guard {
    /// Null in a child that has not found its slot yet.
    slot: AtomicPtr<Slot>,
    /// Null without a page of heaps, and in such a child.
    heaps: AtomicPtr<Heaps>,
    /// Null without pages of heap pools, and in such a child.
    pools: AtomicPtr<Pools>,
    /// Null without pages of name-value pairs, and in such a child. Stored with Release when the pages are wiped.
    pairs: AtomicPtr<Pairs>,
    /// Null without a page of that class, and in such a child.
    classes: [AtomicPtr<ClassRow>; ROWS],
    /// Null without a page of requests of that row's heaps, and in such a child.
    heap_steps: [AtomicPtr<HeapSteps>; steps_of_heaps::ROWS],
    /// Null without trace tables, and in such a child.
    traces: AtomicPtr<Traces>,
    /// Null without pages of switches, and in such a child. Stored with Release when the first pages are wiped.
    switches: AtomicPtr<Switches>,
    /// Null without rows of caches of files, and in such a child. Stored with Release when they are wiped.
    caches: AtomicPtr<Caches>,
    /// Null without a site area, and in such a child.
    sites: AtomicPtr<u8>,
    /// A bit for each table of them that has pages.
    switch_tables: AtomicU32,
}

/// SAFETY: a slot is made of atomics only, for which zero is a value.
static PRIVATE: Slot = unsafe { core::mem::zeroed() };
static FIRST: Guard = Guard {
    slot: AtomicPtr::new((&raw const PRIVATE).cast_mut()),
    heaps: AtomicPtr::new(core::ptr::null_mut()),
    pools: AtomicPtr::new(core::ptr::null_mut()),
    pairs: AtomicPtr::new(core::ptr::null_mut()),
    classes: [const { AtomicPtr::new(core::ptr::null_mut()) }; ROWS],
    heap_steps: [const { AtomicPtr::new(core::ptr::null_mut()) }; steps_of_heaps::ROWS],
    traces: AtomicPtr::new(core::ptr::null_mut()),
    switches: AtomicPtr::new(core::ptr::null_mut()),
    caches: AtomicPtr::new(core::ptr::null_mut()),
    sites: AtomicPtr::new(core::ptr::null_mut()),
    switch_tables: AtomicU32::new(0),
};
const _: () = assert!(size_of::<Guard>() <= 4096 && TABLES <= 32);
/// The guard in use. Changed when the ledger is attached; read by every thread, relaxed: both guards are valid for ever.
static GUARD: AtomicPtr<Guard> = AtomicPtr::new((&raw const FIRST).cast_mut());

#[inline]
fn guard() -> &'static Guard {
    // SAFETY: the guard is a static or a page that stays mapped.
    unsafe { &*GUARD.load(Ordering::Relaxed) }
}

/// This process's slot.
#[inline]
pub fn slot() -> &'static Slot {
    let slot = guard().slot.load(Ordering::Relaxed);
    if slot.is_null() {
        return attach::in_child();
    }
    // SAFETY: slots stay mapped in the process whose guard points to them.
    unsafe { &*slot }
}

/// Adds to a counter.
#[inline]
pub fn add(key: Key, amount: u64) {
    if !cfg!(feature = "no-accounts") {
        slot().cell(key).fetch_add(amount, Ordering::Relaxed);
    }
}

/// Adds to the requests of a row of sizes.
#[inline]
pub fn add_requests(row: usize, amount: u64) {
    if !cfg!(feature = "no-accounts")
        && let Some(cell) = slot().sizes.get(row)
    {
        cell.fetch_add(amount, Ordering::Relaxed);
    }
}

/// Sets a figure.
#[inline]
pub fn set(key: Key, value: u64) {
    if !cfg!(feature = "no-accounts") {
        slot().cell(key).store(value, Ordering::Relaxed);
    }
}

/// Raises a peak to a value, if it is lower.
#[inline]
pub fn raise(key: Key, value: u64) {
    if !cfg!(feature = "no-accounts") {
        raise_in(slot(), key, value);
    }
}

#[inline]
fn raise_in(slot: &Slot, key: Key, value: u64) {
    let cell = slot.cell(key);
    if cell.load(Ordering::Relaxed) < value {
        cell.fetch_max(value, Ordering::Relaxed);
    }
}

/// Adds to, or subtracts from, the bytes in use. Returns the new total.
#[inline]
pub fn change_use(change: i64) -> i64 {
    if cfg!(feature = "no-accounts") {
        0
    } else {
        let used = slot().cell(Key::HeapUsed).fetch_add(change as u64, Ordering::Relaxed);
        used.wrapping_add(change as u64) as i64
    }
}

/// The bytes in use, as far as threads have reported them. Cells freed by one thread and counted by another may take the
/// sum below zero for a moment.
pub fn used() -> i64 {
    slot().cell(Key::HeapUsed).load(Ordering::Relaxed) as i64
}

/// The most bytes that were in use at one time, as far as threads have reported them.
pub(crate) fn most_used() -> i64 {
    slot().cell(Key::HeapUsedPeak).load(Ordering::Relaxed) as i64
}

/// In a forked child, as long as it has no slot of its own: the bytes in use of its parent. Afterwards its own.
pub(crate) fn used_at_fork() -> i64 {
    last_slot().cell(Key::HeapUsed).load(Ordering::Relaxed) as i64
}

/// Raises the most bytes that were in use at one time.
#[inline]
pub fn raise_use(used: i64) {
    if used > 0 {
        raise(Key::HeapUsedPeak, used as u64);
    }
}

/// The most bytes that a thread has found in use when it counted them exactly.
static KNOWN_USE: AtomicU64 = AtomicU64::new(0);

/// The most bytes that are known to have been in use at one time. Between two looks the peak may be somewhat more.
#[inline]
pub fn known_use() -> i64 {
    KNOWN_USE.load(Ordering::Relaxed) as i64
}

/// The known peak is this slot's from now on.
fn known_by(slot: &Slot) {
    KNOWN_USE.store(slot.cell(Key::HeapUsedPeak).load(Ordering::Relaxed), Ordering::Relaxed);
}

/// This many bytes are in use, counted exactly.
pub fn know_use(used: i64) {
    if used > 0 {
        KNOWN_USE.fetch_max(used as u64, Ordering::Relaxed);
        raise_use(used);
    }
}

fn use_slot(slot: &'static Slot, guard: *mut Guard) {
    known_by(slot);
    let slot = core::ptr::from_ref(slot).cast_mut();
    LAST.store(slot, Ordering::Relaxed);
    // SAFETY: the caller gives a guard that stays mapped.
    unsafe { &*guard }.slot.store(slot, Ordering::Relaxed);
    GUARD.store(guard, Ordering::Relaxed);
    let changed = CHANGED.load(Ordering::Relaxed);
    if !changed.is_null() {
        // SAFETY: `when_slot_changes` stored a function of this type.
        unsafe { core::mem::transmute::<*mut (), fn()>(changed)() }
    }
}

/// A function that is called when this process has a new slot, still empty. Written once, before the ledger is attached; relaxed, as
/// the code was there before.
static CHANGED: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Has `then` called whenever this process has a new slot: what is remembered of the old one must be forgotten.
pub(crate) fn when_slot_changes(then: fn()) {
    CHANGED.store(then as *mut (), Ordering::Relaxed);
}

/// The slot in use, in a word that no fork wipes: a child finds its parent's figures by it.
static LAST: AtomicPtr<Slot> = AtomicPtr::new((&raw const PRIVATE).cast_mut());

fn last_slot() -> &'static Slot {
    // SAFETY: slots stay mapped, also in children.
    unsafe { &*LAST.load(Ordering::Relaxed) }
}

/// The guard before the ledger is attached: an ordinary static.
fn first_guard() -> *mut Guard {
    (&raw const FIRST).cast_mut()
}

/// The private slot, for a process without a ledger.
fn private() -> *const Slot {
    &raw const PRIVATE
}
