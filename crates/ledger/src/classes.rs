//! Classes of ECBs of a process: a page for each, behind all slots of the file.
//!
//! ```text
//! slots | slot 0: class 0 | class 1 | ... | class 15 | pairs | slot 1: ...        a page is allocated when its class is made
//!
//! page  name, sizes of AVL1 to AVL5, sums | ended ECBs by use, in steps of 4 KiB | requests by steps of 16 bytes
//! ```
//!
//! A process that creates no ECB has no such page: nothing is allocated, mapped or touched.
//!
//! Invariant: [`Slot::classes`] is 0, or the number of classes up to the last one that has a page, as all before it have; it is stored
//! last, with Release. What several threads count is added from time to time, so that sums of one row may be some visits apart until all threads
//! have settled.
//! Not here: ECBs by name-value pairs ([`crate::pairs`]), when figures are counted and added (`runtime`), and their display (`report`).
//!
//! [`Slot::classes`]: crate::Slot::classes

use core::sync::atomic::{AtomicU64, Ordering};

use crate::layout::not_below_zero;
use crate::text::Text;

/// Classes of a process that have a page: the last one is of all classes beyond those before it, and is named [`OTHERS`].
pub const ROWS: usize = 16;
/// The name of the last one.
pub const OTHERS: &[u8] = b"(others)";
/// Classes that share the last page are told apart up to this number.
pub const SHARING: usize = 64;
/// Available lists of a class.
pub const AVAILABLE: usize = 5;
/// The available lists, and all other sizes together.
pub const LISTS: usize = AVAILABLE + 1;
/// Bytes of a step of use.
pub const USE_STEP: usize = 4096;
/// Rows of use: none, up to 4 KiB, ..., up to 504 KiB, and more than that.
pub const USES: usize = 128;
/// Rows of use below 2 GiB: none, up to 4 KiB, ..., up to 248 KiB, and more than that.
pub const LOW_USES: usize = 64;
/// Bytes of a step of request sizes.
pub const STEP: usize = 16;
/// The largest request that is counted by such a step.
pub const LARGEST_STEP: usize = 4096;
const STEPS: usize = LARGEST_STEP / STEP;
/// Rows of requests: the steps, powers of two up to 64 MiB, and more than that.
pub const REQUESTS: usize = STEPS + 15;

/// What is counted of a class besides lists, use and request sizes. The numbers are the places in [`ClassRow::sums`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Sum {
    /// ECBs that were created. A forked child begins with those that are alive in it.
    Created = 0,
    /// ECBs that ended. This and the next four are of ended ones.
    Ended = 1,
    /// That had at least one buffer.
    WithBuffer = 2,
    /// That made their table of names larger.
    ExpandedTags = 3,
    /// That had at least one frame of 1 MiB.
    WithFrame = 4,
    /// The most storage that one of them had, in bytes.
    HighWater = 5,
    /// Frames of 1 MiB that were obtained.
    Frames = 6,
    /// ECBs whose requests were counted one by one.
    Counted = 7,
    /// Ended ECBs that had storage below 2 GiB.
    WithLow = 8,
    /// The most storage below 2 GiB that one of them had, in bytes.
    LowHighWater = 9,
    /// Buffers below 2 GiB that were dispensed.
    LowGot = 10,
    /// Those that were freed.
    LowFreed = 11,
}

/// Number of sums.
pub const SUMS: usize = 12;
/// All of them, by their places.
pub const ALL_SUMS: [Sum; SUMS] = [
    Sum::Created,
    Sum::Ended,
    Sum::WithBuffer,
    Sum::ExpandedTags,
    Sum::WithFrame,
    Sum::HighWater,
    Sum::Frames,
    Sum::Counted,
    Sum::WithLow,
    Sum::LowHighWater,
    Sum::LowGot,
    Sum::LowFreed,
];

/// What is counted of each list. The numbers are the places in [`ClassRow::of_lists`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum OfList {
    /// Buffers that were dispensed.
    Got = 0,
    /// Buffers that were freed; not those in use when their ECB ended.
    Freed = 1,
    /// Requests for which a thread took a chain of buffers from the list that all threads of the ECB share.
    Shared = 2,
    /// Requests for which the thread made room for new buffers. Its own list, or what is left of that room, filled all others.
    Carved = 3,
}

