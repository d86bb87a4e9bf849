//! Extents: pages of a segment that hold cells of one size, and belong to one thread's heap.
//!
//! ```text
//! 8 | header | cell | cell | cell | cell | cell | not carved yet ........ | 8 | next block's header
//! ^ first page  used   list   used   list   used                          ^ next page
//! ```
//!
//! Invariants: carved == out + |list|, where `out` (= countdown + held) counts the cells that were handed out, to the program or
//! to the thread's list, and have not come back. Cells that another thread freed are out until the owner collects them.
//!
//! ```text
//! scale = 2^64 / cell_bytes, rounded up       (address - start) * scale modulo 2^64, of a cell's address: its number * error
//! error = scale * cell_bytes - 2^64           of all others: at least scale
//! ```
//! So one multiplication and one comparison with carved * error tell whether an address is that of a carved cell.
//! Not here: which extent a thread uses next (`thread`).

use core::mem::offset_of;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::cell::Cell;
use super::map::{Descriptor, PAGE};
use super::private_storage::DESCRIPTOR;
use super::size::{Cells, LARGEST_SMALL};

/// In which of its pool's lists an extent is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The one that cells are taken from.
    Current,
    /// Has free cells.
    Partial,
    /// Had none when it was last looked at.
    Full,
}

/// One extent. Its owner writes everything; other threads read `owner` and what tells whether an address is that of a cell. That is in
/// a line of its own: what the owner writes for each cell would take it away from those who free its cells.
#[repr(C, align(64))]
pub struct Extent {
    /// See [`Descriptor::owner`].
    pub owner: AtomicUsize,
    /// The first cell; the first page as long as there is no class.
    pub start: usize,
    /// See the drawing above.
    scale: usize,
    /// `carved * error`. The owner alone writes it. Any thread reads it, relaxed, of an extent of which it has a cell: it got
    /// that cell after the limit had passed it. It never falls while a cell is out.
    limit: AtomicUsize,
    /// Bytes of a cell.
    pub cell_bytes: u32,
    /// Bytes of its pages.
    pub bytes: u32,
    /// The segment around it.
    pub segment: *mut Descriptor,
    /// Neighbours among the parked ones.
    pub older: *mut Extent,
    /// See `older`.
    pub newer: *mut Extent,

    // ---- the second line -------------------------------------------------------------------------------------
    /// Cells that their owner freed, latest first.
    pub list: *mut Cell,
    /// How many more cells must come back until the next look: at the last one of the extent, or at a step of them.
    /// Then a full extent is worth taking cells from again, and frees are counted.
    pub countdown: u32,
    /// Cells out beyond the countdown.
    pub held: u32,
    /// Cells carved so far, from the front.
    pub carved: u32,
    /// Cells that fit.
    pub capacity: u32,
    /// `out` when frees were last counted.
    pub settled: u32,
    /// The countdown to the next look: an eighth of the cells, from [`LEAST_STEP`] to [`MOST_STEP`].
    step: u32,
    /// Neighbours in its pool's list.
    pub next: *mut Extent,
    /// See `next`.
    pub previous: *mut Extent,
    /// Class of its cells.
    pub class: u8,
    /// In which list it is.
    pub place: Place,
}

/// Bytes before the cells of an extent: the last ones of the block before, and the header of its own.
pub const BEFORE_CELLS: usize = 16;

/// The same for cells of that size, so that an address is as much aligned as the size is, up to the alignments that cells serve.
pub const fn before_cells(cell_bytes: u32) -> u32 {
    let alignment = 1 << cell_bytes.trailing_zeros();
    if alignment > LARGEST_SMALL as u32 { LARGEST_SMALL as u32 } else { alignment }
}

/// The countdown is at least this many cells: an extent has room for 15 or more large ones. With five, the peak of bytes in use
/// would be an eighth too high. Extents of pools can have fewer cells: for those it is a quarter of them.
pub const LEAST_STEP: u32 = 4;
/// And at most this many: fewer cells than that wait unseen in each full extent, which of small ones would be an eighth of all storage,
/// and longer lists save no more.
const MOST_STEP: u32 = 32;

const _: () = assert!(size_of::<Extent>() <= DESCRIPTOR && offset_of!(Extent, list) == 64);

impl Extent {
    /// An extent without cells, whose first page begins there.
    pub fn new(start: usize, bytes: usize, segment: *mut Descriptor) -> Self {
        Self {
            owner: AtomicUsize::new(0),
            list: null_mut(),
            countdown: 0,
            held: 0,
            start,
            scale: 0,
            limit: AtomicUsize::new(0),
            class: 0,
            place: Place::Current,
            cell_bytes: 0,
            carved: 0,
            capacity: 0,
            settled: 0,
            bytes: bytes as u32,
            step: 0,
            segment,
            next: null_mut(),
            previous: null_mut(),
            older: null_mut(),
            newer: null_mut(),
        }
    }

    /// Gives the extent cells of a class.
    pub fn set_class(&mut self, class: usize, cells: &Cells) {
        self.class = class as u8;
        self.cell_bytes = cells.bytes[class];
        let before = before_cells(self.cell_bytes);
        self.start += before as usize;
        self.capacity = (self.bytes - before) / self.cell_bytes;
        let (_, of_a_pool) = cells.extents[class];
        if of_a_pool > 0 {
            self.capacity = self.capacity.min(of_a_pool);
        }
        self.scale = cells.scales[class];
        self.step = (self.capacity / 8).max(LEAST_STEP.min(self.capacity.div_ceil(4))).min(MOST_STEP);
    }

