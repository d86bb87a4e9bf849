//! Sampling instruction profile: samples by program, displacement and instruction.
//!
//! ```text
//! sampler  rings opened, emptied now and then ─> bytes of records, ring by ring
//! record   bytes -> records                                                     (untrusted bytes: fuzzed)
//! order    records of all rings in the order of their times
//! space    mappings of each process: address -> module and offset in its file
//! tally    the samples of each module and offset
//! maps     names of code in no program file, written by its process
//! charge   offset -> function, displacement, instruction; and the instruction charged             decode
//! model    the profile ── text | JSON (schema) | folded
//! ```
//!
//! The kernel samples on its own clock and writes into rings; no Underbar code runs in the program. So any program can be
//! sampled, also a static one, and no signal disturbs it. Where that is forbidden, timers in the program's threads sample
//! (`timer`; `runtime::sample` is the other half), and leave the same records without times.
//!
//! Invariant: the sum of the counts of all rows is the number of samples.
//! Known limits: perf sees only user mode; a thread that runs for less than one period leaves at most one sample; a
//! program that gains privileges (setuid) is not sampled from then on.
//! Not here: starting the program (`host/launch`), names in files (`host/symbols`), stacks.
#![forbid(unsafe_code)]

pub mod charge;
pub mod decode;
pub mod folded;
pub mod maps;
pub mod missing;
pub mod model;
pub mod order;
pub mod record;
pub mod sampler;
pub mod schema;
pub mod space;
pub mod tally;
pub mod text;
pub mod timer;

pub use charge::profile;
pub use maps::Maps;
pub use model::{By, Facts, Profile};
pub use sampler::{DEFAULT_RATE, MOST_RATE, Refused, Sampler};
pub use tally::Tally;
pub use timer::Timers;
