//! Locks: which threads waited for which lock, for how long, and for which holder.
//!
//! ```text
//! area bytes -> Area -> Locks of a process -> chapter     every lock, its waiters, its holders
//!   (noise)    (owned)        |    |    \---> summary     two lines at most
//!                             |    \- order  circles in which locks were taken
//!                             \------ names  symbols for modules and offsets
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`area`] | reads the bytes of a lock area, even if they are noise |
//! | [`gather`] | makes the locks of a process from it, and finds the process |
//! | [`columns`] | the one table of a lock's figures, and which LOCK fills each |
//! | [`figures`](mod@figures) | the figures of a lock for rules that read the model |
//! | [`order`] | circles among the locks that were held while another was waited for |
//! | [`groups`] | many locks of one kind as one |
//! | [`names`] | places by symbol |
//! | [`calls`] | names of system calls |
//! | [`chapter`], [`lines`](mod@lines) | text |
//!
//! Invariant: any bytes as an area give a report; nothing here asks the system.
//! Not here: the locks of a process as a part of the report ([`crate::locks`]), reading files (`launch`), symbols (`symbols`),
//! advice (`advise`).

pub mod area;
pub mod calls;
pub mod chapter;
pub mod columns;
pub mod figures;
pub mod gather;
pub mod groups;
pub mod lines;
pub mod names;
pub mod order;

#[cfg(any(test, feature = "sample"))]
pub mod sample;

pub use area::{Area, AreaError};
pub use names::Naming;

pub use crate::locks::{Lock, LockSort, Locks, Mode, Place};
pub use crate::spread;
