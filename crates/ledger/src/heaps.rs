//! Heaps of a process besides its default one: a page of rows behind its slot.
//!
//! ```text
//! slot | page: row 0 | row 1 | ... | row 14 | others           allocated and touched when the process creates its first heap
//!
//! row:  free ──created──> live ──ended──> ended ──created──> live ...
//!                                           \── its figures stay if the new heap has the same kind and name;
//!                                               else they are added to `others`, as are those of heaps without a row
//! ```
//!
//! So a program that is LINKed a thousand times has one row, with the number of its heaps.
//!
//! A row has the counters whose scope is a heap ([`Scope::Heap`]), in the same places as in a slot. The default heap has no row:
//! its sums are those of the process less those of all rows, and its peaks are not known.
//!
//! Invariant: the rows and `others` together hold all figures of heaps besides the default one. [`Slot::heaps`] is the number of
//! such heaps ever created, and the page is read only if it is not 0. A heap's state is stored last, with Release.
//! Known limit: when ended processes of a program are folded into one, rows are not kept.
//! Not here: the creation of heaps (`runtime`), and the display of rows (`report`).
//!
//! [`Scope::Heap`]: crate::Scope::Heap
//! [`Slot::heaps`]: crate::Slot::heaps

use core::sync::atomic::{AtomicU64, Ordering};

use crate::counter::Fold;
use crate::table::{FOLDS, HEAP_COUNTERS, Key};
use crate::text::Text;

/// The figures that a forked child has from its parent, and from which of the parent's: what was in use at the fork.
pub const OF_PARENT: [(Key, Key); 6] = [
    (Key::HeapUsed, Key::HeapUsed),
    (Key::HeapUsedPeak, Key::HeapUsed),
    (Key::HeapSegmentBytes, Key::HeapSegmentBytes),
    (Key::HeapSegmentBytesPeak, Key::HeapSegmentBytes),
    (Key::HeapInitialSize, Key::HeapInitialSize),
    (Key::HeapIncrementSize, Key::HeapIncrementSize),
];

/// How many heaps have a row of their own.
pub const ROWS: usize = 15;
/// Offset of the page from the slot.
pub const PAGE_OFFSET: usize = 4096;

/// Where the number of heaps begins in the word of a row.
const HEAPS: u32 = 16;

/// The use of a heap. The numbers are those in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum HeapKind {
    /// The heap in which each thread begins.
    Default = 1,
    /// Created by the program.
    Additional = 2,
    /// The heap of an enclave.
    Enclave = 3,
    /// The heaps of a class of ECBs.
    Class = 4,
    /// Several heaps, none of which is known separately.
    Others = 5,
    /// Storage below 16 MiB (`__malloc24`).
    Line = 6,
    /// Storage below 2 GiB (`__malloc31`).
    Bar = 7,
    /// The heaps of threads (THREADHEAP), all in one row.
    Thread = 8,
}

impl HeapKind {
    /// The kind with that number; 0 and noise read as None.
    #[must_use]
    pub const fn from_number(number: u64) -> Option<Self> {
        match number {
            1 => Some(Self::Default),
            2 => Some(Self::Additional),
            3 => Some(Self::Enclave),
            4 => Some(Self::Class),
            5 => Some(Self::Others),
            6 => Some(Self::Line),
            7 => Some(Self::Bar),
            8 => Some(Self::Thread),
            _ => None,
        }
    }
}

/// The state of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum RowState {
    /// Nobody's. Zero, so that a new page is all free.
    Free = 0,
    /// The row of a heap that has not ended.
    Live = 1,
    /// The row of a heap that has ended; all of its storage was given back.
    Ended = 2,
}

/// One heap.
#[repr(C, align(256))]
pub struct HeapRow {
    /// `heaps << 16 | kind << 8 | state`: the heaps are the live one and those before it of the same kind and name. Written by the
    /// holder of the lock of the list of heaps.
    pub word: AtomicU64,
    /// Its name; empty: it has none. Written before the state, as above.
    pub name: Text<4>,
    /// The counters of a heap, in the order of the table. Any thread of the process adds; relaxed.
    pub counters: [AtomicU64; HEAP_COUNTERS],
}

/// All heap rows of a process.
#[repr(C, align(4096))]
pub struct Heaps {
    /// Heaps with a row of their own.
    pub rows: [HeapRow; ROWS],
    /// All other heaps together.
    pub others: HeapRow,
}

const _: () = assert!(size_of::<HeapRow>() == 256 && size_of::<Heaps>() == 4096);

impl HeapRow {
    /// The word of the first heap of a kind, in a state.
    #[must_use]
    pub const fn word_of(kind: HeapKind, state: RowState) -> u64 {
        1 << HEAPS | (kind as u64) << 8 | state as u64
    }

