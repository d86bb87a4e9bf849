//! Requests for heap storage by size: a row for each size of cells, and for each power of two beyond.
//!
//! ```text
//! row   0..15    up to 16, 32 ... 256          steps of 16
//!      16..23    up to 288 ... 512             steps of 32
//!      24..31    up to 576 ... 1024            steps of 64
//!      32..71    up to 1152, 1280 ... 32768    eight steps for each doubling
//!      72..103   up to 64K, 128K ... 2^47      powers of two; the last row also counts what is larger
//! ```
//!
//! The heap serves a request by the smallest cell that holds it, and counts lists of cells, not single requests. So the size of a
//! request is known to the step of its row. An aligned request counts in the row of the cell that it takes.
//!
//! Invariant: after an orderly end the rows of a process together are its `heap.gets`. The heap takes its sizes of cells from
//! [`cell_bytes`]: there is no second list.
//! Not here: the class of a request (`runtime::heap::size`), and when rows are counted (`runtime::heap::thread`).

use crate::counter::{Counter, Exactness, Fold, Scope, Unit, Writer};

/// Number of classes of cells; class 0 is unused.
pub const CLASSES: usize = 73;
/// The largest cell. A larger request is an element of a segment.
pub const LARGEST_CELL: usize = cell_bytes(CLASSES - 1);
/// Rows for requests larger than a cell.
const POWERS: usize = 32;
/// Rows of the table.
pub const ROWS: usize = CLASSES - 1 + POWERS;

/// Bytes of a cell of a class.
#[must_use]
pub const fn cell_bytes(class: usize) -> usize {
    match class {
        0 => 0,
        1..=16 => class * 16,
        17..=24 => 256 + (class - 16) * 32,
        25..=32 => 512 + (class - 24) * 64,
        _ => {
            let (doubling, step) = ((class - 33) / 8, (class - 33) % 8 + 1);
            (1024 << doubling) + (128 << doubling) * step
        }
    }
}

/// The row of a class of cells.
#[must_use]
#[inline(always)]
pub const fn row_of_class(class: usize) -> usize {
    class - 1
}

/// The row of a request that is larger than a cell.
#[must_use]
pub const fn row_of_large(size: usize) -> usize {
    let power = (size - 1).ilog2() as usize - LARGEST_CELL.ilog2() as usize;
    CLASSES - 1 + if power < POWERS { power } else { POWERS - 1 }
}

/// The largest size of a row.
#[must_use]
pub const fn limit(row: usize) -> u64 {
    if row < CLASSES - 1 { cell_bytes(row + 1) as u64 } else { (LARGEST_CELL as u64) << (row + 2 - CLASSES) }
}

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its key path, such as `sizes.up_to_64`.
    pub key: &'static str,
    /// Its requests are larger than this: the largest size of the row before it.
    pub from: u64,
    /// Its largest size. The last row has larger ones, too.
    pub limit: u64,
}

/// All rows, by ascending size.
pub static TABLE: [Row; ROWS] = {
    let mut table = [Row { key: "", from: 0, limit: 0 }; ROWS];
    let mut row = 0;
    while row < ROWS {
        let from = if row == 0 { 0 } else { limit(row - 1) };
        table[row] = Row { key: KEYS[row].text(), from, limit: limit(row) };
        row += 1;
    }
    table
};

/// What all rows have in common, as an entry of the table of counters; its key is the area of their keys.
pub static COMMON: Counter = Counter {
    key: "sizes",
    label: "Requests by size",
    unit: Unit::Count,
    writer: Writer::Gathered,
    live: BATCH,
    killed: BATCH,
    fold: Fold::Sum,
    scope: Scope::Process,
    meaning: "Served requests for heap storage (heap.gets) by the size of the cell that serves them: larger than the row \
              before, up to this many bytes. Steps of 16 bytes up to 256, of an eighth at most up to 32 KiB, and powers of two beyond. \
              A request counts with its own size if the heap serves it without a cell, and an aligned one by the cell that it takes. \
              All rows together are heap.gets.",
};

/// The part of the requests of a row that may be missing while a process runs or after it was killed.
const BATCH: Exactness = Exactness::Within(
    "of every running thread and of up to four that have ended, 1,024 requests and one list of cells for each size up to 32 KiB; larger requests are exact",
);

/// The row with that key path, if there is one.
#[must_use]
pub fn find(key: &str) -> Option<usize> {
    TABLE.iter().position(|row| row.key == key)
}

const AREA: &[u8] = b"sizes.up_to_";

/// A key's text, which a constant expression writes.
#[derive(Clone, Copy)]
struct KeyText {
    bytes: [u8; 32],
    length: usize,
}

static KEYS: [KeyText; ROWS] = {
    let mut keys = [KeyText { bytes: [0; 32], length: 0 }; ROWS];
    let mut row = 0;
    while row < ROWS {
        keys[row] = KeyText::of(limit(row));
        row += 1;
    }
    keys
};

impl KeyText {
    const fn of(limit: u64) -> Self {
        let mut bytes = [0; 32];
        let mut length = AREA.len();
        let mut at = 0;
        while at < length {
            bytes[at] = AREA[at];
            at += 1;
        }
        let mut rest = limit;
        while rest > 0 {
            length += 1;
            rest /= 10;
        }
        rest = limit;
        at = length;
        while rest > 0 {
            at -= 1;
            bytes[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        Self { bytes, length }
    }

    const fn text(&'static self) -> &'static str {
        match core::str::from_utf8(self.bytes.split_at(self.length).0) {
            Ok(text) => text,
            Err(_) => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order_and_have_their_limits_as_keys() {
        assert_eq!((TABLE[0].key, TABLE[0].from, TABLE[0].limit), ("sizes.up_to_16", 0, 16));
        let (cell, first, last) = (TABLE[CLASSES - 2], TABLE[CLASSES - 1], TABLE[ROWS - 1]);
        assert_eq!((cell.key, cell.limit), ("sizes.up_to_32768", 32_768));
        assert_eq!((first.key, first.limit), ("sizes.up_to_65536", 65_536));
        assert_eq!((last.key, last.limit), ("sizes.up_to_140737488355328", 1 << 47));
        assert!(TABLE.windows(2).all(|two| two[0].limit == two[1].from && two[1].from < two[1].limit));
        assert!(TABLE.iter().enumerate().all(|(at, row)| find(row.key) == Some(at)));
        assert_eq!(find("sizes.up_to_17"), None);
    }

    #[test]
    fn a_large_request_has_the_row_that_holds_it() {
        for size in [32_769, 65_536, 65_537, 1 << 20, (1 << 20) + 1, (1 << 47) - 1, 1 << 47] {
            let row = TABLE[row_of_large(size)];
            assert!(row.from < size as u64 && size as u64 <= row.limit, "{size}: {row:?}");
        }
        for size in [(1 << 47) + 1, isize::MAX as usize, usize::MAX] {
            assert_eq!(row_of_large(size), ROWS - 1, "{size}");
        }
    }
}
