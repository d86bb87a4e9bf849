//! Sampled requests for storage, under SITES(ON): which callers request it, and which of it is still in use.
//!
//! ```text
//! heap::sampled   a request holds a point ─> got ─> frames, or registers and stack ─> ring of the area        no lock, no wait
//!                 its storage is freed    ─> freed ─────────────────────────────────> ring
//!                                                                                      host/sites reads it while the program runs
//!                 frames the next time    <── rules of the callers <────────────────── and walks the copied stacks
//! ```
//!
//! | module | idea |
//! |---|---|
//! | `draw` | distances between points, and probabilities |
//! | `rate` | the mean distance follows the time that samples take |
//! | `walk` | the call stack of a request |
//! | `rules` | callers by what the host has found of them |
//! | `code` | which addresses are code |
//! | `known` | stacks that need no second copy |
//! | `record` | a sample, as words of the ring |
//! | `ring` | the ring as threads write it |
//! | `area` | the file |
//!
//! Invariant: nothing here allocates, waits, takes a lock or changes errno. A process without the option has no area, and its requests go
//! the way that they go without this module.
//! Known limits: a thread that runs on a stack of its own (a coroutine, a handler's stack) has samples with one caller.
//! Not here: which requests are sampled (`heap::sampled`), and what the addresses mean (`host/sites`).

mod area;
mod code;
pub(crate) mod draw;
mod known;
mod rate;
mod record;
mod ring;
mod rules;
mod walk;

use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use underbar_ledger::sites::Header;
use underbar_sys::{clock, syscall};

use crate::ledger::{self, attach};
use crate::orders::{Given, Orders};
use crate::sandbox;
use ring::Ring;

/// The mean distance that was asked for, in bytes; 0: no requests are sampled. Written before the first request; relaxed.
static MEAN: AtomicU64 = AtomicU64::new(0);
/// Bytes of a stack that are copied. As above.
static COPY: AtomicUsize = AtomicUsize::new(0);
/// How many forks lie between the first process and this one. Written in a child's only thread; relaxed.
static GENERATION: AtomicU64 = AtomicU64::new(0);
/// Bytes in use that this process has from its parent. As above.
static OF_PARENT: AtomicI64 = AtomicI64::new(0);

/// The registers of a caller, as the function returns to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// The return address; 0: not known.
    pub rip: usize,
    /// The stack pointer behind it.
    pub rsp: usize,
    pub rbp: usize,
    pub rbx: usize,
    pub r12_to_15: [usize; 4],
    /// Not only `rip` is known.
    pub is_complete: bool,
}

impl Call {
    /// A call of which nothing is known.
    pub const NONE: Self = Self { rip: 0, rsp: 0, rbp: 0, rbx: 0, r12_to_15: [0; 4], is_complete: false };
}

/// Obeys the option, if accounts are requested. After the ledger.
pub(crate) fn configure(orders: &Orders<'_>) {
    let Some(option) = wanted(orders) else { return };
    COPY.store(usize::try_from(option.stack).unwrap_or(0) & !7, Ordering::Relaxed);
    if attach::is_attached() {
        rate::configure(option.share);
        MEAN.store(option.mean, Ordering::Relaxed);
    }
}

/// What is asked for, if there are accounts.
pub(crate) fn wanted(orders: &Orders<'_>) -> Option<underbar_options::Sites> {
    orders.settings.sites().filter(|_| orders.is_accounted)
}

/// Whether requests are sampled.
pub(crate) fn are_sampled() -> bool {
    MEAN.load(Ordering::Relaxed) != 0
}

/// The C library is up, and the program has not begun.
pub(crate) fn at_start(given: &Given) {
    if are_sampled() && !sandbox::is_closed() {
        walk::begin(given.environment.addr());
        if !HAS_CODE.swap(true, Ordering::Relaxed) {
            code::begin();
        }
        area::look_again();
    }
}

/// Whether the program's code is known. Set by the thread that learns it, relaxed: others find the code by its count.
static HAS_CODE: AtomicBool = AtomicBool::new(false);

/// The first sample. If a constructor of a library requests it, that runs before this library's.
fn begin_early() {
    if !HAS_CODE.swap(true, Ordering::Relaxed) {
        walk::begin_early();
        code::begin();
    }
}

/// The process is about to forbid itself system calls.
pub(crate) fn close() {
    if are_sampled() && area::ring().is_none() {
        make_area();
    }
    while area::back_more() {}
    look_again();
}

/// The libraries loaded since the start become known: before the process forbids itself system calls, and at its end.
fn look_again() {
    if are_sampled() && !sandbox::is_closed() {
        area::look_again();
    }
}

