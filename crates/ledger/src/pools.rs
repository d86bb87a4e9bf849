//! Heap pools of a process (HEAPPOOLS), and its requests by steps of 8 bytes: two pages behind its slot.
//!
//! ```text
//! slot | page of heaps | head, pool 0 | pool 1 | ... | pool 62 | step 0: up to 8 bytes | up to 16 | ... | up to 4096
//! ```
//!
//! A process without HEAPPOOLS and RPTSTG(ON) has no such pages: nothing is allocated or touched.
//!
//! Invariant: [`Slot::pools`] is 0, or 1 and the number of pools that have a row; it is stored last, with Release. The rows are in
//! the order of their sizes, and pools of one size are next to each other. All steps together are the requests of up to
//! [`LARGEST_STEP`] bytes, if the process counts them.
//! Not here: when cells are counted (`runtime`), and the display of pools (`report`).
//!
//! [`Slot::pools`]: crate::Slot::pools

use core::sync::atomic::{AtomicU64, Ordering};

use crate::heaps;
use crate::layout::{SLOT_BYTES, not_below_zero};

/// How many pools have a row. Further pools of a size share the rows of the first ones.
pub const ROWS: usize = 63;
/// Bytes of a step.
pub const STEP: usize = 8;
/// The largest request that is counted by steps.
pub const LARGEST_STEP: usize = 4096;
/// How many steps there are.
pub const STEPS: usize = LARGEST_STEP / STEP;
/// Offset of these pages from the slot.
pub const PAGE_OFFSET: usize = heaps::PAGE_OFFSET + size_of::<heaps::Heaps>();

/// What all pools have in common.
#[repr(C, align(64))]
pub struct Head {
    /// The initial size of HEAP of which extents are a percentage; 0: extents are a number of cells (HEAPPOOLS64). Written once, at
    /// the start.
    pub initial: AtomicU64,
    /// 1 if requests are counted by steps. Written once, at the start.
    pub counts_steps: AtomicU64,
    /// Requests that were larger than the largest cell. Any thread of the process adds; relaxed.
    pub larger: AtomicU64,
}

/// One pool.
#[repr(C, align(64))]
pub struct PoolRow {
    /// Bytes of a cell as it was set. This and the next three are written once, at the start.
    pub cell: AtomicU64,
    /// Bytes that a cell takes.
    pub element: AtomicU64,
    /// The percentage that was set; 0 for HEAPPOOLS64.
    pub percent: AtomicU64,
    /// Cells of an extent.
    pub cells_per_extent: AtomicU64,
    /// Requests that it served. Any thread of the process adds what it has gathered; relaxed.
    pub gets: AtomicU64,
    /// Extents that were allocated, as above.
    pub extents: AtomicU64,
    /// Cells in use, as above.
    pub used: AtomicU64,
    /// The most cells in use at one time, as far as threads have counted them.
    pub used_peak: AtomicU64,
}

/// The two pages.
#[repr(C, align(4096))]
pub struct Pools {
    /// See there.
    pub head: Head,
    /// The pools.
    pub rows: [PoolRow; ROWS],
    /// Requests by steps of 8 bytes. Any thread of the process adds; relaxed.
    pub steps: [AtomicU64; STEPS],
}

const _: () = assert!(size_of::<PoolRow>() == 64 && size_of::<Pools>() == 8192);
const _: () = assert!(PAGE_OFFSET + size_of::<Pools>() == SLOT_BYTES);

/// The step of a request. None if it is larger than [`LARGEST_STEP`].
#[must_use]
#[inline]
pub const fn step_of(size: usize) -> Option<usize> {
    let last = size.saturating_sub(1);
    if last < LARGEST_STEP { Some(last / STEP) } else { None }
}

impl Head {
    fn words(&self) -> [&AtomicU64; 3] {
        [&self.initial, &self.counts_steps, &self.larger]
    }
}

impl PoolRow {
    fn words(&self) -> [&AtomicU64; 8] {
        let Self { cell, element, percent, cells_per_extent, gets, extents, used, used_peak } = self;
        [cell, element, percent, cells_per_extent, gets, extents, used, used_peak]
    }

    /// The words that describe the pool.
    fn kind(&self) -> [u64; 4] {
        [&self.cell, &self.element, &self.percent, &self.cells_per_extent].map(get)
    }

    /// Adds to the cells in use, or takes from them.
    pub fn change_use(&self, change: i64) {
        let used = self.used.fetch_add(change as u64, Ordering::Relaxed).wrapping_add(change as u64);
        if change > 0 && used as i64 > 0 && self.used_peak.load(Ordering::Relaxed) < used {
            self.used_peak.fetch_max(used, Ordering::Relaxed);
        }
    }
}