    /// The number of heaps that a word counts.
    #[must_use]
    pub const fn heaps_of(word: u64) -> u64 {
        word >> HEAPS
    }

    /// Kind and state of a word; None if the row is free, and for noise.
    #[must_use]
    pub const fn entry(word: u64) -> Option<(HeapKind, RowState)> {
        let state = match word & 0xff {
            1 => RowState::Live,
            2 => RowState::Ended,
            _ => return None,
        };
        match HeapKind::from_number(word >> 8 & 0xff) {
            Some(kind) => Some((kind, state)),
            None => None,
        }
    }

    /// Kind and state; None if the row is free.
    #[must_use]
    pub fn get(&self) -> Option<(HeapKind, RowState)> {
        Self::entry(self.word.load(Ordering::Acquire))
    }

    /// A counter's cell; None for a counter that heaps do not have.
    #[must_use]
    #[inline(always)]
    pub fn cell(&self, key: Key) -> Option<&AtomicU64> {
        self.counters.get(key as usize)
    }

    /// Gives the row to a heap, with nothing counted.
    pub fn begin(&self, kind: HeapKind, name: &[u8]) {
        self.wipe();
        self.name.store(name);
        self.word.store(Self::word_of(kind, RowState::Live), Ordering::Release);
    }

    /// Gives the row to another heap of the same kind and name, whose figures are added.
    fn begin_again(&self) {
        let word = self.word.load(Ordering::Relaxed);
        self.word.store((word & !0xff | RowState::Live as u64) + (1 << HEAPS), Ordering::Release);
    }

    /// The row's heap has ended.
    pub fn end(&self) {
        let word = self.word.load(Ordering::Relaxed);
        if Self::entry(word).is_some() {
            self.word.store(word & !0xff | RowState::Ended as u64, Ordering::Release);
        }
    }

    /// Has a heap of that kind and name ended here? Heaps without a name have nothing in common, but for those of threads, which all
    /// have one row.
    fn is_of(&self, kind: HeapKind, name: &[u8]) -> bool {
        if kind == HeapKind::Thread {
            return self.get().is_some_and(|(other, _)| other == kind);
        }
        !name.is_empty() && self.get() == Some((kind, RowState::Ended)) && self.name.is(name)
    }

    /// Frees the row.
    pub fn wipe(&self) {
        self.word.store(0, Ordering::Relaxed);
        self.name.store(b"");
        self.counters.iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
    }

    /// Adds another row's figures to this one, each by its fold rule. Sums wrap: one of them may be below zero, and the default
    /// heap's sums are the process's less those of the rows.
    fn fold(&self, other: &HeapRow) {
        for (fold, (mine, theirs)) in FOLDS.iter().zip(self.counters.iter().zip(&other.counters)) {
            let theirs = theirs.load(Ordering::Relaxed);
            match fold {
                Fold::Sum => mine.fetch_add(theirs, Ordering::Relaxed),
                Fold::Max => mine.fetch_max(theirs, Ordering::Relaxed),
            };
        }
    }
}

impl Heaps {
    /// A row for a new heap: that of one with the same kind and name that has ended, or a free one, or else that of any heap that has
    /// ended, whose figures go to `others`. None if all are in use. Called by the holder of the lock of the list of heaps.
    #[must_use]
    pub fn take(&self, kind: HeapKind, name: &[u8]) -> Option<usize> {
        if let Some(same) = self.rows.iter().position(|row| row.is_of(kind, name)) {
            self.rows[same].begin_again();
            return Some(same);
        }
        let of = |state| {
            self.rows.iter().position(|row| row.get().map_or(RowState::Free, |(_, state)| state) == state)
        };
        let place = of(RowState::Free).or_else(|| {
            let ended = of(RowState::Ended)?;
            self.in_others(&self.rows[ended]);
            Some(ended)
        })?;
        self.rows[place].begin(kind, name);
        Some(place)
    }

    fn in_others(&self, row: &HeapRow) {
        self.open_others();
        self.others.fold(row);
    }

    /// Marks `others` as in use.
    pub fn open_others(&self) {
        let word = HeapRow::word_of(HeapKind::Others, RowState::Live);
        self.others.word.store(word, Ordering::Release);
    }

    /// The rows of single heaps, and `others`.
    pub fn all(&self) -> impl Iterator<Item = &HeapRow> {
        self.rows.iter().chain([&self.others])
    }

    /// Makes all rows free.
    pub fn wipe(&self) {
        self.all().for_each(HeapRow::wipe);
    }

