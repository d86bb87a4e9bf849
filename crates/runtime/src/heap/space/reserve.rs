//! The reserve: storage got at the start, and used once, when the kernel refuses more. The fourth sub-option of STORAGE.
//!
//! ```text
//! start ──map──> reserve ──the kernel refuses a segment that is not larger──> that segment          after it: ENOMEM
//! ```
//!
//! Its pages take no memory until it is used, but its addresses are the process's, so a limit on address space (`ulimit -v`) or
//! strict overcommit counts them from the start. It is one for all heaps.
//!
//! Invariant: at most one segment is made of it.
//! Not here: a request that it is too small for fails, and leaves it.

use core::sync::atomic::{AtomicUsize, Ordering};

use underbar_ledger::Key;
use underbar_sys::syscall;

use super::super::map::{self, PAGE};
use super::super::private_storage::OWN;
use crate::ledger;

/// Where it begins; 0: there is none, or it was used. Written at the start, and by the thread that takes it (AcqRel: one thread).
static START: AtomicUsize = AtomicUsize::new(0);
/// Its bytes. Written at the start; relaxed.
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Gets the reserve. Before the first request. Without memory there is none.
pub fn configure(bytes: u64) {
    let Some(bytes) = usize::try_from(bytes).ok().and_then(|bytes| bytes.checked_next_multiple_of(PAGE))
    else {
        return;
    };
    if bytes > 0
        && let Ok(start) = syscall::map_anonymous(bytes)
    {
        if map::prepare(start.addr(), bytes, &mut OWN.lock()) {
            BYTES.store(bytes, Ordering::Relaxed);
            START.store(start.addr(), Ordering::Release);
        } else {
            // SAFETY: no other code knows of the mapping.
            let _ = unsafe { syscall::munmap(start, bytes) };
        }
    }
}

/// Takes the reserve for a segment of at least `need` bytes: its start and size.
pub fn take(need: usize) -> Option<(usize, usize)> {
    let bytes = BYTES.load(Ordering::Relaxed);
    if need > bytes {
        return None;
    }
    let start = START.swap(0, Ordering::AcqRel);
    if start == 0 {
        return None;
    }
    ledger::add(Key::HeapReserveUsed, bytes as u64);
    Some((start, bytes))
}
