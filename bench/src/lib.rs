//! Benchmarks next to rivals, in one run.
//!
//! ```text
//! runner --> launch --> workload        one sample: CPU time, peak memory, and the program's output
//!    |                     ^
//!    |                     LD_PRELOAD of one allocator (none: glibc)
//!    +--> samples --> paired log ratios to the best peer --> table, raw.csv, summary.json
//! ```
//!
//! From simple to hard:
//!
//! | module | holds |
//! |---|---|
//! | [`random`], [`workloads`] | the generator; what is run |
//! | [`host`], [`busy`] | on what; next to which other programs |
//! | [`peers`], [`build`] | against whom; how a peer becomes a shared library |
//! | [`measure`] | one sample |
//! | [`rounds`], [`samples`] | how many; the samples of all rounds, with the turns and intervals of `underbar_verdict` |
//! | [`goal`], [`results`] | held or missed; what texts and summaries have in common |
//! | [`memory_line`] | a server's memory by the second |
//! | [`heap`] | allocators ([`heap::table`]: the text and the files) |
//! | [`accounts`], [`command`] | the cost of accounts; the time that the command adds |
//! | [`lock`], [`load`], [`ecb`] | locks under contention; programs loaded, called and given back; a heap for each unit of work |
//! | [`sites`] | profilers of storage: their cost, and the error of samples |
//! | [`sort`], [`switches`] | records and lines; entries to the kernel, counted and spared |
//! | [`programs`] | real programs and servers, plain and under underbar |
//! | [`lines`] | what allocators' threads take from each other's caches, counted in a model |
//!
//! Invariant: every allocator runs the same workload with the same seed, and must print the same text.
//! Absent: no absolute time decides anything, but for two goals of [`command`] that are milliseconds; only ratios within one run
//! are compared, and no goal fails a build.
#![forbid(unsafe_code)]

pub mod accounts;
pub mod build;
pub mod busy;
pub mod command;
pub mod ecb;
pub mod goal;
pub mod heap;
pub mod host;
pub mod lines;
pub mod load;
pub mod lock;
pub mod measure;
pub mod memory_line;
pub mod peers;
pub mod programs;
pub mod random;
pub mod results;
pub mod rounds;
pub mod samples;
pub mod sites;
pub mod sort;
pub mod switches;
pub mod workloads;

use std::fmt;

/// The reason why a benchmark could not be run, by its cause.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The caller: an unknown word on the command line, or a value out of range.
    Usage(String),
    /// The machine: something that the benchmark needs is not installed; names it and the way to get it.
    Missing(String),
    /// The sources of a peer, or our own: they did not compile; has the compiler's last words.
    Build(String),
    /// The measured program or its allocator: it failed, or its output differs from the others'.
    Workload(String),
    /// The operating system: a file or a process could not be created.
    System(String),
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Usage(text) => write!(to, "usage: {text}"),
            Error::Missing(text) => write!(to, "missing: {text}"),
            Error::Build(text) => write!(to, "a library did not build: {text}"),
            Error::Workload(text) => write!(to, "a workload failed: {text}"),
            Error::System(text) => write!(to, "{text}"),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// An error of the operating system, with what was attempted.
    #[must_use]
    pub fn system(attempt: &str, error: &std::io::Error) -> Self {
        Error::System(format!("{attempt}: {error}"))
    }
}
