//! Workloads of much storage: large blocks, the 50,000 gets of the Language Environment's example, and phases.
//!
//! In these the kernel's page faults cost more than the allocator's instructions, and peak memory differs most.

use super::{add, get};
use crate::random::Random;
use std::hint::black_box;

/// The number of gets of the Language Environment's example.
const GETS: usize = 50_000;
/// The largest of them, in bytes.
const LARGEST: usize = 32_768;
/// The number that are freed, and got again, in its second form.
const AGAIN: usize = 20_000;
const PAGE: usize = 4_096;

/// Replaces one of 20 blocks of 5 to 25 MiB at random; one page in sixteen of each is touched.
pub(super) fn large(steps: usize, seed: u64) -> u64 {
    const MIB: usize = 1 << 20;
    let mut random = Random::new(seed);
    let mut blocks: Vec<Vec<u8>> = (0..20).map(|_| Vec::new()).collect();
    let mut sum = seed;
    for step in 0..steps {
        let slot = random.below(blocks.len());
        let size = random.between(5 * MIB, 25 * MIB);
        // Freed before the next get, as in a program that reuses a buffer.
        blocks[slot] = Vec::new();
        // Zeroed memory from calloc: fresh pages need no clearing, and a read of an untouched page costs none.
        let mut block = black_box(vec![0u8; size]);
        for at in (0..size).step_by(16 * PAGE) {
            block[at] = step as u8;
        }
        sum = add(sum, size as u64);
        blocks[slot] = block;
    }
    sum
}

/// The example: 50,000 random gets, the first byte written, all freed; `steps` times in one process.
pub(super) fn getfree(steps: usize, seed: u64) -> u64 {
    let mut random = Random::new(seed);
    let mut sum = seed;
    for _ in 0..steps {
        let blocks: Vec<Vec<u8>> = (0..GETS).map(|_| get(random.between(1, LARGEST), 7)).collect();
        sum = total(sum, &blocks);
    }
    sum
}

/// The example with every byte written, as in a program that needs all its requests.
pub(super) fn getfree_written(steps: usize, seed: u64) -> u64 {
    let mut random = Random::new(seed);
    let mut sum = seed;
    for step in 0..steps {
        let mut blocks: Vec<Vec<u8>> = Vec::with_capacity(GETS);
        for _ in 0..GETS {
            let size = random.between(1, LARGEST);
            let mut block = Vec::with_capacity(size);
            block.resize(size, step as u8 | 1);
            blocks.push(black_box(block));
        }
        sum = total(sum, &blocks);
    }
    sum
}

/// The second form: 20,000 are freed and got again before all are freed.
pub(super) fn getfree_again(steps: usize, seed: u64) -> u64 {
    let mut random = Random::new(seed);
    let mut sum = seed;
    for _ in 0..steps {
        let mut blocks: Vec<Vec<u8>> = (0..GETS).map(|_| get(random.between(1, LARGEST), 7)).collect();
        random.shuffle(&mut blocks);
        blocks.truncate(GETS - AGAIN);
        blocks.extend((0..AGAIN).map(|_| get(random.between(1, LARGEST), 9)));
        sum = total(sum, &blocks);
    }
    sum
}

/// Many small blocks, nine in ten freed at random, then the same bytes in blocks of another size: the remains
/// in half-empty pages are the allocator's fragmentation.
pub(super) fn phases(steps: usize, seed: u64) -> u64 {
    const BYTES: usize = 12 << 20;
    let mut random = Random::new(seed);
    let mut survivors: Vec<Vec<u8>> = Vec::new();
    let mut sum = seed;
    for step in 0..steps {
        let size = 24 << (step % 6);
        let mut blocks: Vec<Vec<u8>> = (0..BYTES / size)
            .map(|_| {
                let mut block = get(size, step as u8);
                block.resize(size, 1);
                block
            })
            .collect();
        random.shuffle(&mut blocks);
        blocks.truncate(blocks.len() / 10);
        sum = total(sum, &blocks);
        survivors.append(&mut blocks);
        if survivors.len() > 150_000 {
            random.shuffle(&mut survivors);
            survivors.truncate(50_000);
        }
    }
    total(sum, &survivors)
}

/// Adds the blocks' first bytes and, if the generator alone decides it, their lengths.
fn total(sum: u64, blocks: &[Vec<u8>]) -> u64 {
    blocks.iter().fold(sum, |sum, block| add(sum, u64::from(block[0]) + ((block.len() as u64) << 8)))
}
