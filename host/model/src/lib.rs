//! Facts about a program or a system, independent of their source: the accounts of a run, or listings.
//!
//! ```text
//! ledger  -> report  ─┐
//!                     ├─> Program, Storage, Pool, Supply ... -> rules
//! listing -> advise  ─┘
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`figure`] | a value with its certainty and its evidence |
//! | [`platform`], [`area`] | the platforms and areas of advice |
//! | [`classes`] | the sizes that waste least for classes of requests |
//! | [`requests`] | requests by size, with their evidence |
//! | [`program`] | how many reports there are of a program, and how doubtful they are |
//! | [`pool`] | pools of cells of one size |
//! | [`storage`] | storage areas: sizes, use, segments |
//! | [`supply`] | how requests are served |
//! | [`switches`] | switches between processors or modes |
//! | [`contention`] | contention for locks, by samples |
//!
//! Invariant: no figure without evidence: a counter, a line, or the reason why it is absent.
//! Not here: where figures come from (`report`, `listing`), and the advice based on them (`advise`).
#![forbid(unsafe_code)]

pub mod area;
pub mod classes;
pub mod contention;
pub mod figure;
pub mod platform;
pub mod pool;
pub mod program;
pub mod requests;
pub mod storage;
pub mod supply;
pub mod switches;

pub use area::Area;
pub use classes::{Class, least_waste};
pub use contention::Contention;
pub use figure::{Certainty, Evidence, Figure, Line};
pub use platform::Platform;
pub use pool::Pool;
pub use program::Program;
pub use requests::{Larger, Requests, Row};
pub use storage::Storage;
pub use supply::Supply;
pub use switches::Switches;
