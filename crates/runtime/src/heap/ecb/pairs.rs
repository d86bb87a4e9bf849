//! Name-value pairs that programs attach to ECBs, such as TRANSACTION=PAY.
//!
//! A control block gets its [`Named`] when one of its ECBs gets its first pair. So an ECB without pairs has no storage for them.
//!
//! Invariant: a row is made under the lock of the classes, and found without one.
//! Known limit: buffers of visits before the one in which the block gets its first pair are not counted for it.
//! Not here: what is counted (`named`), and the rows (`underbar_ledger::pairs`).

use core::sync::atomic::Ordering;

use underbar_ledger::pairs::{BYTES, others};

use super::super::private_storage::OWN;
use super::class::{Class, MAKING};
use super::control_block::ControlBlock;
use super::named::Named;
use super::{Refused, here};
use crate::ledger;

/// Attaches a pair to the ECB that the thread is in, in place of its pair of that name; an empty value takes that one away.
pub fn name(name: &[u8], value: &[u8]) -> Result<(), Refused> {
    let seat = here().ok_or(Refused::Outside)?;
    if name.is_empty() {
        return Err(Refused::Name);
    }
    if name.len() > BYTES || value.len() > BYTES {
        return Err(Refused::LongName);
    }
    // SAFETY: the seat is this thread's, which is inside.
    let block = unsafe { &*(*seat).block };
    let row = (!value.is_empty()).then(|| row_of(block.class(), name, value));
    // Threads that are in the ECB may attach pairs at the same time.
    let _shared = block.shared.lock();
    if block.named.load(Ordering::Relaxed).is_null() && !make(block) {
        return Err(Refused::NoMemory);
    }
    // SAFETY: under the lock.
    let named = unsafe { block.named() }.ok_or(Refused::NoMemory)?;
    if named.attach(name, row) { Ok(()) } else { Err(Refused::Full) }
}

/// Gives a block its [`Named`]. False if there is no memory. Under the lock of the block.
fn make(block: &ControlBlock) -> bool {
    let place: *mut Named = OWN.lock().get(size_of::<Named>()).cast();
    if !place.is_null() {
        // SAFETY: new storage of that size, aligned to 64.
        unsafe { place.write(Named::NONE) };
        block.named.store(place, Ordering::Relaxed);
    }
    !place.is_null()
}

/// The row of a pair, made if it has none yet and there is room.
fn row_of(class: &Class, name: &[u8], value: &[u8]) -> usize {
    let known = ledger::pairs::pages().and_then(|pairs| pairs.find(class.index(), name, value));
    known.unwrap_or_else(|| {
        let _made = MAKING.lock();
        if cfg!(feature = "no-accounts") {
            return others(class.index());
        }
        ledger::pages_of_pairs().find_or_make(class.index(), name, value)
    })
}
