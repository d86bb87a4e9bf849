//! The index of free blocks: finds one that fits a request in constant time.
//!
//! ```text
//! doubling ->  bitmap of non-empty rows        row = sizes from 2^k to 2^(k+1)
//!              row k: bitmap of 32 lists ----> list = sizes of one 32nd of the row
//!                                              list -> block <-> block <-> nil
//! ```
//! Two levels of lists, after Masmano, Ripoll and Crespo (TLSF, 2004).
//!
//! The lists take more storage than the rest of a heap. So they are separate: the default heap has static ones, and another heap
//! gets some with its first segment. A heap without storage costs little.
//!
//! Invariant: a bit is set exactly if its list is not empty, and a block is in the list of its size. Lists that wait for their
//! next heap are empty.
//! A request looks first at a few blocks of the list in which its own size falls, for a close fit, then takes
//! the first block of the next list that is not empty: each block there is large enough.
//! Not here: locking; the caller holds the space's lock.

use core::ptr::null_mut;

use super::block::Block;
use super::private_storage::{INDEX, OWN};

const SMALLEST_LOG: usize = 5;
const LARGEST_LOG: usize = 46;
const ROWS: usize = LARGEST_LOG - SMALLEST_LOG + 1;
const LISTS: usize = 32;
/// How many blocks of the request's own list are tried. More packs tighter and costs more.
const TRIES: usize = 8;

/// All free blocks of a space.
pub struct Index {
    rows: u64,
    lists: [u32; ROWS],
    /// Null until the first segment.
    heads: *mut Heads,
}

/// The first block of each list; 0: none.
pub struct Heads([[usize; LISTS]; ROWS]);

const _: () = assert!(size_of::<Heads>() == INDEX);

impl Heads {
    const NEW: Self = Self([[0; LISTS]; ROWS]);
}

/// Those of the default heap. Touched by the holder of the lock of its space.
pub static mut OF_DEFAULT: Heads = Heads::NEW;

fn place(size: usize) -> (usize, usize) {
    let log = size.ilog2() as usize;
    // Rows of fewer than 32 multiples of 16 leave lists unused; nothing is lost by it.
    (log - SMALLEST_LOG, (size >> (log - 5)) & (LISTS - 1))
}

impl Index {
    /// No free blocks. The lists, if there are any, are empty, and no one else's.
    pub const fn new(heads: *mut Heads) -> Self {
        Self { rows: 0, lists: [0; ROWS], heads }
    }

    /// Makes sure that blocks can be entered. False if the kernel has no memory.
    pub fn prepare(&mut self) -> bool {
        if self.heads.is_null() {
            self.heads = OWN.lock().get_index().cast();
        }
        !self.heads.is_null()
    }

    /// Forgets all blocks.
    pub fn clear(&mut self) {
        (self.rows, self.lists) = (0, [0; ROWS]);
        // SAFETY: they are ours alone, and those that came from the store go back to it empty.
        unsafe {
            let Some(heads) = self.heads.as_mut() else { return };
            *heads = Heads::NEW;
            if self.heads != &raw mut OF_DEFAULT {
                OWN.lock().put_index(core::mem::replace(&mut self.heads, null_mut()).cast());
            }
        }
    }

    /// The first block of a list; 0: none. Only after `prepare`, which the first block needs.
    fn head(&self, row: usize, list: usize) -> usize {
        // SAFETY: they are there, and ours.
        unsafe { (*self.heads).0[row][list] }
    }

    fn set_head(&mut self, row: usize, list: usize, block: usize) {
        // SAFETY: `prepare` made them before the first block came, and they are ours.
        unsafe { (*self.heads).0[row][list] = block }
    }

    /// Enters a free block.
    ///
    /// # Safety
    /// The block is free, of that size, and in no list.
    pub unsafe fn insert(&mut self, block: Block, size: usize) {
        let (row, list) = place(size);
        let head = self.head(row, list);
        // SAFETY: both blocks are free, so their links are ours.
        unsafe {
            let (next, previous) = block.links();
            *next = head;
            *previous = 0;
            if head != 0 {
                *Block(head).links().1 = block.0;
            }
        }
        self.set_head(row, list, block.0);
        self.lists[row] |= 1 << list;
        self.rows |= 1 << row;
    }

    /// Takes a free block out.
    ///
    /// # Safety
    /// The block is in the index, and of that size.
    pub unsafe fn remove(&mut self, block: Block, size: usize) {
        // SAFETY: blocks in the index are free, so their links are ours.
        unsafe {
            let (next, previous) = block.links();
            let (next, previous) = (*next, *previous);
            if next != 0 {
                *Block(next).links().1 = previous;
            }
            if previous != 0 {
                *Block(previous).links().0 = next;
                return;
            }
            let (row, list) = place(size);
            self.set_head(row, list, next);
            if next == 0 {
                self.lists[row] &= !(1 << list);
                if self.lists[row] == 0 {
                    self.rows &= !(1 << row);
                }
            }
        }
    }

