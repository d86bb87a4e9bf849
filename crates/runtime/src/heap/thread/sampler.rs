//! Where the next samples of a thread are, under SITES.
//!
//! ```text
//! bytes of the cells that are handed out, list by list:  |--------|--------------|---.-------|--------
//!                                                                                 until: the next point
//! a list with a point is cut before the cell that holds it ─> the request that would get that cell finds an empty bin, and its class
//! marked
//! ```
//!
//! So `malloc` is the same with samples as without. A point belongs to the cells as they are handed out, in whichever order the program
//! takes them from the bins: each cell holds one with the same probability, whatever was before. An element takes its bytes of the same line
//! when it is got.
//!
//! Invariant: a cell in a bin holds no point. A mark has the mean distance with which its point was drawn.
//! Not here: what is done at a point (`heap::sampled`), and the distances (`sites::draw`).

use super::super::extent::Extent;
use super::super::private_storage::OWN;
use super::{CLASSES, Cell, ThreadHeap};
use crate::sites::{self, draw};

/// The samples of one thread in one heap. The owner alone reads and writes.
pub struct Sampler {
    random: draw::Random,
    /// Bytes up to the next point, its own included; above 0.
    until: u64,
    /// The power of 2 of the mean with which it was drawn.
    doubled: u32,
    /// The number of the thread; 0: not known yet.
    thread: u32,
    /// The row of the process among its forks.
    generation: u64,
    /// For each class: 0, or the next request takes a cell that holds a point, drawn with a mean of this power less 1.
    marks: [u8; CLASSES],
}

/// What a request finds.
pub enum Ready {
    /// A cell that holds no point; null if there is no memory.
    Cell(*mut Cell),
    /// Its cell would hold a point, which was drawn with a mean of this power.
    Point(u32),
}

impl Sampler {
    fn new(of: usize) -> Self {
        let mut sampler = Self {
            random: draw::Random::new(sites::seed(of)),
            until: 1,
            doubled: 0,
            thread: 0,
            generation: sites::generation(),
            marks: [0; CLASSES],
        };
        sampler.draw();
        sampler
    }

    /// Draws the next point. Whatever the bytes before it were, it is as far away as at the beginning.
    #[cold]
    #[inline(never)]
    fn draw(&mut self) {
        self.doubled = sites::doubled();
        self.until = self.random.distance(sites::mean(self.doubled));
    }

    /// Whether the next cell of a class, which is of so many bytes, holds a point; if so, the power of its mean.
    fn falls_now(&mut self, class: usize, bytes: u64) -> Option<u32> {
        let mark = core::mem::take(&mut self.marks[class]);
        if mark != 0 {
            return Some(u32::from(mark) - 1);
        }
        self.falls_in(bytes)
    }

    /// How many of so many cells come before one that holds a point; the first one holds none. Marks the class if there is such a cell.
    fn before_point(&mut self, class: usize, bytes: u64, count: u32) -> u32 {
        // By a product: a quotient would take longer than all else that samples cost a list.
        let behind = (u64::from(count) - 1) * bytes;
        if behind < self.until {
            self.until -= behind;
            return count;
        }
        let free = (self.until - 1) / bytes.max(1);
        self.marks[class] = self.doubled as u8 + 1;
        self.draw();
        1 + free as u32
    }

    /// Whether an element of so many bytes holds a point; if so, the power of its mean.
    fn falls_in(&mut self, bytes: u64) -> Option<u32> {
        if self.doubled != sites::doubled() {
            self.draw();
        }
        if self.until <= bytes {
            let doubled = self.doubled;
            self.draw();
            return Some(doubled);
        }
        self.until -= bytes;
        None
    }

    /// Passes an element of so many bytes, if it holds no point. False: that, or something else has to be done first.
    #[inline(always)]
    fn passes(&mut self, bytes: u64) -> bool {
        let passes =
            self.until > bytes && self.doubled == sites::doubled() && self.generation == sites::generation();
        if passes {
            self.until -= bytes;
        }
        passes
    }

