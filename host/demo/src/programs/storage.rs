//! Programs with many gets and frees: 50,000 random pieces, with their addresses kept on the stack as in the document.
//!
//! A slot of the array holds the piece's address and size. The document's program kept 4-byte pointers, 200,000
//! bytes of them; here they are 800,000.

use std::hint::black_box;
use std::mem::MaybeUninit;

use underbar_verdict::random::Random;

use super::{Parameters, generator, resident_soon, say, wait};

/// The number of pieces that are got, and kept at one time.
pub const PIECES: usize = 50_000;
/// The number of pieces that `keepfree` frees, the first ones got, in order, and gets again.
pub const AGAIN: usize = 20_000;
/// The largest size; the smallest is 1.
pub const LARGEST: u64 = 32_768;
/// The number of small pieces that `fills` gets, one after the other.
pub const SMALL_GETS: u64 = 2_000 * SMALL_KEPT as u64;
/// The number of those that it keeps.
const SMALL_KEPT: usize = 4_096;
/// The largest size of those.
const SMALL_LARGEST: u64 = 512;

/// How often `pooled` gets as many as it keeps.
const POOLED_ROUNDS: usize = 100;

/// The number of pieces that `large` gets and keeps.
const LARGE_PIECES: usize = 96;
/// Bytes of each.
const LARGE: usize = 1 << 20;
/// The smallest page size.
const PAGE: usize = 4096;

/// The fill byte of pieces.
static PATTERN: [u8; LARGEST as usize] = [0x5a; LARGEST as usize];

/// A piece of storage, or none: an address and a size.
type Piece = Option<Box<[MaybeUninit<u8>]>>;

/// 50,000 random gets, then all freed in the order in which they were got.
pub fn get_and_free(parameters: &Parameters) {
    let mut pieces: [Piece; PIECES] = [const { None }; PIECES];
    let mut random = generator(parameters.seed);
    wait(parameters, "before");
    fill(&mut pieces, &mut random, parameters);
    wait(parameters, "got");
    free(&mut pieces);
    wait(parameters, "freed");
}

/// 50,000 random gets, the first 20,000 freed, 20,000 more got in their place, all freed.
pub fn free_some_and_get_again(parameters: &Parameters) {
    let mut pieces: [Piece; PIECES] = [const { None }; PIECES];
    let mut random = generator(parameters.seed);
    let before = resident_soon();
    wait(parameters, "before");
    fill(&mut pieces, &mut random, parameters);
    let (first, _) = pieces.split_at_mut(AGAIN);
    free(first);
    fill(first, &mut random, parameters);
    wait(parameters, "got");
    free(&mut pieces);
    wait(parameters, "freed");
    let after = resident_soon();
    say(format_args!("resident_before={before} resident_after={after}\n"));
}

/// Many small pieces, each freed 4,096 gets later: the cost of a fill in a program that frees and gets often.
pub fn get_and_free_small(parameters: &Parameters) {
    let mut pieces: [Piece; SMALL_KEPT] = [const { None }; SMALL_KEPT];
    let mut random = generator(parameters.seed);
    for _ in 0..SMALL_GETS / SMALL_KEPT as u64 {
        for slot in &mut pieces {
            *slot = get(random.below(SMALL_LARGEST) + 1, parameters.write_all);
        }
    }
    free(&mut pieces);
}

/// Pieces of the sizes that a program with some kinds of records asks for, each freed 4,096 gets later; the seed fixes how often
/// each size comes.
pub fn get_and_free_of_few_sizes(parameters: &Parameters) {
    const SIZES: [u64; 14] = [24, 40, 56, 72, 104, 144, 176, 208, 336, 528, 1_040, 1_500, 2_600, 5_000];
    let mut pieces: [Piece; SMALL_KEPT] = [const { None }; SMALL_KEPT];
    let mut random = generator(parameters.seed);
    let mut total = 0;
    for _ in 0..POOLED_ROUNDS {
        for slot in &mut pieces {
            // Of three draws the smallest: small sizes are the most frequent.
            let draw = (0..3).map(|_| random.below(SIZES.len() as u64)).min().unwrap_or(0);
            let size = SIZES[draw as usize] - random.below(8);
            total += size;
            *slot = get(size, parameters.write_all);
        }
    }
    free(&mut pieces);
    say(format_args!("requested_bytes={total}\n"));
}

/// 96 pieces of 1M that are kept until the end: the first byte of each is written, or every page.
pub fn get_large(parameters: &Parameters) {
    let mut pieces: [Piece; LARGE_PIECES] = [const { None }; LARGE_PIECES];
    for slot in &mut pieces {
        let mut piece = Box::new_uninit_slice(LARGE);
        let step = if parameters.write_all { PAGE } else { LARGE };
        for byte in piece.iter_mut().step_by(step) {
            byte.write(0x5a);
        }
        *slot = Some(black_box(piece));
    }
    free(&mut pieces);
}

/// Bytes that the program asks for in all, and the most that it holds at one time.
pub fn requested(seed: u64, again: bool) -> (u64, u64) {
    let mut random = generator(seed);
    let mut sizes: Vec<u64> = (0..PIECES).map(|_| random.below(LARGEST) + 1).collect();
    let held: u64 = sizes.iter().sum();
    if !again {
        return (held, held);
    }
    let mut total = held;
    for size in &mut sizes[..AGAIN] {
        *size = random.below(LARGEST) + 1;
        total += *size;
    }
    // Between these two points the heap only shrinks, then grows: the peak is at one of them.
    (total, held.max(sizes.iter().sum()))
}

fn fill(pieces: &mut [Piece], random: &mut Random, parameters: &Parameters) {
    for slot in pieces {
        *slot = get(random.below(LARGEST) + 1, parameters.write_all);
    }
}

fn free(pieces: &mut [Piece]) {
    for slot in pieces {
        drop(slot.take());
    }
}

/// Makes one request to malloc, and writes its first byte or all of them.
fn get(size: u64, write_all: bool) -> Piece {
    let mut piece = Box::new_uninit_slice(size as usize);
    if write_all {
        // A copy is one call of the C library in every build; a fill of this type would be a loop in some.
        piece.write_copy_of_slice(&PATTERN[..size as usize]);
    } else if let Some(first) = piece.first_mut() {
        first.write(0x5a);
    }
    Some(black_box(piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_requested_follows_the_seed() {
        let (total, held) = requested(1, false);
        assert_eq!(total, held);
        // The mean of 50,000 sizes from 1 to 32,768, within five standard deviations.
        assert!(total.abs_diff(50_000 * 32_769 / 2) < 5 * 2_115_000, "{total}");
        let (more, peak) = requested(1, true);
        assert!(more > total + 300_000_000 && peak >= held, "{more} {peak}");
        assert_ne!(requested(2, false), requested(1, false));
    }
}
