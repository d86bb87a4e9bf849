//! The starts of functions in a file without symbols, from the unwind table of exceptions, which `strip` leaves.
//!
//! ```text
//! .eh_frame_hdr:  1 | encodings of pointer, count and table                | pointer | count | (function, rule)...
//!                                                                                       each 4 bytes, from the section's start
//! ```
//!
//! Invariant: only the one form that all linkers write is read; any other gives no starts.

use std::ops::Range;

/// Four bytes, without and with a sign; and four bytes from the start of the section.
const FOUR_BYTES: u8 = 0x03;
const FROM_SECTION: u8 = 0x3b;

/// Starts of functions in order, from the bytes of the section and its address.
pub fn starts(bytes: &[u8], address: u64) -> Vec<u64> {
    let Some([1, pointer, FOUR_BYTES, FROM_SECTION]) = bytes.first_chunk::<4>() else { return Vec::new() };
    // The pointer is the one that may be written in several ways; all but one have four bytes.
    if ![0x1b, 0x3b, 0x03, 0x0b].contains(pointer) {
        return Vec::new();
    }
    let Some(count) = bytes.get(8..12).and_then(|four| four.first_chunk().copied()) else {
        return Vec::new();
    };
    let entries = bytes.get(12..).unwrap_or_default().chunks_exact(8);
    let count = usize::try_from(u32::from_le_bytes(count)).unwrap_or(usize::MAX);
    let mut starts: Vec<u64> = entries
        .take(count)
        .filter_map(|entry| entry.first_chunk::<4>())
        .map(|&function| address.wrapping_add_signed(i64::from(i32::from_le_bytes(function))))
        .collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// The function at the address: from its start to the next one, within its section.
pub fn around(starts: &[u64], address: u64, section: Range<u64>) -> Option<Range<u64>> {
    let after = starts.partition_point(|&start| start <= address);
    let start = *starts.get(after.checked_sub(1)?)?;
    let end = starts.get(after).copied().unwrap_or(section.end).min(section.end);
    (section.contains(&start) && start < end).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(functions: &[i32]) -> Vec<u8> {
        let mut bytes = vec![1, 0x1b, FOUR_BYTES, FROM_SECTION, 0, 0, 0, 0];
        bytes.extend(u32::try_from(functions.len()).expect("few").to_le_bytes());
        for function in functions {
            bytes.extend(function.to_le_bytes());
            bytes.extend([0; 4]);
        }
        bytes
    }

    #[test]
    fn functions_are_found_by_their_starts() {
        let starts = starts(&table(&[-0x100, -0x80, 0x40]), 0x1000);
        assert_eq!(starts, [0xf00, 0xf80, 0x1040]);
        assert_eq!(around(&starts, 0xf7f, 0xf00..0x1000), Some(0xf00..0xf80));
        assert_eq!(around(&starts, 0xf80, 0xf00..0x1000), Some(0xf80..0x1000));
        assert_eq!(around(&starts, 0xe00, 0xe00..0x1000), None);
        assert_eq!(around(&starts, 0x1010, 0x1008..0x2000), None, "the section before");
    }

    #[test]
    fn other_forms_and_cut_ones_give_less() {
        let whole = table(&[1, 2, 3]);
        for length in 0..whole.len() {
            assert!(starts(&whole[..length], 0).len() < 3, "{length}");
        }
        let mut other = whole;
        other[3] = 0x1b;
        assert_eq!(starts(&other, 0), []);
    }
}
