//! A walk over the blocks of a space: is any damaged?
//!
//! ```text
//! segment: | element zone | free | element zone | extent | ...      each header sound, each zone as written?
//! ```
//!
//! Invariant: a space that no program has written over has no damage. A damaged zone is written anew as it is found, so that the next
//! walk finds the next one; behind a damaged header nothing is known.
//! Cost: some 10 ns for each block, and the bytes of its zone.
//! Not here: when a walk is due, and the reaction (`watch`).

use core::sync::atomic::Ordering;

use underbar_ledger::FaultKind;

use super::super::block::Block;
use super::super::check::Fault;
use super::super::map::{self, SEGMENT};
use super::super::zone::{self, State};
use super::{Segment, Space};

/// Damage that a walk found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Damage {
    /// The damaged element.
    pub fault: Fault,
    /// The element behind it, and its size; None if there is none, or if that is not known.
    pub next: Option<(usize, usize)>,
    /// The heap cannot go on: a header was overwritten.
    pub is_fatal: bool,
}

impl Space {
    /// The first damage, in the order of segments and addresses.
    pub fn first_damage(&mut self) -> Option<Damage> {
        let mut segment = self.all.cast_const();
        let is_checked = zone::are_on() && zone::are_checked(self.limit > 0);
        // SAFETY: segments in the list are live, and the lock is held.
        while let Some(this) = unsafe { segment.as_ref() } {
            let damage = this.first_damage(is_checked);
            if damage.is_some() {
                return damage;
            }
            segment = this.all_next;
        }
        None
    }
}

impl Segment {
    fn first_damage(&self, is_checked: bool) -> Option<Damage> {
        let end = self.end();
        let mut block = self.first();
        while block.0 < end {
            // SAFETY: blocks cover the segment without a gap; each that is sound ends where the next begins. Zones are written
            // under the lock.
            unsafe {
                if !block.is_sound(end) {
                    let fault = self.fault_at(block.element())?;
                    return Some(Damage { fault, next: None, is_fatal: true });
                }
                let next = Block(block.0 + block.size());
                if is_checked && !block.is_free() && is_element(block) {
                    let address = block.element();
                    if let State::Damaged(bytes) = zone::state(address) {
                        // The next header is the first to suffer from a longer write.
                        let is_fatal = next.0 != end && !next.is_sound(end);
                        let bytes = bytes.unwrap_or(block.usable());
                        zone::mend(address);
                        let fault = Fault { kind: FaultKind::Overflow, address, block: address, bytes };
                        let is_element = next.0 < end && !is_fatal && !next.is_free() && is_element(next);
                        let next = is_element.then(|| (next.element(), zone::usable(next.element())));
                        return Some(Damage { fault, next, is_fatal });
                    }
                }
                block = next;
            }
        }
        None
    }
}

/// Whether a block in use is an element, and no extent of cells.
unsafe fn is_element(block: Block) -> bool {
    let descriptor = map::lookup(block.element());
    // SAFETY: descriptors stay readable.
    descriptor.is_null() || unsafe { (*descriptor).owner.load(Ordering::Relaxed) == SEGMENT }
}