    /// The first block of a walk over all blocks of at least `least` bytes. The walk also meets smaller ones of the same list.
    pub fn first(&self, least: usize) -> Option<Block> {
        let (row, list) = place(least);
        self.at_or_behind(row, list)
    }

    /// The block after this one in such a walk.
    ///
    /// # Safety
    /// The block is in the index.
    pub unsafe fn after(&self, block: Block) -> Option<Block> {
        // SAFETY: blocks in the index are free, so their links are ours.
        let (next, size) = unsafe { (*block.links().0, block.size()) };
        if next != 0 {
            return Some(Block(next));
        }
        let (row, list) = place(size);
        self.at_or_behind(row, list + 1)
    }

    /// The first block of the first list that is not empty.
    fn at_or_behind(&self, row: usize, list: usize) -> Option<Block> {
        (row..ROWS).find_map(|at| {
            let behind = if at == row { u32::MAX.checked_shl(list as u32).unwrap_or(0) } else { u32::MAX };
            let lists = self.lists[at] & behind;
            (lists != 0).then(|| Block(self.head(at, lists.trailing_zeros() as usize)))
        })
    }

    /// A block of at least `size` bytes, still in the index.
    pub fn find(&self, size: usize) -> Option<Block> {
        let (row, list) = place(size);
        // No list may be there before the first block came.
        if row >= ROWS || self.rows == 0 {
            return None;
        }
        let (mut best, mut best_size) = (0, usize::MAX);
        let mut at = self.head(row, list);
        for _ in 0..TRIES {
            if at == 0 {
                break;
            }
            // SAFETY: blocks in the index are free blocks of live segments.
            let found = unsafe { Block(at).size() };
            if (size..best_size).contains(&found) {
                (best, best_size) = (at, found);
                if found == size {
                    break;
                }
            }
            // SAFETY: as above.
            at = unsafe { *Block(at).links().0 };
        }
        if best != 0 {
            return Some(Block(best));
        }
        let above = if list + 1 < LISTS { self.lists[row] & (u32::MAX << (list + 1)) } else { 0 };
        let (row, lists) = if above != 0 {
            (row, above)
        } else {
            let rows = self.rows & (u64::MAX << (row + 1));
            if rows == 0 {
                return None;
            }
            let row = rows.trailing_zeros() as usize;
            (row, self.lists[row])
        };
        Some(Block(self.head(row, lists.trailing_zeros() as usize)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn lists_are_in_the_order_of_sizes() {
        let mut last = (0, 0);
        for size in (32..1 << 20).step_by(16) {
            let at = place(size);
            assert!(at >= last, "{size} lies before a smaller size");
            last = at;
        }
    }

    /// Compares with a plain search over all blocks.
    #[test]
    fn finds_a_block_that_fits_whenever_there_is_one() {
        let mut room = vec![0_u128; 1 << 16];
        let base = room.as_mut_ptr() as usize;
        let mut index = Index::new(null_mut());
        assert!(index.find(32).is_none() && index.first(32).is_none() && index.prepare());
        let mut free: Vec<(Block, usize)> = Vec::new();
        let mut random = 12345_u64;
        let mut next = |below: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % below
        };
        for at in (0..1 << 20).step_by(4096) {
            let (block, size) = (Block(base + at + 8), 32 + 16 * next(200));
            // SAFETY: `room` is ours, and each block has 4 KiB of it to itself.
            unsafe {
                block.set_free(size, block.0 + size);
                index.insert(block, size);
            }
            free.push((block, size));
        }
        let (mut walked, mut at) = (0, index.first(1000));
        while let Some(block) = at {
            // SAFETY: it is in the index.
            (walked, at) = unsafe { (walked + usize::from(block.size() >= 1000), index.after(block)) };
        }
        assert_eq!(walked, free.iter().filter(|(_, size)| *size >= 1000).count());
        while !free.is_empty() {
            let want = 32 + 16 * next(220);
            let fits = free.iter().filter(|(_, size)| *size >= want).count();
            match index.find(want) {
                None => assert_eq!(fits, 0, "{want} bytes not found"),
                Some(block) => {
                    let at = free.iter().position(|(known, _)| *known == block).expect("a known block");
                    let (_, size) = free.swap_remove(at);
                    assert!(size >= want);
                    // SAFETY: it is in the index.
                    unsafe { index.remove(block, size) };
                }
            }
            if fits == 0 {
                let (block, size) = free.swap_remove(0);
                // SAFETY: it is in the index.
                unsafe { index.remove(block, size) };
            }
        }
        assert_eq!(index.rows, 0, "bitmaps of an empty index");
        index.clear();
        assert!(index.heads.is_null());
    }
}