/// Number of figures of a list.
pub const OF_LISTS: usize = 4;

/// One class. Any thread of the process adds, relaxed, but for what is written once, when the class is made.
#[repr(C, align(4096))]
pub struct ClassRow {
    /// Its name. Written once.
    pub name: Text<4>,
    /// Bytes of a buffer of each available list, 0 if it is not in use. Written once.
    pub sizes: [AtomicU64; AVAILABLE],
    /// Bytes of the preallocated area of an ECB. Written once.
    pub area: AtomicU64,
    /// One ECB in so many is counted request by request. Written once.
    pub counted_one_in: AtomicU64,
    /// See [`Sum`].
    pub sums: [AtomicU64; SUMS],
    /// See [`OfList`].
    pub of_lists: [[AtomicU64; LISTS]; OF_LISTS],
    /// Ended ECBs by the most storage that they had, see [`use_row`].
    pub uses: [AtomicU64; USES],
    /// Classes that share this page, [`SHARING`] at most; 0 but for the last page. Any thread raises it, relaxed, once for a class.
    pub sharing: AtomicU64,
    /// Requests of ECBs that were counted, see [`request_row`].
    pub requests: [AtomicU64; REQUESTS],
    /// Bytes of a piece of an ECB's part below 2 GiB. Written once.
    pub low: AtomicU64,
    /// Ended ECBs by the most storage that they had there, see [`low_row`].
    pub low_uses: [AtomicU64; LOW_USES],
}

/// All classes of a process.
#[repr(C, align(4096))]
pub struct Classes(pub [ClassRow; ROWS]);

const _: () = assert!(size_of::<ClassRow>() == 4096 && size_of::<Classes>() == crate::pairs::OFFSET);
const _: () = assert!(ALL_SUMS[SUMS - 1] as usize == SUMS - 1 && OfList::Carved as usize == OF_LISTS - 1);

/// The row of an ECB that had so many bytes of storage at most.
#[must_use]
#[inline]
pub const fn use_row(bytes: usize) -> usize {
    let row = bytes.div_ceil(USE_STEP);
    if row < USES { row } else { USES - 1 }
}

/// The row of an ECB that had so many bytes of storage below 2 GiB at most.
#[must_use]
#[inline]
pub const fn low_row(bytes: usize) -> usize {
    let row = bytes.div_ceil(USE_STEP);
    if row < LOW_USES { row } else { LOW_USES - 1 }
}

/// The most bytes of a row of use below 2 GiB; None for the last one, which has no limit.
#[must_use]
pub const fn low_limit(row: usize) -> Option<u64> {
    if row + 1 < LOW_USES { Some((row * USE_STEP) as u64) } else { None }
}

/// The most bytes of a row of use; None for the last one, which has no limit.
#[must_use]
pub const fn use_limit(row: usize) -> Option<u64> {
    if row + 1 < USES { Some((row * USE_STEP) as u64) } else { None }
}

/// The row of a request.
#[must_use]
#[inline]
pub const fn request_row(size: usize) -> usize {
    let last = size.saturating_sub(1);
    if last < LARGEST_STEP {
        return last / STEP;
    }
    let row = STEPS + last.ilog2() as usize - LARGEST_STEP.ilog2() as usize;
    if row < REQUESTS { row } else { REQUESTS - 1 }
}

/// The largest request of a row; None for the last one, which has no limit.
#[must_use]
pub const fn request_limit(row: usize) -> Option<u64> {
    if row < STEPS {
        Some(((row + 1) * STEP) as u64)
    } else if row + 1 < REQUESTS {
        Some((2 * LARGEST_STEP as u64) << (row - STEPS))
    } else {
        None
    }
}

/// The place of a list in a row: available lists are 1 to [`AVAILABLE`], all others share the last place.
#[must_use]
#[inline]
pub const fn list_place(list: usize) -> usize {
    let at = list.wrapping_sub(1);
    if at < AVAILABLE { at } else { AVAILABLE }
}

