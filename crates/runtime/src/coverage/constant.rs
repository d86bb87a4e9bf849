//! What was found in mappings of files that nobody can write to: it stays, so no look needs to ask again.
//!
//! A library's constants are a hundred times as many pages as its data, and of them only those that the loader relocated, before it
//! protected them, are no longer the file's.
//!
//! ```text
//! bit  63 ........... 29 28 ........... 15 14 ............ 1 0
//!      the first page    pages, less one   pages written to  1: in use
//! ```
//!
//! Invariant: an entry is one word, so it is whole or absent; two mappings that meet in an entry replace each other.
//! Known limit: of a file that took the place of another one at the same address, with the same length, the earlier figure is kept. The
//! sum of a look is compared with the kernel's total in any case.
//! Not here: asking the kernel (`pages`).

use core::sync::atomic::{AtomicU64, Ordering};

use super::PAGE;

const ENTRIES: usize = 512;
/// Pages that fit into 14 bits.
const MOST: usize = 1 << 14;

/// Relaxed: each entry says all that it means.
static KNOWN: [AtomicU64; ENTRIES] = [const { AtomicU64::new(0) }; ENTRIES];

/// The bytes of a mapping that were written to, asked for once.
pub(super) fn written(start: usize, end: usize, ask: impl FnOnce() -> u64) -> u64 {
    let (first, pages) = (start / PAGE, (end - start) / PAGE);
    if pages == 0 || pages > MOST || first >= 1 << 35 {
        return ask();
    }
    let head = (first as u64) << 29 | (pages as u64 - 1) << 15 | 1;
    let entry = &KNOWN[(first ^ first >> 9) % ENTRIES];
    let known = entry.load(Ordering::Relaxed);
    if known & !WRITTEN == head {
        return (known & WRITTEN) >> 1 << PAGE.trailing_zeros();
    }
    let bytes = ask();
    let count = bytes >> PAGE.trailing_zeros();
    if count < MOST as u64 {
        entry.store(head | count << 1, Ordering::Relaxed);
    }
    bytes
}

const WRITTEN: u64 = (MOST as u64 - 1) << 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_is_asked_for_once_and_another_one_anew() {
        let page = |number: usize| number * PAGE;
        let start = page(0x7_1234_5000);
        assert_eq!(written(start, start + page(MOST), || 7 * PAGE as u64), 7 * PAGE as u64);
        assert_eq!(written(start, start + page(MOST), || unreachable!()), 7 * PAGE as u64);
        // Another length, and then the first one again.
        assert_eq!(written(start, start + page(1), || 0), 0);
        assert_eq!(written(start, start + page(1), || unreachable!()), 0);
        assert_eq!(written(start, start + page(MOST), || 3 * PAGE as u64), 3 * PAGE as u64);
        // Too many for an entry.
        for _ in 0..2 {
            let mut was_asked = false;
            let ask = || {
                was_asked = true;
                9 * PAGE as u64
            };
            assert_eq!(written(start, start + page(MOST + 1), ask), 9 * PAGE as u64);
            assert!(was_asked);
        }
        let all = (MOST * PAGE) as u64;
        assert_eq!(written(start, start + page(MOST), || unreachable!()), 3 * PAGE as u64);
        assert_eq!(written(start + PAGE, start + page(MOST + 1), || all), all);
        assert_eq!(written(start + PAGE, start + page(MOST + 1), || all), all);
    }
}