fn get(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

fn add(to: &AtomicU64, more: &AtomicU64) {
    let sum = not_below_zero(get(to)).saturating_add(not_below_zero(get(more)));
    to.store(sum, Ordering::Relaxed);
}

impl Pools {
    /// Makes all figures 0, and all rows free.
    pub fn wipe(&self) {
        let rows = self.rows.iter().flat_map(PoolRow::words);
        self.head.words().into_iter().chain(rows).chain(&self.steps).for_each(|word| {
            word.store(0, Ordering::Relaxed);
        });
    }

    /// What a forked child has of its parent: the pools with their extents and the cells in use, and no requests. `used` are the
    /// cells in use at the fork, if they were noted.
    pub fn inherit(&self, parent: &Pools, used: Option<&[AtomicU64; ROWS]>) {
        self.wipe();
        for (to, from) in [(&self.head.initial, &parent.head.initial)]
            .into_iter()
            .chain([(&self.head.counts_steps, &parent.head.counts_steps)])
        {
            to.store(get(from), Ordering::Relaxed);
        }
        for (mine, theirs) in self.rows.iter().zip(&parent.rows) {
            for (to, from) in mine.words().into_iter().zip(theirs.words()) {
                to.store(get(from), Ordering::Relaxed);
            }
            mine.gets.store(0, Ordering::Relaxed);
        }
        for (at, mine) in self.rows.iter().enumerate() {
            let used = used.map_or_else(|| get(&mine.used), |used| get(&used[at]));
            mine.used.store(used, Ordering::Relaxed);
            mine.used_peak.store(not_below_zero(used), Ordering::Relaxed);
        }
    }

    /// Adds the figures of another process, if it has the same pools; true if so. Only the process that folds calls this.
    pub fn fold(&self, other: &Pools) -> bool {
        let are_same = get(&self.head.initial) == get(&other.head.initial)
            && self.rows.iter().zip(&other.rows).all(|(mine, theirs)| mine.kind() == theirs.kind());
        if !are_same {
            return false;
        }
        add(&self.head.larger, &other.head.larger);
        for (mine, theirs) in self.rows.iter().zip(&other.rows) {
            add(&mine.gets, &theirs.gets);
            add(&mine.extents, &theirs.extents);
            add(&mine.used, &theirs.used);
            mine.used_peak.fetch_max(get(&theirs.used_peak), Ordering::Relaxed);
        }
        self.steps.iter().zip(&other.steps).for_each(|(mine, theirs)| add(mine, theirs));
        true
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::boxed::Box;

    fn new() -> Box<Pools> {
        let word = || AtomicU64::new(0);
        let row = || PoolRow {
            cell: word(),
            element: word(),
            percent: word(),
            cells_per_extent: word(),
            gets: word(),
            extents: word(),
            used: word(),
            used_peak: word(),
        };
        Box::new(Pools {
            head: Head { initial: word(), counts_steps: word(), larger: word() },
            rows: core::array::from_fn(|_| row()),
            steps: core::array::from_fn(|_| word()),
        })
    }

    fn set(word: &AtomicU64, value: u64) {
        word.store(value, Ordering::Relaxed);
    }

    #[test]
    fn steps_are_of_eight_bytes() {
        let steps = [0, 1, 8, 9, 16, 4088, 4089, 4096, 4097, usize::MAX].map(step_of);
        let expect = [0, 0, 0, 1, 1, 510, 511, 511].map(Some);
        assert_eq!((&steps[..8], &steps[8..]), (&expect[..], &[None, None][..]));
    }

    #[test]
    fn a_child_has_the_cells_in_use_and_no_requests() {
        let (parent, child) = (new(), new());
        set(&child.steps[7], 99);
        set(&parent.head.initial, 32_768);
        set(&parent.steps[3], 5);
        let row = &parent.rows[1];
        for (word, value) in row.words().into_iter().zip([24, 32, 10, 102, 1_000, 3, 200, 250]) {
            set(word, value);
        }
        child.inherit(&parent, None);
        assert_eq!(child.rows[1].words().map(get), [24, 32, 10, 102, 0, 3, 200, 200]);
        let noted = core::array::from_fn(|at| AtomicU64::new(at as u64 * 90));
        child.inherit(&parent, Some(&noted));
        assert_eq!(child.rows[1].words().map(get), [24, 32, 10, 102, 0, 3, 90, 90]);
        assert_eq!((get(&child.head.initial), get(&child.steps[3]), get(&child.steps[7])), (32_768, 0, 0));
    }

    #[test]
    fn processes_with_the_same_pools_are_added() {
        let (sum, other) = (new(), new());
        for (pools, gets) in [(&sum, 7), (&other, 5)] {
            set(&pools.rows[0].cell, 24);
            set(&pools.rows[0].gets, gets);
            set(&pools.rows[0].used_peak, gets);
            set(&pools.steps[2], gets);
        }
        set(&other.rows[0].used, (-3_i64) as u64);
        assert!(sum.fold(&other));
        let row = &sum.rows[0];
        assert_eq!([&row.gets, &row.used, &row.used_peak, &sum.steps[2]].map(get), [12, 0, 7, 12]);
        set(&other.rows[0].cell, 32);
        assert!(!sum.fold(&other), "other pools");
        assert_eq!(get(&row.gets), 12);
    }

    #[test]
    fn the_most_cells_in_use_are_known() {
        let pools = new();
        let row = &pools.rows[0];
        [5, -3, 10, -12, -1, 2].into_iter().for_each(|change| row.change_use(change));
        assert_eq!((get(&row.used), get(&row.used_peak)), (1, 12));
    }
}