impl ClassRow {
    /// Describes a class, and makes its figures 0.
    pub fn begin(&self, name: &[u8], sizes: [u64; AVAILABLE], [area, low]: [u64; 2], counted_one_in: u64) {
        self.figures().for_each(|word| word.store(0, Ordering::Relaxed));
        for (to, size) in self.sizes.iter().zip(sizes) {
            to.store(size, Ordering::Relaxed);
        }
        self.area.store(area, Ordering::Relaxed);
        self.low.store(low, Ordering::Relaxed);
        self.sharing.store(0, Ordering::Relaxed);
        self.counted_one_in.store(counted_one_in, Ordering::Relaxed);
        self.name.store(name);
    }

    /// In a forked child: the class of its parent, of which so many ECBs are alive.
    pub fn inherit(&self, parent: &Self, alive: u64) {
        let areas = [&parent.area, &parent.low].map(get);
        self.begin(b"", parent.sizes.each_ref().map(get), areas, get(&parent.counted_one_in));
        self.name.copy(&parent.name);
        self.sharing.store(get(&parent.sharing), Ordering::Relaxed);
        self.sum(Sum::Created).store(alive, Ordering::Relaxed);
    }

    /// The word of a sum.
    #[must_use]
    #[inline]
    pub fn sum(&self, sum: Sum) -> &AtomicU64 {
        &self.sums[sum as usize]
    }

    /// ECBs that are alive, as far as threads have counted them.
    #[must_use]
    pub fn alive(&self) -> u64 {
        not_below_zero(get(self.sum(Sum::Created)).wrapping_sub(get(self.sum(Sum::Ended))))
    }

    /// Raises the most storage that one ECB had: in all, or below 2 GiB.
    pub fn raise_high_water(&self, of: Sum, bytes: u64) {
        if get(self.sum(of)) < bytes {
            self.sum(of).fetch_max(bytes, Ordering::Relaxed);
        }
    }

    fn figures(&self) -> impl Iterator<Item = &AtomicU64> {
        let lists = self.of_lists.iter().flatten();
        self.sums.iter().chain(lists).chain(&self.uses).chain(&self.requests).chain(&self.low_uses)
    }

    /// Whether both describe the same class.
    fn is_as(&self, other: &Self) -> bool {
        let kind = |row: &Self| (row.sizes.each_ref().map(get), get(&row.area), get(&row.low));
        self.name.same(&other.name) && kind(self) == kind(other)
    }

    fn fold(&self, other: &Self) {
        let marks = [Sum::HighWater, Sum::LowHighWater];
        let most = marks.map(|mark| get(self.sum(mark)).max(get(other.sum(mark))));
        for (mine, theirs) in self.figures().zip(other.figures()) {
            mine.store(get(mine).saturating_add(get(theirs)), Ordering::Relaxed);
        }
        for (mark, most) in marks.into_iter().zip(most) {
            self.sum(mark).store(most, Ordering::Relaxed);
        }
        self.sharing.fetch_max(get(&other.sharing), Ordering::Relaxed);
    }
}

fn get(word: &AtomicU64) -> u64 {
    not_below_zero(word.load(Ordering::Relaxed))
}

