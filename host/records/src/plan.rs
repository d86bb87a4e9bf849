//! What a sort is to do, with how much memory, and what it has done.
//!
//! ```text
//! memory = runs that stay in memory + blocks in the hands of threads
//!                                     └─ once all is read: parts of runs in the work file, and buffers of the output
//! ```
//!
//! Invariant: a block is so small that all threads together hold three quarters of the memory at most.
//! Not here: the work (`collect`, `sort`).

use std::path::PathBuf;
use std::time::Duration;

use crate::format::Format;
use crate::order::Choice;
use crate::sink::BUFFERS;
use crate::statement::{Statements, Sum};
use crate::work;

/// The most and the fewest bytes of a block.
const BLOCK: usize = 4 << 20;
const LEAST_BLOCK: usize = 64 << 10;
/// The most and the fewest bytes of an output buffer, and of a part of a run that is read at a time.
const BUFFER: usize = 4 << 20;
const LEAST_BUFFER: usize = 64 << 10;
const PART: usize = 1 << 20;
const LEAST_PART: usize = 64 << 10;

/// The least memory of a sort.
pub const LEAST_MEMORY: usize = 1 << 20;

/// What is to be done, and with what.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The form of the input's records, which is that of the output's.
    pub format: Format,
    /// The fields to sort by, and more.
    pub statements: Statements,
    /// Bytes of memory for records, about; [`LEAST_MEMORY`] at least.
    pub memory: usize,
    /// The folder for the work file.
    pub work: PathBuf,
    /// Threads that sort, while the calling one reads and another one writes.
    pub threads: usize,
}

impl Plan {
    /// A plan with a quarter of the available memory or that of the statements, the folder for temporary files, and a thread for each
    /// processor.
    #[must_use]
    pub fn new(format: Format, statements: Statements) -> Plan {
        let memory = statements.memory.unwrap_or_else(|| available_memory() / 4);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Plan { format, statements, memory, work: std::env::temp_dir(), threads: threads.min(8) }
    }

    fn memory(&self) -> usize {
        self.memory.max(LEAST_MEMORY)
    }

    /// Threads that sort.
    #[must_use]
    pub fn sorters(&self) -> usize {
        self.threads.clamp(1, 64)
    }

    /// Bytes of a block.
    #[must_use]
    pub fn block(&self) -> usize {
        (self.memory() / (4 * (self.sorters() + 1))).clamp(LEAST_BLOCK, BLOCK)
    }

    /// Bytes that threads have in their hands: a block for each sorter and one for the reader, places of records, keys, and a run for
    /// each sorter.
    #[must_use]
    pub fn in_hands(&self) -> usize {
        self.block() * (3 * self.sorters() + 2)
    }

    /// Bytes of runs that stay in memory.
    #[must_use]
    pub fn stays(&self) -> usize {
        self.memory().saturating_sub(self.in_hands())
    }

    /// Bytes of an output buffer.
    #[must_use]
    pub fn buffer(&self) -> usize {
        (self.memory() / 16).clamp(LEAST_BUFFER, BUFFER)
    }

    /// Bytes of each of so many runs in the work file that are read at a time.
    #[must_use]
    pub fn part(&self, runs: usize) -> usize {
        let buffers = BUFFERS * self.buffer();
        (self.in_hands().saturating_sub(buffers) / runs.max(1)).clamp(LEAST_PART, PART)
    }

    /// The most runs in the work file that are merged at a time.
    #[must_use]
    pub fn most_runs(&self) -> usize {
        (self.in_hands() / 2 / LEAST_PART).max(16)
    }

    /// The checks of each record.
    #[must_use]
    pub fn choice(&self) -> Choice<'_> {
        let statements = &self.statements;
        let sums = if let Sum::Fields(fields) = &statements.sum { &fields[..] } else { &[] };
        Choice { condition: statements.condition.as_ref(), sums, short: statements.short }
    }
}

/// Bytes of memory that the system could give to this process.
fn available_memory() -> usize {
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let information = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = information.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let free = line.and_then(|line| number(line.trim_end_matches("kB"))).map_or(256 << 20, |kib| kib << 10);
    let limit = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| number(&text));
    free.min(limit.unwrap_or(usize::MAX))
}

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Records of the input, and its bytes.
    pub records: u64,
    /// Bytes of the input.
    pub bytes: u64,
    /// Records that INCLUDE, OMIT, SKIPREC and STOPAFT have left.
    pub taken: u64,
    /// Records of the output.
    pub written: u64,
    /// Bytes of the output.
    pub written_bytes: u64,
    /// Sorted runs.
    pub runs: u64,
    /// The work file.
    pub work: work::Figures,
    /// Calls that read the input.
    pub reads: u64,
    /// Calls that wrote the output.
    pub writes: u64,
    /// Time by stage.
    pub times: Times,
}

impl Figures {
    /// Calls that moved records: of the input, the output and the work file.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.reads + self.writes + self.work.writes + self.work.reads
    }
}

/// Time by stage. Stages overlap: each is the sum over the threads that worked on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Times {
    /// Reading the input.
    pub read: Duration,
    /// Conditions, keys, sorting of blocks.
    pub sort: Duration,
    /// Writing runs to the work file.
    pub spill: Duration,
    /// Merging, and reading the work file for it.
    pub merge: Duration,
    /// Writing the output.
    pub write: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement;

    #[test]
    fn the_parts_of_memory_add_up() {
        let statements = statement::read("SORT FIELDS=(1,4,CH,A)", Format::Lines).expect("statements");
        let mut plan = Plan::new(Format::Lines, statements);
        for threads in [1, 2, 8] {
            for memory in [8 << 20, 30 << 20, 300 << 20, 4 << 30] {
                (plan.threads, plan.memory) = (threads, memory);
                assert_eq!(plan.in_hands() + plan.stays(), memory, "{threads} {memory}");
                assert!(plan.stays() >= memory / 8, "{threads} {memory}");
                for runs in [0, 1, 7, plan.most_runs()] {
                    let merging = runs * plan.part(runs) + BUFFERS * plan.buffer();
                    assert!(merging <= plan.in_hands(), "{threads} {memory} {runs}");
                }
            }
        }
        plan.memory = 0;
        assert_eq!(plan.block(), LEAST_BLOCK);
        assert!(available_memory() > 1 << 20);
    }
}