    /// Where its first page begins.
    pub fn first_page(&self) -> usize {
        self.start & !(PAGE - 1)
    }

    /// Is this the address of a cell that was carved? The address is in a page of this extent.
    ///
    /// # Safety
    /// Descriptors stay readable for ever: this is one.
    #[inline(always)]
    pub unsafe fn has_cell(this: *const Self, address: usize) -> bool {
        // SAFETY: the caller's promise; nothing of this changes except the limit.
        unsafe {
            let limit = (*this).limit.load(Ordering::Relaxed);
            address.wrapping_sub((*this).start).wrapping_mul((*this).scale) < limit
        }
    }

    /// The cell around an address; None if none was carved there.
    pub fn cell_around(&self, address: usize) -> Option<usize> {
        let number = address.wrapping_sub(self.start).checked_div(self.cell_bytes as usize)?;
        (number < self.carved as usize).then(|| self.start + number * self.cell_bytes as usize)
    }

    /// Cells handed out that have not come back.
    pub fn out(&self) -> u32 {
        self.countdown + self.held
    }

    /// Sets the countdown to the next look, after a step or at the last cell. Up to that many
    /// returned cells go unnoticed.
    pub fn count_on(&mut self) {
        let step = self.step.min(self.held);
        self.countdown = step;
        self.held -= step;
    }

    /// Whether all cells are carved, and fewer than a step of them wait.
    pub fn has_few(&self) -> bool {
        self.carved == self.capacity && self.waiting() < self.step
    }

    /// Bytes of the cells that were carved.
    pub fn carved_bytes(&self) -> usize {
        self.carved as usize * self.cell_bytes as usize
    }

    /// Cells that were carved and are not handed out.
    pub fn waiting(&self) -> u32 {
        self.carved - self.out()
    }

    /// Sets the countdown of an extent that is laid aside: to the time when a step of cells waits, those included that wait now.
    pub fn count_to_a_step(&mut self) {
        let out = self.out();
        let missing = self.step.saturating_sub(self.waiting()).max(1).min(out);
        self.countdown = missing;
        self.held = out - missing;
    }

    /// Carves at most `count` cells and links them, the last to `rest`. Returns the first, and how many.
    pub fn carve(&mut self, count: u32, rest: *mut Cell) -> (*mut Cell, u32) {
        let count = count.min(self.capacity - self.carved);
        if count == 0 {
            return (null_mut(), 0);
        }
        let step = self.cell_bytes as usize;
        let first = self.start + self.carved as usize * step;
        let mut at = first;
        // SAFETY: the cells are in the extent's pages and nobody has them yet.
        unsafe {
            // Counted: a range of addresses would divide by the step.
            for _ in 1..count {
                (*(at as *mut Cell)).next.set((at + step) as *mut Cell);
                at += step;
            }
            (*(at as *mut Cell)).next.set(rest);
        }
        self.carved += count;
        let limit = self.carved as usize * self.scale.wrapping_mul(step);
        self.limit.store(limit, Ordering::Relaxed);
        (first as *mut Cell, count)
    }
}

#[cfg(test)]
mod tests {
    use super::super::size::{CELL_BYTES, STANDARD};
    use super::*;

    /// Every address of an extent of every class, with some cells carved and with all of them.
    #[test]
    fn the_addresses_of_carved_cells_are_told_from_all_others() {
        for (class, &cell_bytes) in CELL_BYTES.iter().enumerate().skip(1) {
            let bytes = (cell_bytes as usize * 16).next_multiple_of(65_536);
            let mut storage = std::vec![0_u8; bytes + PAGE];
            let first_page = storage.as_mut_ptr().addr().next_multiple_of(PAGE);
            let mut extent = Extent::new(first_page, bytes, null_mut());
            let has_cell = |extent: &Extent, address| {
                // SAFETY: the extent is live.
                unsafe { Extent::has_cell(extent, address) }
            };
            assert!(!has_cell(&extent, first_page));
            extent.set_class(class, &STANDARD);
            let start = extent.start;
            assert!(start >= first_page + BEFORE_CELLS && extent.first_page() == first_page);
            assert!(start.is_multiple_of((1 << cell_bytes.trailing_zeros()).min(LARGEST_SMALL)));
            assert!(start + extent.capacity as usize * cell_bytes as usize <= first_page + bytes);
            for count in [0, 1, extent.capacity / 2, extent.capacity] {
                extent.carve(count, null_mut());
                let carved = start..start + extent.carved as usize * cell_bytes as usize;
                for address in first_page..first_page + bytes {
                    let expected =
                        carved.contains(&address) && (address - start).is_multiple_of(cell_bytes as usize);
                    assert_eq!(
                        has_cell(&extent, address),
                        expected,
                        "{address:#x} of {start:#x}, {cell_bytes}"
                    );
                }
            }
            assert_eq!(extent.cell_around(start + cell_bytes as usize - 1), Some(start));
            assert_eq!(extent.cell_around(first_page), None);
        }
    }
}
