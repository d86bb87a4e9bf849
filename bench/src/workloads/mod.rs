//! The workloads: the requests to an allocator, one table entry each.
//!
//! Every block is a `Vec<u8>` of the default (System) allocator, which is libc's malloc, realloc and free: a preload
//! swaps the allocator of an unchanged program. Blocks are passed to `black_box`, otherwise the compiler would remove
//! pairs of malloc and free.
//!
//! Invariant: a workload returns a checksum that depends on the seed and the scale, never on the allocator,
//! the number of processors, or the order in which threads ran.
//! Not here: the time; nothing in this module reads a clock.

mod single;
mod storage;
mod threaded;

use std::hint::black_box;

/// One workload: an entry of [`TABLE`].
pub struct Workload {
    /// The name on the command line and in tables.
    pub name: &'static str,
    /// One line: the requests to the allocator.
    pub about: &'static str,
    /// The number of steps of a full measurement; `--quick` takes a tenth.
    pub steps: usize,
    /// Runs a number of steps with a seed and returns the checksum.
    pub run: fn(steps: usize, seed: u64) -> u64,
}

/// Every workload, in the order of the table.
pub const TABLE: &[Workload] = &[
    Workload {
        name: "lifo",
        about: "64 bytes, freed at once (most recently got first)",
        steps: 48_000_000,
        run: single::lifo,
    },
    Workload {
        name: "random-order",
        about: "1,000 blocks of 16 to 512 bytes, freed in random order",
        steps: 8_000,
        run: single::random_order,
    },
    Workload {
        name: "cross-thread",
        about: "one thread gets blocks of 16 to 512 bytes, another frees them",
        steps: 12_000,
        run: threaded::cross_thread,
    },
    Workload {
        name: "growing",
        about: "64 live blocks that grow by realloc from 16 bytes to 1 MiB",
        steps: 1_600,
        run: single::growing,
    },
    Workload {
        name: "large",
        about: "20 live blocks of 5 to 25 MiB, replaced; a page in sixteen touched",
        steps: 250,
        run: storage::large,
    },
    Workload {
        name: "thread-churn",
        about: "threads that come, get and free 400 blocks, leave some to others, and go",
        steps: 6_000,
        run: threaded::thread_churn,
    },
    Workload {
        name: "server",
        about: "2 threads replace blocks of 16 bytes to 32 KiB at random and hand their tables on",
        steps: 3_000_000,
        run: threaded::server,
    },
    Workload {
        name: "getfree",
        about: "50,000 gets of 1 to 32,768 bytes, first byte written, all freed; four times",
        steps: 4,
        run: storage::getfree,
    },
    Workload {
        name: "getfree-written",
        about: "50,000 gets of 1 to 32,768 bytes, all bytes written, all freed; once",
        steps: 1,
        run: storage::getfree_written,
    },
    Workload {
        name: "getfree-again",
        about: "50,000 gets, 20,000 freed, 20,000 got again, all freed; four times",
        steps: 4,
        run: storage::getfree_again,
    },
    Workload {
        name: "compiler",
        about: "strings, trees and maps, most dropped with each function, some kept to the end",
        steps: 1_600,
        run: single::compiler,
    },
    Workload {
        name: "phases",
        about: "many small blocks, nine in ten freed at random, then blocks of another size",
        steps: 8,
        run: storage::phases,
    },
];

/// The workload of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Workload> {
    TABLE.iter().find(|workload| workload.name == name)
}

/// One call of malloc: `size` bytes (at least one), of which the first is written.
fn get(size: usize, mark: u8) -> Vec<u8> {
    let mut block = Vec::with_capacity(size);
    block.push(mark);
    black_box(block)
}

/// Adds a value to a checksum so that order does not matter (threads end in any order).
fn add(sum: u64, value: u64) -> u64 {
    sum.wrapping_add(value.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
}

#[cfg(test)]
mod tests {
    use super::TABLE;

    #[test]
    fn names_are_unique_and_checksums_repeat_and_depend_on_the_seed() {
        for workload in TABLE {
            assert_eq!(TABLE.iter().filter(|other| other.name == workload.name).count(), 1);
            let steps = (workload.steps / 1_000).max(1);
            let first = (workload.run)(steps, 1);
            assert_eq!(first, (workload.run)(steps, 1), "{} does not repeat", workload.name);
            assert_ne!(first, (workload.run)(steps, 2), "{} ignores its seed", workload.name);
        }
    }
}
