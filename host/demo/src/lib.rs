//! The documents' experiments, repeated on this machine: one file each.
//!
//! ```text
//! demo ── measure   arms in turns, medians, ratios       peers     allocators installed on this machine
//!      ├─ output    tables, checks, JSON                 progress  on standard error
//!      ├─ document  the figures that the documents print
//!      ├─ getfree, keepfree, simple, heappools, dsa, additional, lock
//!      ├─ tls       a program of C over OpenSSL          share     the heap's part of its instructions
//!      ├─ multi_fetch  a program of C over libpq      postgres  a server of its own
//!      ├─ sorting   records through a pipe, and the internal sort
//!      ├─ print, work_file, buffers, mainpr  programs of several languages, with caches for their files     saving  for each line, record or call
//!      ├─ components, ineligible        programs of C
//!      ├─ thread_storage, timer       programs of C
//!      ├─ requests, locate, pj47265     a program of C, ecbs
//!      └─ load_blocksize, load_pdse, directory, tracks, survey     article   the figures that it prints
//!           ├─ workshop   libraries in a temporary folder          module    programs without a compiler
//!           └─ loads      arms, columns and checks of LOADs
//! ```
//!
//! Invariant: every printed figure was measured in this run or is in the document, and the page says
//! which. Counts are checked. Times are compared as ratios within the run; an unexpected ratio is printed
//! and is no failure.
//! Not here: the programs that the demos run (`programs`), the command's flags, and the preload library in the command.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_macros, clippy::disallowed_methods))]

mod additional;
mod article;
mod buffers;
mod components;
mod directory;
mod document;
mod dsa;
mod ecbs;
mod enclaves;
mod getfree;
mod heappools;
mod ineligible;
mod keepfree;
mod load_blocksize;
mod load_pdse;
mod loads;
mod locate;
mod lock;
mod mainpr;
mod measure;
mod module;
mod multi_fetch;
mod output;
mod peers;
mod pj47265;
mod postgres;
mod print;
pub mod programs;
mod progress;
mod requests;
mod saving;
pub mod share;
mod simple;
mod sorting;
mod survey;
mod thread_storage;
mod threads;
mod timer;
mod tls;
mod tracks;
mod work_file;
mod workshop;

pub use measure::Problem;
pub use output::Output;

use measure::{Arm, Server};
use underbar_launch::{Library, LibraryError};
use underbar_report::switch_costs::SwitchCosts;
use underbar_verdict::random::Random;

/// The parameters of a demo.
pub struct Parameters {
    /// Seed of sizes, and of the order of runs.
    pub seed: u64,
    /// Rounds; None: the demo's default.
    pub runs: Option<usize>,
    /// Nothing on standard error.
    pub quiet: bool,
    /// The preload library, at a path where programs find it.
    pub library: fn() -> Result<Library, LibraryError>,
    /// Costs of switches on this machine; with those of threads and processes if that is true.
    pub switch_costs: fn(bool) -> SwitchCosts,
}

/// One demo.
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Its subject, in a few words.
    pub about: &'static str,
    /// Runs it.
    pub run: fn(&Parameters) -> Result<Output, Problem>,
}

/// All demos.
pub static DEMOS: [Entry; 28] = [
    Entry {
        name: "simple",
        about: "a small program: its storage report, and the sizes that it needs",
        run: simple::run,
    },
    Entry {
        name: "getfree",
        about: "50,000 gets, then all freed: segments of 32K, of 100M, and the default",
        run: getfree::run,
    },
    Entry {
        name: "keepfree",
        about: "increments that are kept, or given back, when they become empty",
        run: keepfree::run,
    },
    Entry {
        name: "heappools",
        about: "pools of cells: the documented sizes, and those of least waste",
        run: heappools::run,
    },
    Entry {
        name: "threads",
        about: "1, 8 and 64 threads: first stack segments in ANYHEAP, and advice",
        run: threads::run,
    },
    Entry { name: "dsa", about: "what it costs to give storage an initial value", run: dsa::run },
    Entry {
        name: "lock",
        about: "many tasks under one lock: naive, simple, std, parking_lot, pthread",
        run: lock::run,
    },
    Entry {
        name: "additional",
        about: "pieces that are freed one by one, or with their heap",
        run: additional::run,
    },
    Entry {
        name: "tls",
        about: "messages over TLS: an ECB for each connection, and other heaps",
        run: tls::run,
    },
    Entry {
        name: "multifetch",
        about: "a cursor of PostgreSQL read row by row, and in larger steps",
        run: multi_fetch::run,
    },
    Entry {
        name: "components",
        about: "which part of a program enters the kernel, and what that costs",
        run: components::run,
    },
    Entry {
        name: "3gl",
        about: "calls of a program that may run in one thread only, in a loop",
        run: ineligible::run,
    },
    Entry {
        name: "sort",
        about: "records sorted by another program, one by one, and inside",
        run: sorting::run,
    },
    Entry {
        name: "print",
        about: "lines passed on one by one into a file, and through a cache",
        run: print::run,
    },
    Entry {
        name: "workfile",
        about: "records read one by one from a file, and through a cache",
        run: work_file::run,
    },
    Entry {
        name: "bus",
        about: "buffers of work files: their report, and how large they should be",
        run: buffers::run,
    },
    Entry { name: "mainpr", about: "standard output rerouted to a cached file", run: mainpr::run },
    Entry {
        name: "thread-storage",
        about: "buffers that come and go: one reservation for all",
        run: thread_storage::run,
    },
    Entry {
        name: "timer",
        about: "program starts with a limit of CPU time: a timer for each, and none",
        run: timer::run,
    },
    Entry {
        name: "requests",
        about: "a server that leaks, an ECB for each request; sizes of its requests",
        run: requests::run,
    },
    Entry {
        name: "locate",
        about: "a buffer found by its name among 10, 1,000 and 100,000",
        run: locate::run,
    },
    Entry {
        name: "pj47265",
        about: "each item of the document on ECBs, measured by leaving it out",
        run: pj47265::run,
    },
    Entry { name: "enclaves", about: "programs in each other, by LINK and by CALL", run: enclaves::run },
    Entry {
        name: "load-blocksize",
        about: "programs loaded from a PDS, by block size",
        run: load_blocksize::run,
    },
    Entry { name: "load-pdse", about: "the same from a PDSE, and by dlopen", run: load_pdse::run },
    Entry { name: "directory", about: "a program among 2, 4,200 and 100,000 members", run: directory::run },
    Entry { name: "tracks", about: "the tracks of a library, by block size", run: tracks::run },
    Entry {
        name: "survey",
        about: "block sizes, tracks and advice for a folder of libraries",
        run: survey::run,
    },
];

/// An arm under underbar, with these options over its defaults.
fn arm(name: &str, options: &str, program: &[&str]) -> Arm {
    Arm { name: name.to_owned(), server: Server::Underbar(options.to_owned()), program: words(program) }
}

/// An arm without any preload.
fn plain(name: &str, program: &[&str]) -> Arm {
    Arm { name: name.to_owned(), server: Server::Plain, program: words(program) }
}

fn words(program: &[&str]) -> Vec<String> {
    program.iter().map(ToString::to_string).collect()
}

/// The order of runs has its own random stream, so that it is independent of the sizes.
fn order(parameters: &Parameters) -> Random {
    Random::new(parameters.seed ^ 0x6f72_6465)
}