/// The process ends. A last record says how much was in use at most.
pub(crate) fn at_end() {
    look_again();
    freed(0, 0);
}

/// In a forked child, whose samples need an area of their own.
pub(crate) fn after_fork_in_child() {
    if !are_sampled() {
        return;
    }
    area::forget();
    known::forget();
    code::in_child();
    GENERATION.fetch_add(1, Ordering::Relaxed);
    OF_PARENT.store(ledger::used_at_fork(), Ordering::Relaxed);
    MAKING.store(0, Ordering::Relaxed);
    MISSED.store(0, Ordering::Relaxed);
    rate::begin();
}

/// 1 while a thread makes the area; it stays so if there can be none. A thread that finds it taken goes on without.
static MAKING: AtomicU32 = AtomicU32::new(0);
/// Samples that found no area. Any thread adds, relaxed.
static MISSED: AtomicU64 = AtomicU64::new(0);

/// Makes the area, at the first sample: most children of a fork, and many small programs, have none.
#[cold]
#[inline(never)]
fn make_area() -> Option<(&'static Header, Ring<'static>)> {
    if sandbox::is_closed() || MAKING.swap(1, Ordering::Acquire) != 0 {
        MISSED.fetch_add(1, Ordering::Relaxed);
        return None;
    }
    // A child whose fork was not announced has its own slot from then on. One by vfork has its parent's memory, and no samples.
    ledger::slot();
    if !attach::is_ours() {
        MAKING.store(0, Ordering::Release);
        return None;
    }
    known::forget();
    begin_early();
    let header = area::make(mean(rate::doubled()))?;
    header.lost.fetch_add(MISSED.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    MAKING.store(0, Ordering::Release);
    area::ring()
}

/// The number of this process in the row of its forks: what threads keep must be of the same.
pub(crate) fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// The power of 2 by which the mean in force is larger than the one that was asked for.
#[inline]
pub(crate) fn doubled() -> u32 {
    rate::doubled()
}

/// The mean distance for such a power.
#[inline]
pub(crate) fn mean(doubled: u32) -> u64 {
    MEAN.load(Ordering::Relaxed).max(1) << doubled.min(32)
}

/// A seed for a thread's numbers.
pub(crate) fn seed(of: usize) -> u64 {
    (of as u64).rotate_left(32) ^ clock::monotonic() ^ generation() << 56
}

/// The calling thread's number; 0 if it may not ask.
pub(crate) fn thread() -> u32 {
    if sandbox::is_closed() { 0 } else { syscall::gettid().cast_unsigned() }
}

/// A sampled request.
pub(crate) struct Got {
    /// The address that it got.
    pub address: usize,
    /// Bytes requested.
    pub size: usize,
    /// The mean distance with which it was drawn.
    pub mean: u64,
    /// The thread's number.
    pub thread: u32,
    /// Bytes of cells that the thread has counted and not yet added to the ledger.
    pub unpublished: i64,
}

/// The bytes in use, as far as is counted and with what the calling thread has not yet added, without those from the parent.
fn in_use(unpublished: i64) -> u64 {
    let all = ledger::used().wrapping_add(unpublished).wrapping_sub(OF_PARENT.load(Ordering::Relaxed));
    u64::try_from(all).unwrap_or(0)
}

/// The most bytes that were in use at one time, as far as threads have reported them, without those from the parent.
fn most_in_use() -> u64 {
    let most = ledger::most_used().wrapping_sub(OF_PARENT.load(Ordering::Relaxed));
    u64::try_from(most).unwrap_or(0)
}

/// Notes a sampled request.
#[cold]
#[inline(never)]
pub(crate) fn got(got: &Got, call: &Call) {
    let Some((header, ring)) = area::ring().or_else(make_area) else { return };
    let begun = clock::monotonic();
    if !record::got(&ring, begun, got, call, COPY.load(Ordering::Relaxed)) {
        header.lost.fetch_add(1, Ordering::Relaxed);
    }
    if rate::spent(clock::monotonic().saturating_sub(begun)) {
        header.mean.store(mean(rate::doubled()), Ordering::Relaxed);
    }
    header.spent_ns.store(rate::all_spent(), Ordering::Relaxed);
}

/// The storage of a sampled request is about to be freed. `unpublished` as in [`Got`]: if more is in use now than ever before, the record
/// of this free says so. A later one would be read as if it was so without this storage.
#[cold]
#[inline(never)]
pub(crate) fn freed(address: usize, unpublished: i64) {
    let Some((header, ring)) = area::ring() else { return };
    if !record::freed(&ring, clock::monotonic(), address, unpublished) {
        header.lost_frees.fetch_add(1, Ordering::Relaxed);
    }
}
