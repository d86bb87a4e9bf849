//! Every counter once: its name, unit, meaning and exactness, and its place in shared memory.
//!
//! The ledger is the spine of underbar. The runtime, inside the user's process, adds to plain counters in a shared file; the
//! command, outside it, reads the same bytes and makes everything that a person sees. So a report survives SIGKILL, and the
//! runtime neither formats nor prints.
//!
//! ```text
//! byte 0      Header      who made the file, which table, the directory of slots
//!      4096   Control     written by the host, read by the runtime with one relaxed load
//!      8192   option text as the run was started with it
//!     24576   Slot 0      one process: identity, counters, owners of other anonymous memory
//!     28672   its heaps   rows of heaps besides the default one, if it creates any
//!     32768   its pools   rows of heap pools, if it has HEAPPOOLS
//!     40960   Slot 1      ...
//!   4218880   classes of ECBs, of the process of each slot that has some, and ECBs by name-value pairs
//!  29384704   trace tables of ECBs, of the process of each slot that has some; requests of heaps by steps; switches; caches
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`counter`] | the fields of an entry of the table |
//! | [`table`] | the table: one entry for each counter |
//! | [`layout`] | the structures above, as the runtime maps them; with its parts `offsets`, where they are, and `fault`, why a process ended |
//! | [`sizes`] | requests by size: the rows, and the sizes of cells |
//! | [`text`] | texts in the file |
//! | [`heaps`] | rows of a process's heaps |
//! | [`pools`] | rows of its heap pools, and its requests by steps of 8 bytes |
//! | [`classes`], [`pairs`] | pages of its classes of ECBs; rows of ECBs by name-value pairs |
//! | [`traces`] | trace tables of ECBs: the last requests of each thread |
//! | [`heap_steps`] | requests of each heap by steps of 8 bytes |
//! | [`switches`], [`switch_names`], [`switch_reset`] | switches by call site; the functions that make them; from which counts on a report counts |
//! | [`caches`] | rows of its caches of files |
//! | [`control`] | the control page: settings that the host changes while programs run |
//! | [`make`] | the first bytes of a new file |
//! | [`locks`], [`samples`], [`sites`] | files next to it: contended locks, profile samples, and sampled requests of a process |
//! | [`view`] | the same bytes, read and checked by the host |
//!
//! Not here: mapping the file (that needs `unsafe`), claiming and folding slots (`runtime`), and
//! any text beyond labels.
#![no_std]
#![forbid(unsafe_code)]

pub mod caches;
pub mod classes;
pub mod control;
pub mod counter;
mod fault;
pub mod fingerprint;
pub mod heap_steps;
pub mod heaps;
pub mod layout;
pub mod locks;
pub mod make;
mod offsets;
pub mod pairs;
pub mod pools;
pub mod samples;
pub mod site_rules;
pub mod sites;
pub mod sizes;
pub mod switch_names;
pub mod switch_reset;
pub mod switches;
pub mod table;
pub mod text;
pub mod traces;
pub mod view;

pub use caches::Caches;
pub use classes::Classes;
pub use control::Control;
pub use counter::{Counter, Exactness, Fold, Scope, Unit};
pub use heap_steps::HeapSteps;
pub use heaps::{HeapKind, Heaps, RowState};
pub use layout::{AllocatorRole, Directory, FaultKind, Header, Identity, Slot, SlotState};
pub use pairs::Pairs;
pub use pools::Pools;
pub use switches::Switches;
pub use table::{COUNTERS, Key, TABLE};
pub use traces::Traces;
pub use view::{LedgerError, LedgerView, SlotView};
