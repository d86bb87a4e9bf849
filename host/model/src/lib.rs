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
//! | [`cells`] | the sizes of cells that fit requests |
//! | [`requests`] | requests by size, with their evidence |
//! | [`program`] | how many reports there are of a program, and how doubtful they are |
//! | [`pool`] | pools of cells of one size |
//! | [`storage`] | storage areas: sizes, use, segments |
//! | [`area_use`] | how much of an area its users need |
//! | [`available_list`] | free buffers of one size |
//! | [`ecb_class`] | classes of ECBs: areas, available lists, requests |
//! | [`enclaves`] | the storage areas of enclaves |
//! | [`supply`] | how requests are served |
//! | [`thread_storage`] | one reservation for a program's buffers |
//! | [`threads`] | how many threads there were |
//! | [`switches`] | switches between processors or modes, small reads and writes, rows fetched one by one |
//! | [`lock`] | the waits for one lock |
//! | [`cache`] | caches of print and work files |
//! | [`contention`] | contention for locks, by samples |
//!
//! Invariant: no figure without evidence: a counter, a line, or the reason why it is absent.
//! Not here: where figures come from (`report`, `listing`), and the advice based on them (`advise`).
#![forbid(unsafe_code)]

pub mod area;
pub mod area_use;
pub mod available_list;
pub mod cache;
pub mod cells;
pub mod classes;
pub mod contention;
pub mod ecb_class;
pub mod enclaves;
pub mod figure;
pub mod lock;
pub mod platform;
pub mod pool;
pub mod program;
pub mod requests;
pub mod storage;
pub mod supply;
pub mod switches;
pub mod thread_storage;
pub mod threads;

pub use area::Area;
pub use area_use::{AreaUse, Need};
pub use available_list::AvailableList;
pub use cache::Cache;
pub use classes::{Class, least_waste};
pub use contention::Contention;
pub use ecb_class::EcbClass;
pub use enclaves::Enclaves;
pub use figure::{Certainty, Evidence, Figure, Line};
pub use lock::Lock;
pub use platform::Platform;
pub use pool::{Pool, Pools};
pub use program::Program;
pub use requests::{Larger, Requests, Row};
pub use storage::Storage;
pub use supply::Supply;
pub use switches::{Fetches, LoopedCall, Switches, Switching, Traffic};
pub use threads::Threads;
