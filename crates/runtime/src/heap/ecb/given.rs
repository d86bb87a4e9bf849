//! What the option ECB says besides sizes of classes: checks, and what `demo pj47265` leaves out.
//!
//! Invariant: written once, before the first request, by the thread that reads the options; so relaxed.
//! Not here: the effects (`ended`).

use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use underbar_options::{Ecb, Without};
use underbar_sys::lock;

use super::super::private_storage::OWN;
use super::super::watch;

/// Bytes of ended ECBs that are kept without access; 0: none.
static CHECK: AtomicUsize = AtomicUsize::new(0);

/// Last requests of each thread that are kept; 0: none.
static TRACE: AtomicUsize = AtomicUsize::new(0);
/// Whether requests go where their caller is known: 0, or not.
static NEEDS_CALLERS: AtomicU8 = AtomicU8::new(0);
/// Whether the end of an ECB has more to do than to give its storage back: [`KEEPS`], [`CHECKS`].
static AT_END: AtomicU8 = AtomicU8::new(0);
/// Its storage is kept without access (CHECK).
pub const KEEPS: u8 = 1;
/// The zones of its buffers are looked at.
pub const CHECKS: u8 = 2;
/// Bytes of a piece of the part of an ECB below 2 GiB; 0: the default.
static LOW: AtomicUsize = AtomicUsize::new(0);
/// Bytes of such a piece, if ECB does not say otherwise.
const LOW_BYTES: usize = 32 << 10;
/// A [`Without`].
static WITHOUT: AtomicU8 = AtomicU8::new(Without::Usual as u8);

/// Applies ECB.
pub fn configure(ecb: &Ecb<'_>) {
    // Under the defaults no page is touched.
    if ecb.check > 0 {
        CHECK.store(usize::try_from(ecb.check).unwrap_or(usize::MAX), Ordering::Relaxed);
        AT_END.fetch_or(KEEPS, Ordering::Relaxed);
    }
    if ecb.trace > 0 && !cfg!(feature = "no-accounts") {
        TRACE.store(usize::try_from(ecb.trace).unwrap_or(0), Ordering::Relaxed);
    }
    if has_zones() {
        AT_END.fetch_or(CHECKS, Ordering::Relaxed);
    }
    if trace() > 0 || has_zones() {
        NEEDS_CALLERS.store(1, Ordering::Relaxed);
    }
    if ecb.low > 0 {
        LOW.store(usize::try_from(ecb.low).unwrap_or(0), Ordering::Relaxed);
    }
    if ecb.without != Without::Usual {
        WITHOUT.store(ecb.without as u8, Ordering::Relaxed);
        if ecb.without == Without::Spin {
            lock::set_spins(0);
        }
    }
}

/// Last requests of each thread that are kept; 0: none.
#[inline]
pub fn trace() -> usize {
    TRACE.load(Ordering::Relaxed)
}

/// Whether buffers have zones: HEAPZONES, HEAPCHK(ON).
#[inline]
pub fn has_zones() -> bool {
    watch::is_on()
}

/// Whether requests go where their caller is known, since they are traced or checked.
#[inline]
pub fn needs_callers() -> bool {
    NEEDS_CALLERS.load(Ordering::Relaxed) != 0
}

/// What the end of an ECB has to do besides giving its storage back: [`KEEPS`], [`CHECKS`].
#[inline]
pub fn at_end() -> u8 {
    AT_END.load(Ordering::Relaxed)
}

/// Bytes of a piece of the part of an ECB below 2 GiB.
pub fn low() -> usize {
    match LOW.load(Ordering::Relaxed) {
        0 => LOW_BYTES,
        bytes => bytes,
    }
}

/// What is left out.
pub fn without() -> Without {
    let without = WITHOUT.load(Ordering::Relaxed);
    [
        Without::Nothing,
        Without::Entries,
        Without::Tags,
        Without::Align,
        Without::Lifo,
        Without::Spin,
        Without::Trace,
        Without::Lists,
    ]
    .into_iter()
    .find(|item| *item as u8 == without)
    .unwrap_or_default()
}

/// Storage for ever, zeroed; null if there is none.
pub fn storage(bytes: usize) -> *mut u8 {
    OWN.lock().get(bytes)
}

/// Whether no request may find a ready piece, so that it goes where it is noted, or where something is left out.
pub fn is_slow() -> bool {
    needs_callers()
        || matches!(
            without(),
            Without::Nothing
                | Without::Align
                | Without::Lifo
                | Without::Spin
                | Without::Trace
                | Without::Lists
        )
}

/// Bytes of ended ECBs that are kept without access; 0: none.
#[inline]
pub fn check() -> usize {
    CHECK.load(Ordering::Relaxed)
}

/// Sets it, for a test.
#[cfg(all(test, not(loom)))]
pub fn set_check(bytes: usize) {
    CHECK.store(bytes, Ordering::Relaxed);
    AT_END.store(if bytes > 0 { KEEPS } else { 0 }, Ordering::Relaxed);
}
