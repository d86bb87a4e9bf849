//! ECBs as a program sees them. Here: what all of these tests use.

use std::vec::Vec;

use super::super::map::{AREA, lookup};
use super::super::{ONE_AT_A_TIME, free, malloc};
use super::*;

// There are fifteen classes and one for all others: where the class does not matter, tests share SIZES.

mod figures;
mod names;
mod pairs;
mod reuse;
mod storage;
mod visits;

fn turn() -> crate::heap::turn::Turn {
    ONE_AT_A_TIME.lock()
}

fn get(size: usize) -> *mut u8 {
    // SAFETY: as malloc of C.
    unsafe { malloc(size) }
}

fn give(buffer: *mut u8) {
    // SAFETY: the tests free what they got, once.
    unsafe { free(buffer) }
}

/// Whose storage an address is: an ECB's number, or 0 for the process's.
fn ecb_of(buffer: *mut u8) -> Number {
    let descriptor = lookup(buffer.addr());
    // SAFETY: descriptors stay readable.
    unsafe {
        if descriptor.is_null() || (*descriptor).owner.load(Ordering::Relaxed) != AREA {
            return 0;
        }
        (*area::of(descriptor)).block().cast::<ControlBlock>().as_ref().map_or(0, number_of)
    }
}

fn filled(size: usize, with: u8) -> *mut u8 {
    let buffer = get(size);
    assert!(!buffer.is_null() && buffer.addr().is_multiple_of(16));
    // SAFETY: new storage of that size.
    unsafe { buffer.write_bytes(with, size) };
    buffer
}

fn holds(buffer: *mut u8, size: usize, with: u8) -> bool {
    // SAFETY: the buffer is in use, and was filled.
    unsafe { core::slice::from_raw_parts(buffer, size) }.iter().all(|&byte| byte == with)
}
