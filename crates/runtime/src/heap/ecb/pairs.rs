//! Name-value pairs that programs attach to ECBs, such as TRANSACTION=PAY.
//!
//! From the first pair of a class on, each of its ECBs is counted itself, from its beginning ([`Named`]). Before, none has storage for that.
//!
//! Invariant: a row is made under the lock of the classes, and found without one.
//! Known limit: of ECBs that are alive when their class gets its first pair, earlier visits are not counted. These ECBs are.
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
    block.class().count_ecbs();
    // Threads that are in the ECB may attach pairs at the same time.
    let shared = block.shared.lock();
    if block.named.load(Ordering::Relaxed).is_null() {
        if !make(block, shared.was_left() || !block.chains.is_empty()) {
            return Err(Refused::NoMemory);
        }
        // SAFETY: the seat is this thread's.
        unsafe { (*seat).begin_counting() };
    }
    // SAFETY: under the lock.
    let named = unsafe { block.named() }.ok_or(Refused::NoMemory)?;
    if named.attach(name, row) { Ok(()) } else { Err(Refused::Full) }
}

/// Gives a block its [`Named`]; `is_late`: earlier visits of its ECB are not counted. False if there is no memory. Under the lock of the
/// block, or before a thread knows the ECB.
pub fn make(block: &ControlBlock, is_late: bool) -> bool {
    let place: *mut Named = OWN.lock().get(size_of::<Named>()).cast();
    if !place.is_null() {
        // SAFETY: new storage of that size, aligned to 64.
        unsafe {
            place.write(Named::NONE);
            (*place).counts.is_late = is_late;
        }
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
