//! ECBs by the name-value pairs that the program attached to them, such as TRANSACTION=PAY: a row for each class, name and value.
//!
//! ```text
//! classes of a slot's process | keys | others of class 0 | ... of class 15 | row 0: SSL TRANSACTION PAY | row 1 ...
//!                               one of each row; 0: the row is free
//! ```
//!
//! An ECB with several pairs counts in the row of each. So the rows of one name divide the ECBs of a class, and those of two names
//! overlap.
//! A pair for which there is no row left counts in the row `others` of its class.
//!
//! Invariant: rows are filled from the first one on and never change their pair. A key is stored last, with Release, so who finds it
//! finds its texts. [`Slot::pairs`] is 0 until the pages are set up.
//! Not here: which ECB has which pair (`runtime`), and the display (`report`).
//!
//! [`Slot::pairs`]: crate::Slot::pairs

use crate::fingerprint::fingerprint;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::classes::{self, LISTS};
use crate::layout::not_below_zero;
use crate::text::Text;

/// Bytes of a name, and of a value.
pub const BYTES: usize = 32;
/// Pairs that have a row of their own, of all classes together.
pub const OWN: usize = 108;
/// All rows: those of others, then pairs.
pub const ROWS: usize = classes::ROWS + OWN;
/// Where the pages are behind the first page of classes.
pub const OFFSET: usize = size_of::<classes::Classes>();

/// What is counted of a pair besides lists: all of ended ECBs. The numbers are the places in [`PairRow::sums`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum PairSum {
    /// Ended ECBs that had the pair.
    Ecbs = 0,
    /// That had at least one buffer.
    WithBuffer = 1,
    /// That made their table of names larger.
    ExpandedTags = 2,
    /// That had at least one frame of 1 MiB.
    WithFrame = 3,
    /// Frames of 1 MiB that they obtained.
    Frames = 4,
    /// The most storage that one of them had, in bytes.
    HighWater = 5,
    /// Bytes of the buffers that were dispensed to them.
    Bytes = 6,
    /// ECBs that were alive when their class got its first pair: their earlier visits are not counted in [`Self::Bytes`] and the lists.
    Late = 7,
}

/// Number of sums.
pub const SUMS: usize = 8;
/// All of them, by their places.
pub const ALL_SUMS: [PairSum; SUMS] = [
    PairSum::Ecbs,
    PairSum::WithBuffer,
    PairSum::ExpandedTags,
    PairSum::WithFrame,
    PairSum::Frames,
    PairSum::HighWater,
    PairSum::Bytes,
    PairSum::Late,
];

/// An ECB that ended, as a row counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndedEcb {
    /// Buffers that each list dispensed; the last one is of all that are not available lists.
    pub got: [u32; LISTS],
    /// Buffers of each list that were freed.
    pub freed: [u32; LISTS],
    /// By the places of [`PairSum`].
    pub sums: [u64; SUMS],
}

/// One pair. Any thread of the process adds, relaxed, but for what is written once, when the row is made.
#[repr(C, align(256))]
pub struct PairRow {
    /// Number of the class. Written once.
    pub class: AtomicU64,
    /// The name; none in a row of others. Written once.
    pub name: Text<4>,
    /// The value. Written once.
    pub value: Text<4>,
    /// See [`PairSum`].
    pub sums: [AtomicU64; SUMS],
    /// Buffers that each list dispensed.
    pub got: [AtomicU64; LISTS],
    /// Buffers of each list that were freed.
    pub freed: [AtomicU64; LISTS],
}

/// All pairs of a process.
#[repr(C, align(4096))]
pub struct Pairs {
    /// What finds a row: a number made of its class, name and value, not 0. Of free rows 0.
    pub keys: [AtomicU64; ROWS + 4],
    /// The rows.
    pub rows: [PairRow; ROWS],
}

/// Bytes of the pages.
pub const PAGES: usize = 8 * 4096;

const _: () = assert!(size_of::<Pairs>() == PAGES && size_of::<PairRow>() == 256);
const _: () = assert!(OFFSET + PAGES == crate::layout::CLASSES_BYTES);
const _: () = assert!(ALL_SUMS[SUMS - 1] as usize == SUMS - 1);

fn get(word: &AtomicU64) -> u64 {
    not_below_zero(word.load(Ordering::Relaxed))
}

/// The fingerprint of a class, a name and a value; never 0.
fn key_of(class: usize, name: &[u8], value: &[u8]) -> u64 {
    let bytes = [class as u8].into_iter().chain(name.iter().copied()).chain([0]).chain(value.iter().copied());
    fingerprint(bytes) | 1
}

impl PairRow {
    /// The word of a sum.
    #[must_use]
    pub fn sum(&self, sum: PairSum) -> &AtomicU64 {
        &self.sums[sum as usize]
    }

    fn figures(&self) -> impl Iterator<Item = &AtomicU64> {
        self.sums.iter().chain(&self.got).chain(&self.freed)
    }