    /// The same for the next cell of a class.
    #[inline(always)]
    fn passes_cell(&mut self, class: usize, bytes: u64) -> bool {
        self.marks[class] == 0 && self.passes(bytes)
    }
}

/// All methods are called by the owner.
#[allow(clippy::missing_safety_doc, reason = "one contract for all, stated above")]
impl ThreadHeap {
    /// The thread's samples; None if there is no memory for them.
    #[inline(always)]
    fn sampler(&mut self) -> Option<&mut Sampler> {
        // SAFETY: null, or written by `begin_sampler`; the owner's alone.
        match unsafe { self.sampler.as_mut() } {
            Some(sampler) if sampler.generation == sites::generation() => Some(sampler),
            _ => self.begin_sampler(),
        }
    }

    /// Makes it, or begins anew in a forked child.
    #[cold]
    #[inline(never)]
    fn begin_sampler(&mut self) -> Option<&mut Sampler> {
        if self.sampler.is_null() {
            self.sampler = OWN.lock().get(size_of::<Sampler>()).cast();
        }
        // SAFETY: storage of the right size and alignment, which stays for ever; null without memory.
        unsafe {
            if !self.sampler.is_null() {
                self.sampler.write(Sampler::new(self.sampler.addr()));
            }
            self.sampler.as_mut()
        }
    }

    /// Another thread has this heap from now on.
    pub(super) unsafe fn forget_sampled_thread(&mut self) {
        // SAFETY: null, or written.
        if let Some(sampler) = unsafe { self.sampler.as_mut() } {
            sampler.thread = 0;
        }
    }

    /// It is a part of another heap from now on: the cells that hold marked points have ended with the heap before.
    pub(super) unsafe fn forget_points(&mut self) {
        // SAFETY: null, or written.
        if let Some(sampler) = unsafe { self.sampler.as_mut() } {
            sampler.marks = [0; CLASSES];
        }
    }

    /// A cell from the bin; if that is empty, whether the next cell holds a point, and else a cell of the next list.
    pub unsafe fn get_or_sample(&mut self, class: usize) -> Ready {
        let cell = *self.bin(class);
        if !cell.is_null() {
            // SAFETY: cells in a bin are free, and begin with a link.
            *self.bin(class) = unsafe { (*cell).next.get() };
            return Ready::Cell(cell);
        }
        let bytes = self.cell_bytes(class) as u64;
        match self.sampler().and_then(|sampler| sampler.falls_now(class, bytes)) {
            Some(doubled) => Ready::Point(doubled),
            // SAFETY: the contract above.
            None => Ready::Cell(unsafe { self.fill_before_point(class) }),
        }
    }

    /// A cell as usual, if neither it nor the way to it has to do with samples. Null: the request goes the way of samples. By address,
    /// since the heap may be a thread's that has none.
    #[inline(always)]
    pub unsafe fn get_unsampled(this: *mut Self, class: usize) -> *mut Cell {
        // SAFETY: the contract above; cells in a bin are free, and begin with a link; the sampler is null, or written by `begin_sampler`,
        // and the heap is then a thread's.
        unsafe {
            let cell = (*this).bins[class];
            if !cell.is_null() {
                (*this).bins[class] = (*cell).next.get();
                return cell;
            }
            let Some(sampler) = (*this).sampler.as_mut() else { return core::ptr::null_mut() };
            if sampler.passes_cell(class, u64::from((*this).cells.bytes[class])) {
                (*this).fill_before_point(class)
            } else {
                core::ptr::null_mut()
            }
        }
    }

    /// As `fill_bin`, up to the next point; the cell that is got holds none.
    #[cold]
    #[inline(never)]
    pub unsafe fn fill_before_point(&mut self, class: usize) -> *mut Cell {
        // SAFETY: the contract above.
        unsafe { self.fill::<true>(class) }
    }

