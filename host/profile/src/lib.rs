//! Sampling instruction profile: which program, which displacement, which instruction, how often.
//!
//! ```text
//! sampler  rings opened, emptied now and then ─> bytes of records, ring by ring
//! record   bytes -> records                                                     (anybody's bytes: fuzzed)
//! order    records of all rings in the order of their times
//! space    what is mapped where in each process: address -> module and offset in its file
//! tally    how often each module and offset was sampled
//! maps     names of code that lies in no program file, as its process has written them
//! charge   offset -> function, displacement, instruction; and which instruction is to blame   decode
//! model    the profile ── text | JSON (schema) | folded
//! ```
//!
//! The kernel samples on its own clock and writes into rings; nothing of ours runs in the program. So any program can be
//! sampled, also a static one, and no signal disturbs it. Where that is forbidden, timers in the program's threads sample
//! (`timer`; `runtime::sample` is the other half), and leave the same records but for their times.
//!
//! Invariant: the counts of all rows together are the samples taken.
//! Known limits: perf sees only user mode; a thread that runs for less than one period leaves at most one sample; a
//! program that takes other rights (setuid) is not sampled from there on.
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