    fn wipe(&self, class: usize) {
        self.figures().for_each(|word| word.store(0, Ordering::Relaxed));
        self.class.store(class as u64, Ordering::Relaxed);
        self.name.store(b"");
        self.value.store(b"");
    }

    fn is_of(&self, class: usize, name: &[u8], value: &[u8]) -> bool {
        self.class.load(Ordering::Relaxed) == class as u64 && self.name.is(name) && self.value.is(value)
    }

    fn fold(&self, other: &Self) {
        let most = get(self.sum(PairSum::HighWater)).max(get(other.sum(PairSum::HighWater)));
        for (mine, theirs) in self.figures().zip(other.figures()) {
            mine.store(get(mine).saturating_add(get(theirs)), Ordering::Relaxed);
        }
        self.sum(PairSum::HighWater).store(most, Ordering::Relaxed);
    }
}

impl Pairs {
    /// Makes all rows free and all figures 0.
    pub fn wipe(&self) {
        self.keys.iter().for_each(|key| key.store(0, Ordering::Relaxed));
        for (at, row) in self.rows.iter().enumerate() {
            row.wipe(at.min(classes::ROWS - 1));
        }
    }

    /// The row of a pair, if it has one. Any thread may ask, without a lock.
    #[must_use]
    pub fn find(&self, class: usize, name: &[u8], value: &[u8]) -> Option<usize> {
        let key = key_of(class, name, value);
        for (at, word) in self.keys.iter().enumerate().take(ROWS).skip(classes::ROWS) {
            match word.load(Ordering::Acquire) {
                0 => return None,
                found if found == key && self.rows[at].is_of(class, name, value) => return Some(at),
                _ => {}
            }
        }
        None
    }

    /// The row of a pair, made if there is room for one, else that of the others of its class. One thread at a time calls this.
    pub fn find_or_make(&self, class: usize, name: &[u8], value: &[u8]) -> usize {
        if let Some(found) = self.find(class, name, value) {
            return found;
        }
        let is_free = |at: &usize| self.keys[*at].load(Ordering::Relaxed) == 0;
        let Some(at) = (classes::ROWS..ROWS).find(is_free) else {
            return others(class);
        };
        let row = &self.rows[at];
        row.wipe(class);
        row.name.store(name);
        row.value.store(value);
        self.keys[at].store(key_of(class, name, value), Ordering::Release);
        at
    }

    /// Whether a row is that of a name, whatever its value.
    #[must_use]
    pub fn is_named(&self, row: usize, name: &[u8]) -> bool {
        self.rows.get(row).is_some_and(|row| row.name.is(name))
    }

    /// Adds an ECB that ended. Any thread may call this, at any time.
    pub fn add(&self, row: usize, ended: &EndedEcb) {
        let Some(row) = self.rows.get(row) else { return };
        let most = ended.sums[PairSum::HighWater as usize];
        for (at, (to, figure)) in row.sums.iter().zip(ended.sums).enumerate() {
            if figure > 0 && at != PairSum::HighWater as usize {
                to.fetch_add(figure, Ordering::Relaxed);
            }
        }
        if get(row.sum(PairSum::HighWater)) < most {
            row.sum(PairSum::HighWater).fetch_max(most, Ordering::Relaxed);
        }
        let lists = row.got.iter().zip(ended.got).chain(row.freed.iter().zip(ended.freed));
        for (to, figure) in lists.filter(|(_, figure)| *figure > 0) {
            to.fetch_add(figure.into(), Ordering::Relaxed);
        }
    }

    /// In a forked child: the same pairs in the same rows, with figures of 0.
    pub fn inherit(&self, parent: &Self) {
        for (at, (row, theirs)) in self.rows.iter().zip(&parent.rows).enumerate() {
            row.wipe(0);
            row.class.store(get(&theirs.class), Ordering::Relaxed);
            row.name.copy(&theirs.name);
            row.value.copy(&theirs.value);
            self.keys[at].store(parent.keys[at].load(Ordering::Acquire), Ordering::Release);
        }
    }

    /// Adds the pairs of another process with the same classes. Only the process that folds calls this.
    pub fn fold(&self, other: &Self) {
        for (at, theirs) in other.rows.iter().enumerate() {
            let (mut name, mut value) = ([0; BYTES], [0; BYTES]);
            let class = usize::try_from(get(&theirs.class)).unwrap_or(0).min(classes::ROWS - 1);
            let to = if at < classes::ROWS {
                at
            } else if other.keys[at].load(Ordering::Acquire) == 0 {
                continue;
            } else {
                self.find_or_make(class, theirs.name.read(&mut name), theirs.value.read(&mut value))
            };
            self.rows[to].fold(theirs);
        }
    }
}