    /// Bytes of a cell of a class.
    pub fn cell_bytes(&self, class: usize) -> usize {
        self.cells.bytes[class] as usize
    }

    /// Whether a request that would get a cell with a point is a sample: the point is in the bytes that were requested, or behind them.
    pub fn is_chosen(&mut self, size: usize, cell_bytes: usize, mean: u64) -> bool {
        self.sampler().is_some_and(|sampler| sampler.random.is_chosen(size as u64, cell_bytes as u64, mean))
    }

    /// Whether a request that takes no cell is a sample; if so, the power of the mean with which its point was drawn.
    pub fn point_in(&mut self, size: usize) -> Option<u32> {
        self.sampler().and_then(|sampler| sampler.falls_in(size as u64))
    }

    /// Passes a request that takes no cell, if it is no sample. False: that, or something else has to be done first. By address, as
    /// [`ThreadHeap::get_unsampled`].
    #[inline(always)]
    pub unsafe fn passes(this: *mut Self, size: usize) -> bool {
        // SAFETY: the contract above; the sampler is null, or written by `begin_sampler`.
        unsafe { (*this).sampler.as_mut() }.is_some_and(|sampler| sampler.passes(size as u64))
    }

    /// The number of the thread.
    pub fn thread_number(&mut self) -> u32 {
        let Some(sampler) = self.sampler() else { return 0 };
        if sampler.thread == 0 {
            sampler.thread = sites::thread();
        }
        sampler.thread
    }

    /// Bytes of cells in use that the ledger does not know yet; below 0 if more came back.
    pub fn unpublished_bytes(&self) -> i64 {
        self.tally.counted()
    }

    /// Cuts a list of cells that were taken from an extent before the next point. What is behind it goes back to the extent. Returns how
    /// many are left.
    #[inline(always)]
    pub(super) unsafe fn cut(
        &mut self,
        class: usize,
        extent: *mut Extent,
        cells: *mut Cell,
        count: u32,
    ) -> u32 {
        let bytes = self.cell_bytes(class) as u64;
        // Of this process: `get_or_sample` and `get_unsampled` look first.
        // SAFETY: null, or written by `begin_sampler`; the owner's alone.
        let Some(sampler) = (unsafe { self.sampler.as_mut() }) else { return count };
        let left = sampler.before_point(class, bytes, count);
        if left < count {
            let mut last = cells;
            // SAFETY: so many free cells are linked, and the extent is ours; its list is empty, since these were taken from it.
            unsafe {
                for _ in 1..left {
                    last = (*last).next.get();
                }
                (*extent).list = (*last).next.get();
                (*last).next.set(core::ptr::null_mut());
            }
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However lists are cut and classes take turns, a cell holds a point as often as its size says.
    #[test]
    fn points_are_as_frequent_as_sizes_say() {
        const COUNT: u64 = 400_000;
        let mut sampler = Sampler::new(3);
        // Without SITES the mean is 1: with such sizes each cell would hold a point.
        let sizes = [(1, 1_u64), (2, 2), (3, 3)];
        let mut random = crate::heap::random::Random(1);
        let mut found = [[0_u64; 2]; 4];
        for _ in 0..COUNT {
            let (class, bytes) = sizes[random.below(3)];
            let mut taken = 0;
            // One request, which finds an empty bin, and those that take the list.
            if sampler.falls_now(class, bytes).is_some() {
                found[class][1] += 1;
            } else {
                taken = sampler.before_point(class, bytes, 1 + random.below(4) as u32);
            }
            found[class][0] += u64::from(taken.max(1));
        }
        for (class, bytes) in sizes {
            let [all, points] = found[class].map(|count| count as f64);
            let p = 1.0 - (-(bytes as f64)).exp();
            let error = (all * p * (1.0 - p)).sqrt();
            assert!(
                (points - all * p).abs() < 4.0 * error,
                "{class}: {points} of {all}, expected {}",
                all * p
            );
        }
    }
}