impl Classes {
    /// Adds the figures of another process, if it has the same classes; true if so. Both have made that many. Only the process that
    /// folds calls this.
    pub fn fold(&self, other: &Classes, [made, others]: [u64; 2]) -> bool {
        let rows = || self.0.iter().zip(&other.0).take(usize::try_from(made).unwrap_or(ROWS));
        let are_same = made == others && rows().all(|(mine, theirs)| mine.is_as(theirs));
        if are_same {
            rows().for_each(|(mine, theirs)| mine.fold(theirs));
        }
        are_same
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::boxed::Box;
    use std::vec::Vec;

    fn new() -> Box<Classes> {
        let word = || AtomicU64::new(0);
        Box::new(Classes(core::array::from_fn(|_| ClassRow {
            name: Text(core::array::from_fn(|_| word())),
            sizes: core::array::from_fn(|_| word()),
            area: word(),
            sharing: word(),
            counted_one_in: word(),
            sums: core::array::from_fn(|_| word()),
            of_lists: core::array::from_fn(|_| core::array::from_fn(|_| word())),
            uses: core::array::from_fn(|_| word()),
            requests: core::array::from_fn(|_| word()),
            low: word(),
            low_uses: core::array::from_fn(|_| word()),
        })))
    }

    #[test]
    fn each_size_is_in_the_row_of_its_limit() {
        for size in (0..9_000).chain((1..40).map(|power| 1 << power)).chain([usize::MAX]) {
            let row = request_row(size);
            assert!(request_limit(row).is_none_or(|limit| size as u64 <= limit), "{size}");
            assert!(row == 0 || request_limit(row - 1).is_some_and(|limit| size as u64 > limit), "{size}");
            let row = low_row(size);
            assert!(low_limit(row).is_none_or(|limit| size as u64 <= limit), "{size}");
            assert!(row == 0 || low_limit(row - 1).is_some_and(|limit| size as u64 > limit), "{size}");
            let row = use_row(size);
            assert!(use_limit(row).is_none_or(|limit| size as u64 <= limit), "{size}");
            assert!(row == 0 || use_limit(row - 1).is_some_and(|limit| size as u64 > limit), "{size}");
        }
        let limits = [0, 255, 256, REQUESTS - 2, REQUESTS - 1].map(request_limit);
        assert_eq!(limits, [Some(16), Some(4096), Some(8192), Some(64 << 20), None]);
        assert_eq!([0, 1, USES - 2, USES - 1].map(use_limit), [Some(0), Some(4096), Some(504 << 10), None]);
    }

    #[test]
    fn lists_that_are_not_available_ones_share_a_place() {
        assert_eq!([0, 1, 5, 6, 49].map(list_place), [5, 0, 4, 5, 5]);
    }

    #[test]
    fn a_child_begins_with_the_ecbs_that_are_alive() {
        let (parent, child) = (new(), new());
        parent.0[0].begin(b"SSL", [32, 64, 0, 0, 0], [32_768, 4_096], 32);
        parent.0[0].sum(Sum::Created).store(9, Ordering::Relaxed);
        parent.0[0].requests[3].store(7, Ordering::Relaxed);
        child.0[0].uses[1].store(99, Ordering::Relaxed);
        child.0[0].inherit(&parent.0[0], 4);
        let row = &child.0[0];
        assert!(row.name.is(b"SSL") && row.is_as(&parent.0[0]));
        assert_eq!((row.alive(), get(&row.requests[3]), get(&row.uses[1])), (4, 0, 0));
    }

    #[test]
    fn processes_with_the_same_classes_are_added() {
        let (sum, other) = (new(), new());
        for (classes, most) in [(&sum, 70), (&other, 50)] {
            classes.0[0].begin(b"SSL", [32, 64, 0, 0, 0], [32_768, 4_096], 32);
            classes.0[1].begin(b"JAVA", [64, 0, 0, 0, 0], [32_768, 4_096], 32);
            for word in classes.0[0].figures().collect::<Vec<_>>() {
                word.store(3, Ordering::Relaxed);
            }
            classes.0[0].sum(Sum::HighWater).store(0, Ordering::Relaxed);
            classes.0[0].raise_high_water(Sum::HighWater, most);
        }
        assert!(sum.fold(&other, [2, 2]));
        let row = &sum.0[0];
        let words = [row.sum(Sum::Ended), row.sum(Sum::HighWater), &row.of_lists[1][5], &row.requests[0]];
        assert_eq!(words.map(get), [6, 70, 6, 6]);
        assert!(!sum.fold(&other, [2, 1]), "one of them has more classes");
        other.0[1].begin(b"JAVA", [128, 0, 0, 0, 0], [32_768, 4_096], 32);
        assert!(!sum.fold(&other, [2, 2]), "other sizes");
        assert_eq!(get(row.sum(Sum::Ended)), 6);
    }
}