/// The row of ECBs of a class whose pairs have none.
#[must_use]
pub const fn others(class: usize) -> usize {
    if class < classes::ROWS { class } else { classes::ROWS - 1 }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::boxed::Box;
    use std::format;

    fn new() -> Box<Pairs> {
        let word = || AtomicU64::new(0);
        let text = || Text(core::array::from_fn(|_| word()));
        Box::new(Pairs {
            keys: core::array::from_fn(|_| word()),
            rows: core::array::from_fn(|_| PairRow {
                class: word(),
                name: text(),
                value: text(),
                sums: core::array::from_fn(|_| word()),
                got: core::array::from_fn(|_| word()),
                freed: core::array::from_fn(|_| word()),
            }),
        })
    }

    fn ended(high_water: u64) -> EndedEcb {
        EndedEcb {
            got: [0, 3, 0, 0, 0, 1],
            freed: [0, 2, 0, 0, 0, 0],
            sums: [1, 1, 0, 0, 0, high_water, 700, 0],
        }
    }

    /// ECBs, high-water mark, buffers of the second list.
    fn figures(pairs: &Pairs, row: usize) -> [u64; 3] {
        let row = &pairs.rows[row];
        [get(row.sum(PairSum::Ecbs)), get(row.sum(PairSum::HighWater)), get(&row.got[1])]
    }

    #[test]
    fn a_pair_has_one_row_and_those_beyond_the_last_one_share_their_class_s() {
        let pairs = new();
        assert_eq!(pairs.find(1, b"TRANSACTION", b"PAY"), None);
        let pay = pairs.find_or_make(1, b"TRANSACTION", b"PAY");
        assert_eq!(pairs.find(1, b"TRANSACTION", b"PAY"), Some(pay));
        // What only looks alike: another class, the parts cut elsewhere.
        for (class, name, value) in [(2, "TRANSACTION", "PAY"), (1, "TRANSACTIONP", "AY"), (1, "T", "PAY")] {
            assert_eq!(pairs.find(class, name.as_bytes(), value.as_bytes()), None, "{class} {name} {value}");
        }
        assert!(pairs.is_named(pay, b"TRANSACTION") && !pairs.is_named(pay, b"T"));
        for number in 1..OWN {
            let row = pairs.find_or_make(3, b"USER", format!("{number}").as_bytes());
            assert_eq!(row, pay + number);
        }
        assert_eq!(pairs.find_or_make(3, b"USER", b"one too many"), others(3));
        assert_eq!(pairs.find_or_make(1, b"TRANSACTION", b"PAY"), pay);
    }

    #[test]
    fn figures_are_sums_and_the_high_water_mark_the_largest() {
        let pairs = new();
        let row = pairs.find_or_make(0, b"A", b"1");
        for high_water in [70, 90, 50] {
            pairs.add(row, &ended(high_water));
        }
        assert_eq!(figures(&pairs, row), [3, 90, 9]);
        pairs.add(ROWS, &ended(1));
    }

    #[test]
    fn a_child_has_the_same_rows_and_no_figures() {
        let (parent, child) = (new(), new());
        let row = parent.find_or_make(2, b"A", b"1");
        parent.add(row, &ended(7));
        child.add(row, &ended(9));
        child.inherit(&parent);
        assert_eq!(child.find(2, b"A", b"1"), Some(row));
        assert_eq!(figures(&child, row), [0; 3]);
    }

    #[test]
    fn pairs_of_several_processes_are_added_in_whatever_order_they_were_made() {
        let (sum, other) = (new(), new());
        let mine = [sum.find_or_make(0, b"A", b"1"), sum.find_or_make(0, b"A", b"2")];
        let theirs = [other.find_or_make(0, b"A", b"2"), other.find_or_make(0, b"A", b"3"), others(0)];
        mine.iter().for_each(|row| sum.add(*row, &ended(10)));
        theirs.iter().for_each(|row| other.add(*row, &ended(20)));
        sum.fold(&other);
        let three = sum.find(0, b"A", b"3").expect("made");
        let found = [mine[0], mine[1], three, others(0)].map(|row| figures(&sum, row));
        assert_eq!(found, [[1, 10, 3], [2, 20, 6], [1, 20, 3], [1, 20, 3]]);
    }

    /// Threads that look and add while another one makes rows: no figure is lost, and no row is found half made.
    #[test]
    fn rows_are_whole_as_soon_as_they_are_found() {
        const THREADS: usize = 3;
        const ROUNDS: usize = 2_000;
        let pairs = new();
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for round in 0..ROUNDS {
                        let value = format!("value {}", round % OWN);
                        let row = loop {
                            // Thread by thread: a pair may not be there yet.
                            if let Some(row) = pairs.find(5, b"NAME", value.as_bytes()) {
                                break row;
                            }
                            std::thread::yield_now();
                        };
                        assert!(pairs.rows[row].is_of(5, b"NAME", value.as_bytes()));
                        pairs.add(row, &ended(round as u64));
                    }
                });
            }
            for number in 0..OWN {
                pairs.find_or_make(5, b"NAME", format!("value {number}").as_bytes());
                std::thread::yield_now();
            }
        });
        let ecbs: u64 = pairs.rows.iter().map(|row| get(row.sum(PairSum::Ecbs))).sum();
        assert_eq!(ecbs, (THREADS * ROUNDS) as u64);
    }
}