    /// Copies the heaps that a forked child has from its parent: the live ones, with their storage in use.
    pub fn inherit(&self, parent: &Heaps) {
        for (mine, theirs) in self.all().zip(parent.all()) {
            mine.wipe();
            if let Some((kind, RowState::Live)) = theirs.get() {
                mine.name.copy(&theirs.name);
                for (to, from) in OF_PARENT {
                    if let (Some(to), Some(from)) = (mine.cell(to), theirs.cell(from)) {
                        to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
                    }
                }
                mine.word.store(HeapRow::word_of(kind, RowState::Live), Ordering::Release);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::boxed::Box;

    fn new() -> Box<Heaps> {
        let row = || HeapRow {
            word: AtomicU64::new(0),
            name: Text([const { AtomicU64::new(0) }; 4]),
            counters: [const { AtomicU64::new(0) }; HEAP_COUNTERS],
        };
        Box::new(Heaps { rows: core::array::from_fn(|_| row()), others: row() })
    }

    fn figure(row: &HeapRow, key: Key) -> u64 {
        row.cell(key).expect("a counter of heaps").load(Ordering::Relaxed)
    }

    fn set(row: &HeapRow, key: Key, value: u64) {
        row.cell(key).expect("a counter of heaps").store(value, Ordering::Relaxed);
    }

    #[test]
    fn a_row_is_used_again_and_its_figures_are_kept_among_others() {
        let heaps = new();
        for place in 0..ROWS {
            assert_eq!(heaps.take(HeapKind::Additional, b"one"), Some(place));
        }
        assert_eq!(heaps.take(HeapKind::Enclave, b"late"), None, "all live");
        assert_eq!(heaps.others.get(), None);
        for (key, value) in [(Key::HeapGets, 7), (Key::HeapUsedPeak, 100)] {
            set(&heaps.rows[3], key, value);
            set(&heaps.others, key, 50);
        }
        set(&heaps.rows[3], Key::HeapUsed, (-16_i64) as u64);
        set(&heaps.others, Key::HeapUsed, 50);
        heaps.rows[3].end();
        assert_eq!(heaps.rows[3].get(), Some((HeapKind::Additional, RowState::Ended)));
        assert_eq!(heaps.take(HeapKind::Enclave, b"late"), Some(3));
        assert_eq!(heaps.rows[3].get(), Some((HeapKind::Enclave, RowState::Live)));
        assert_eq!((figure(&heaps.rows[3], Key::HeapGets), figure(&heaps.others, Key::HeapGets)), (0, 57));
        assert_eq!(figure(&heaps.others, Key::HeapUsedPeak), 100, "the largest");
        assert_eq!(figure(&heaps.others, Key::HeapUsed), 34, "what was counted late is not lost");
        assert_eq!(heaps.others.get(), Some((HeapKind::Others, RowState::Live)));
    }

    #[test]
    fn heaps_of_one_kind_and_name_have_one_row_one_after_the_other() {
        let heaps = new();
        let name = b"a name of more than thirty-two bytes, which is cut";
        for number in 1..=1000 {
            assert_eq!(heaps.take(HeapKind::Enclave, name), Some(0));
            let row = &heaps.rows[0];
            assert_eq!(row.get(), Some((HeapKind::Enclave, RowState::Live)));
            assert_eq!(HeapRow::heaps_of(row.word.load(Ordering::Relaxed)), number);
            row.cell(Key::HeapGets).expect("a counter of heaps").fetch_add(2, Ordering::Relaxed);
            row.end();
            assert_eq!(row.get(), Some((HeapKind::Enclave, RowState::Ended)));
        }
        assert_eq!(figure(&heaps.rows[0], Key::HeapGets), 2_000);
        assert_eq!(heaps.take(HeapKind::Additional, name), Some(1), "another kind");
        assert_eq!(heaps.take(HeapKind::Enclave, name), Some(0));
        assert_eq!(heaps.take(HeapKind::Enclave, name), Some(2), "at the same time");
    }

    #[test]
    fn a_child_has_what_lives_and_nothing_of_what_was_done() {
        let (parent, child) = (new(), new());
        for name in [b"one", b"two"] {
            let place = parent.take(HeapKind::Additional, name).expect("a row");
            let row = &parent.rows[place];
            [(Key::HeapGets, 5), (Key::HeapUsed, 300), (Key::HeapUsedPeak, 900)]
                .into_iter()
                .for_each(|(key, value)| set(row, key, value));
        }
        parent.rows[0].end();
        child.rows[7].begin(HeapKind::Class, b"noise of another process");
        child.inherit(&parent);
        assert_eq!(child.all().filter(|row| row.get().is_some()).count(), 1);
        let row = &child.rows[1];
        assert!(row.name.same(&parent.rows[1].name));
        let figures = [Key::HeapGets, Key::HeapUsed, Key::HeapUsedPeak].map(|key| figure(row, key));
        assert_eq!(figures, [0, 300, 300]);
    }

    #[test]
    fn noise_is_no_heap() {
        for word in [0, 3, 1 << 8, 9 << 8 | 1, u64::MAX] {
            assert_eq!(HeapRow::entry(word), None, "{word:x}");
        }
    }
}
