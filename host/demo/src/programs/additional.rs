//! Pieces of storage in rounds: in the user heap, or in an additional heap that each round creates and discards.
//!
//! | way | a round |
//! |---|---|
//! | `user` | gets the pieces from the user heap, and frees each |
//! | `each` | creates a heap, gets the pieces from it, frees each, and discards the heap |
//! | `discard` | creates a heap, gets the pieces from it, and discards the heap with all of them |
//!
//! Invariant: each way gets pieces of the same sizes, and writes each piece whole.
//! Not here: additional heaps (`underbar::heaps`).

use std::hint::black_box;

use underbar::heaps::{Element, Error, Heap};
use underbar_verdict::random::Random;

use super::{Parameters, complain, generator, say};

/// The number of rounds.
pub const ROUNDS: u64 = 500;
/// The number of pieces of a round.
pub const PIECES: u64 = 1_000;
/// The largest piece; the smallest is 1.
const LARGEST: u64 = 512;

/// Runs the rounds.
pub fn additional(parameters: &Parameters) {
    let mut random = generator(parameters.seed);
    for _ in 0..ROUNDS {
        let done = match parameters.way {
            "each" | "discard" => in_a_heap(&mut random, parameters.way == "each"),
            _ => {
                in_the_user_heap(&mut random);
                Ok(())
            }
        };
        if let Err(error) = done {
            complain(format_args!("additional heap: {error}"));
            std::process::exit(1);
        }
    }
    say(format_args!("rounds={ROUNDS} pieces={PIECES}\n"));
}

fn size(random: &mut Random) -> usize {
    random.below(LARGEST) as usize + 1
}

fn in_the_user_heap(random: &mut Random) {
    let mut pieces: [Vec<u8>; PIECES as usize] = [const { Vec::new() }; PIECES as usize];
    for piece in &mut pieces {
        *piece = vec![1; size(random)];
        black_box(piece.as_slice());
    }
}

fn in_a_heap(random: &mut Random, frees: bool) -> Result<(), Error> {
    let heap = Heap::new()?;
    let mut pieces: [Option<Element<'_>>; PIECES as usize] = [const { None }; PIECES as usize];
    for piece in &mut pieces {
        let mut element = heap.get(size(random))?;
        element.fill(1);
        black_box(&*element);
        // What is not freed goes with the heap.
        if frees { *piece = Some(element) } else { std::mem::forget(element) }
    }
    Ok(())
}
