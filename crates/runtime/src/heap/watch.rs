//! HEAPCHK and HEAPZONES: requests are counted, the heap is walked at intervals, and damage has a reaction.
//!
//! ```text
//! request ──> count ──> delay + n * frequency? ──> walk over all heaps ──> damage ──┐
//! free, realloc ──> zone of the element as written? ──────────────────> damage ─────┤
//!                                                                                   v
//!                                  counted; ABEND: end   MSG: a line   TRACE: a line with callers   QUIET: nothing
//! ```
//!
//! Invariant: without damage nothing is printed. If a header was overwritten, the program ends whatever the reaction, since the heap
//! could not go on.
//! Not here: who calls (`unusual`), the walk over a space (`space::walk`), zones (`zone`), and the message (`check`).

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use underbar_ledger::{FaultKind, Key};
use underbar_options::{HeapCheck, HeapZones, Reaction};

use super::all_heaps;
use super::check::{self, Fault, Finding};
use super::ecb;
use super::map;
use super::object;
use super::registry::{self, REGISTRY};
use super::space::Damage;
use super::trace::{self, Site};
use super::zone::{self, State};
use crate::ledger;

/// Requests between two walks, and the number of the first one that may walk. Written once, before the first request; relaxed.
static FREQUENCY: AtomicU64 = AtomicU64::new(0);
static DELAY: AtomicU64 = AtomicU64::new(0);
/// A [`Reaction`] to damage above 2 GiB, and below. Written once, before the first request; relaxed.
static REACTIONS: [AtomicU32; 2] = [const { AtomicU32::new(Reaction::Abend as u32) }; 2];
/// Whether requests are watched. Written once, before the first request; relaxed.
static IS_ON: AtomicBool = AtomicBool::new(false);
/// Requests so far. Any thread; relaxed: it only counts.
static REQUESTS: AtomicU64 = AtomicU64::new(0);

/// Obeys the options. Before the first request. Returns whether requests are watched.
pub fn configure(checks: HeapCheck, zones: HeapZones) -> bool {
    let is_on = checks.on || zones.bytes > 0 || zones.bytes_below > 0;
    if is_on {
        // A trace without callers would say no more than the message.
        let reactions = [zones.reaction, zones.reaction_below];
        let depth = if reactions.contains(&Reaction::Trace) { u64::MAX } else { checks.call_depth };
        trace::configure(checks.entries, depth);
        zone::configure(zones.bytes, zones.bytes_below);
        for (reaction, of) in reactions.into_iter().zip(&REACTIONS) {
            of.store(reaction as u32, Ordering::Relaxed);
        }
        if checks.on {
            FREQUENCY.store(checks.frequency, Ordering::Relaxed);
            DELAY.store(checks.delay, Ordering::Relaxed);
        }
        IS_ON.store(true, Ordering::Relaxed);
    }
    is_on
}

/// Whether requests are watched.
#[inline]
pub fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// Counts a request, and walks over all heaps if that is due. The caller holds no lock.
pub fn request(function: &'static str, site: &Site) {
    let frequency = FREQUENCY.load(Ordering::Relaxed);
    if frequency == 0 {
        return;
    }
    let number = REQUESTS.fetch_add(1, Ordering::Relaxed) + 1;
    let since = number.saturating_sub(DELAY.load(Ordering::Relaxed));
    if since > 0 && since.is_multiple_of(frequency) {
        walk(function, site);
    }
}

/// Tells what of the reservation was used, and makes the last walk, when the process ends. None if the thread may hold a lock: a signal handler that ends the process may have
/// interrupted a request.
pub(crate) fn look() {
    if let Some(space) = super::object::DEFAULT.space.try_lock() {
        space.look_at_reservation();
    }
    if FREQUENCY.load(Ordering::Relaxed) != 0 && all_heaps::is_quiet() {
        walk("exit", &Site::of(0));
    }
}

/// Reacts to damage that was found in an ECB. The caller holds no lock.
pub fn found(function: &'static str, damage: Damage, site: &Site) {
    react(function, damage, site);
}

/// Checks the zone of an element that comes back.
///
/// # Safety
/// The address is that of an element in use whose header is sound.
pub unsafe fn check(function: &'static str, address: usize, site: &Site) {
    if !zone::are_on() || !zone::are_checked(is_below(address)) {
        return;
    }
    // SAFETY: the caller's promise.
    if let State::Damaged(bytes) = unsafe { zone::state(address) } {
        // SAFETY: as above.
        let bytes = bytes.unwrap_or_else(|| unsafe { zone::usable(address) });
        let fault = Fault { kind: FaultKind::Overflow, address, block: address, bytes };
        react(function, Damage { fault, next: None, is_fatal: false }, site);
    }
}

#[cold]
#[inline(never)]
fn walk(function: &'static str, site: &Site) {
    ledger::add(Key::HeapWalks, 1);
    while let Some(damage) = first_damage() {
        react(function, damage, site);
    }
}

fn first_damage() -> Option<Damage> {
    if let Some(damage) = ecb::first_damage() {
        return Some(damage);
    }
    let _registry = REGISTRY.lock();
    let mut found = None;
    registry::each(|heap| {
        if found.is_none() {
            found = heap.space.lock().first_damage();
        }
    });
    found
}

/// Whether an address is that of storage with a limit (`__malloc31`, `__malloc24`).
fn is_below(address: usize) -> bool {
    let descriptor = map::lookup(address);
    // SAFETY: a descriptor in the map is that of a segment, or of an extent in one; the caller looks at something in use there.
    !descriptor.is_null() && unsafe { object::of(descriptor) }.settings.has_limit()
}

#[cold]
fn react(function: &'static str, damage: Damage, site: &Site) {
    let Damage { fault, next, is_fatal } = damage;
    ledger::add(Key::HeapDamagedZones, 1);
    let finding = Finding { function, fault, callers: site.callers(), next };
    let reaction = REACTIONS[usize::from(is_below(fault.block))].load(Ordering::Relaxed);
    if is_fatal || reaction == Reaction::Abend as u32 {
        check::end_for(&finding);
    }
    if reaction != Reaction::Quiet as u32 {
        check::tell(&finding);
    }
}
