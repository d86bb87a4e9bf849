//! Obeying the control page: the host's changes while the program runs.
//!
//! ```text
//! a request that no ready cell serves ─> epoch of the page == last epoch obeyed? one relaxed load
//!                                             │ no
//!                                             v
//!                       one thread obeys all settings for this process; others do not wait
//! ```
//!
//! Invariant: the page is mapped read-only, so the program cannot write it, and no thread waits for another here. Settings
//! that the host writes while a thread obeys are obeyed at the next look. A forked child goes on with the settings that its
//! parent had obeyed.
//! Known limit: a program that asks for no storage obeys none of the settings.
//! Not here: the layout of settings in the page (`underbar_ledger::control`), their effects, which the caller knows (`heap`), and
//! settings of locks, which threads that wait for one obey (`lock::trial`).

use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use underbar_ledger::Key;
use underbar_ledger::control::{Control, Kind, WORDS};

type Page = [AtomicU64; WORDS];

/// The page of a process without a ledger: nothing is ever set.
static NOTHING: Page = [const { AtomicU64::new(0) }; WORDS];
/// The mapped page. Written when the ledger is attached; relaxed, since both pages are valid for ever.
static PAGE: AtomicPtr<Page> = AtomicPtr::new((&raw const NOTHING).cast_mut());
/// The epoch that was obeyed last. Written by the thread that has `OBEYING`; read by all. Relaxed: a thread that reads an
/// old one tries to obey, and finds nothing to change.
static OBEYED: AtomicU64 = AtomicU64::new(0);
/// Taken by the thread that obeys (Acquire), given up with Release.
static OBEYING: AtomicBool = AtomicBool::new(false);

/// The page, or, without one, a page on which nothing is ever set.
#[inline]
pub fn page() -> Control<'static> {
    // SAFETY: the static or a page that stays mapped.
    Control::new(unsafe { &*PAGE.load(Ordering::Relaxed) })
}

/// Whether the page is that of a ledger.
pub(crate) fn is_attached() -> bool {
    !core::ptr::eq(PAGE.load(Ordering::Relaxed), &raw const NOTHING)
}

/// Obeys the host's changes. If there are none, the cost is one load of the page. Called without locks. `change` obeys one setting,
/// one thread at a time, and returns whether it changed anything.
#[inline]
pub fn obey_if_changed(change: impl Fn(Kind, u64) -> bool) {
    if page().epoch() != OBEYED.load(Ordering::Relaxed) {
        obey(change);
    }
}

#[cold]
#[inline(never)]
fn obey(change: impl Fn(Kind, u64) -> bool) {
    if OBEYING.swap(true, Ordering::Acquire) {
        return;
    }
    let mut changes = 0;
    let epoch = page().obey(super::number(), |kind, _, value| changes += u64::from(change(kind, value)));
    if changes > 0 {
        super::add(Key::ControlObeyed, changes);
    }
    OBEYED.store(epoch, Ordering::Relaxed);
    OBEYING.store(false, Ordering::Release);
}

/// The ledger was attached, and this process has its number in it. Maps the page, unless a parent had it already. If that
/// fails, nothing is ever changed from outside.
pub(super) fn attach(map: impl FnOnce() -> Option<&'static Page>) {
    let is_mapped = !core::ptr::eq(PAGE.load(Ordering::Relaxed), &raw const NOTHING);
    if !is_mapped && let Some(words) = map() {
        PAGE.store(core::ptr::from_ref(words).cast_mut(), Ordering::Relaxed);
    }
}

/// In a forked child: the parent's thread that was obeying does not exist here.
pub(super) fn in_child() {
    OBEYING.store(false, Ordering::Relaxed);
}
