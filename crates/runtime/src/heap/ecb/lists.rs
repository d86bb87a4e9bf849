//! The sizes of an ECB's buffers: the available lists of its class, and lists for all other sizes.
//!
//! ```text
//! list   1..5     AVL1 to AVL5: the sizes of the class, ascending; 0: not in use
//!        6..9     64, 128, 192, 256               requests that no available list serves
//!       10..49    320, 384, 448, 512, 640 ...     four steps for each doubling, up to 256K
//! ```
//!
//! Invariant: a buffer of `sizes[list]` bytes holds each request for which `of` names that list.
//! Not here: requests above [`LARGEST`], which get pages of their own (`area`).

use super::super::cell::Cell;
use super::super::size::{LARGEST_SMALL, UNITS};
use super::super::thread::BINS;
pub use super::chains::AVAILABLE;

/// The first list of other sizes.
const OTHERS: usize = AVAILABLE + 1;
/// The first list of the steps that double.
const STEPS: usize = OTHERS + 4;
/// All lists; 0 is none.
pub const LISTS: usize = STEPS + 40;
/// From this list on, of buffers above 32K that are no available ones, free buffers are marked as free.
pub const MARKED: usize = STEPS + 28;
/// The largest buffer of a list.
pub const LARGEST: usize = 256 << 10;

const _: () = assert!(LISTS <= BINS && AVAILABLE == underbar_options::AVAILABLE_LISTS);

/// The lists of a class.
pub struct Lists {
    /// Bytes of a buffer of each list.
    pub sizes: [u32; LISTS],
    /// The list for a request of `16 * units - 15` to `16 * units` bytes, up to [`LARGEST_SMALL`].
    pub of_units: [u8; UNITS],
}

/// Freed buffers of a thread that wait, by list, the newest first (`without`).
pub struct Aside(pub [*mut Cell; LISTS]);

impl Lists {
    /// With available lists of these sizes: ascending multiples of 16, at least 32 and at most 64K; 0s at the end.
    pub fn new(available: [u32; AVAILABLE]) -> Self {
        let mut lists = Self { sizes: [0; LISTS], of_units: [0; UNITS] };
        lists.sizes[1..OTHERS].copy_from_slice(&available);
        for (list, size) in lists.sizes.iter_mut().enumerate().skip(OTHERS) {
            *size = if list < STEPS {
                64 * (list - AVAILABLE) as u32
            } else {
                let (doubling, step) = ((list - STEPS) / 4, ((list - STEPS) % 4 + 1) as u32);
                (256 << doubling) + (64 << doubling) * step
            };
        }
        for units in 0..=LARGEST_SMALL / 16 {
            lists.of_units[units] = lists.find((units * 16).max(1)) as u8;
        }
        lists
    }

    /// The list that serves a request of so many bytes; 0: none is large enough.
    #[inline]
    pub fn of(&self, size: usize) -> usize {
        if size <= LARGEST_SMALL { self.of_units[size.div_ceil(16)] as usize } else { self.find(size) }
    }

    fn find(&self, size: usize) -> usize {
        let available = &self.sizes[1..OTHERS];
        if let Some(at) = available.iter().position(|&bytes| bytes as usize >= size) {
            return at + 1;
        }
        if size > LARGEST {
            return 0;
        }
        let last = size - 1;
        if last < 256 {
            return OTHERS + last / 64;
        }
        let doubling = last.ilog2() as usize - 8;
        STEPS + doubling * 4 + (last >> (doubling + 6) & 3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_size_has_the_smallest_buffer_that_holds_it() {
        for available in
            [[32, 64, 128, 256, 512], [64, 2048, 0, 0, 0], [0; 5], [32, 48, 4096, 16_384, 65_536]]
        {
            let lists = Lists::new(available);
            for size in (1..5_000).chain((5_000..=LARGEST).step_by(61)).chain([LARGEST]) {
                let list = lists.of(size);
                let bytes = lists.sizes[list] as usize;
                assert!(bytes >= size && bytes.is_multiple_of(16), "{size}: {bytes}");
                match available.iter().position(|&bytes| bytes as usize >= size) {
                    Some(at) => assert_eq!(list, at + 1),
                    None => assert!(
                        list >= OTHERS && bytes <= (size + 63).max(size + size / 4),
                        "{size}: {bytes}"
                    ),
                }
            }
            assert_eq!((lists.of(LARGEST + 1), lists.of(0)), (0, lists.of(1)));
            assert_eq!([lists.sizes[MARKED - 1], lists.sizes[MARKED]], [32 << 10, 40 << 10]);
        }
    }
}
