//! What a thread has counted of the ECBs of a class and not yet published.
//!
//! ```text
//! seat: lists when the thread leaves ──> figures ── every 64 visits, at the end of the thread ──> the class's row, the process
//! ```
//!
//! malloc counts nothing: of each list a thread knows how many buffers it took in, how many it freed, and how many are left.
//!
//! Invariant: figures of a thread are of one class at a time.
//! Not here: the row (`heap::account`).

use underbar_ledger::Key;

use super::super::size::row_of;
use super::class::Class;
use super::lists::LISTS;
use crate::ledger;

/// Visits after which figures are published.
const VISITS: u32 = 64;
/// Units of 16 bytes after which they are, too.
const UNITS: i64 = 4096;

/// The figures.
pub struct Figures {
    gets: [u32; LISTS],
    /// Lists that have gets.
    touched: u64,
    frees: u64,
    units: i64,
    visits: u32,
}

impl Figures {
    /// Nothing counted.
    pub const NONE: Self = Self { gets: [0; LISTS], touched: 0, frees: 0, units: 0, visits: 0 };

    /// So many buffers of a list of that size were got and freed. A list number of 0 is for buffers with pages of their own.
    #[inline]
    pub fn count(&mut self, list: usize, size: u32, gets: u32, frees: u32) {
        self.gets[list] += gets;
        self.touched |= 1 << list;
        self.frees += u64::from(frees);
        self.units += (i64::from(gets) - i64::from(frees)) * i64::from(size / 16);
    }

    /// A large buffer was got, or freed.
    pub fn count_large(&mut self, class: &Class, bytes: usize, is_freed: bool) {
        if is_freed {
            self.frees += 1;
            self.units -= (bytes / 16) as i64;
        } else {
            class.heap().add(Key::HeapGets, 1);
            class.heap().raise(Key::HeapLargestRequest, bytes as u64);
            ledger::add_requests(row_of(bytes), 1);
            self.units += (bytes / 16) as i64;
        }
    }

    /// An ECB ended with so many buffers and units in use.
    pub fn count_end(&mut self, buffers: i32, units: i32) {
        self.frees += u64::try_from(buffers).unwrap_or(0);
        self.units -= i64::from(units);
    }

    /// A visit is over.
    #[inline]
    pub fn visited(&mut self, class: &Class) {
        self.visits += 1;
        if self.visits >= VISITS || self.units.abs() > UNITS {
            self.publish(class);
        }
    }

    /// Adds everything to the class's row and to the process's figures.
    #[cold]
    pub fn publish(&mut self, class: &Class) {
        let mut gets = 0;
        let mut touched = core::mem::take(&mut self.touched);
        while touched != 0 {
            let list = touched.trailing_zeros() as usize;
            touched &= touched - 1;
            let of_list = core::mem::take(&mut self.gets[list]);
            if of_list > 0 {
                gets += u64::from(of_list);
                let size = class.lists.sizes[list];
                ledger::add_requests(row_of(size as usize), u64::from(of_list));
                class.heap().raise(Key::HeapLargestRequest, u64::from(size));
            }
        }
        let heap = class.heap();
        if gets > 0 {
            heap.add(Key::HeapGets, gets);
        }
        let frees = core::mem::take(&mut self.frees);
        if frees > 0 {
            heap.add(Key::HeapFrees, frees);
        }
        let change = core::mem::take(&mut self.units) * 16;
        if change != 0 {
            heap.account.change(Key::HeapUsed, Key::HeapUsedPeak, change);
            let used = ledger::change_use(change);
            if change > 0 {
                ledger::raise_use(used);
            }
        }
        self.visits = 0;
    }
}
