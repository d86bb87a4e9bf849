//! The other allocator that the program has, as this process's slot names it.
//!
//! Not here: how it is found (`serving`).

use core::sync::atomic::{AtomicU64, Ordering};

use underbar_ledger::text::Text;
use underbar_ledger::{AllocatorRole, Slot};

/// Children copy these to their slots, too. Written by the first thread at the start, read by any thread later; relaxed.
static ROLE: AtomicU64 = AtomicU64::new(0);
static NAME: Text<4> = Text([const { AtomicU64::new(0) }; 4]);

/// Remembers the allocator, and writes it to this process's slot.
pub(crate) fn found(role: AllocatorRole, name: &[u8]) {
    NAME.store(name);
    ROLE.store(role as u64, Ordering::Relaxed);
    tell(super::slot());
}

/// Writes this process's allocator to a slot.
pub(super) fn tell(slot: &Slot) {
    slot.allocator.copy(&NAME);
    slot.allocator_role.store(ROLE.load(Ordering::Relaxed), Ordering::Relaxed);
}
