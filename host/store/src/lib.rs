//! Makes and changes program libraries.
//!
//! ```text
//! .so files ── facts ──> Edit ... ──> change ──> PDSE: pages, then a superblock
//!                                         └────> PDS: a whole new file, renamed into place
//! Library: reads either of them: list, bytes, verify, survey
//! ```
//!
//! Invariant: a change happens whole or not at all, at whatever write it is ended, by a kill, a power cut or a full disk;
//! the tests end it at every write. One process changes a library at a time, and no reader waits.
//! Not here: the bytes themselves (`underbar-partitioned`), real mainframe files (`underbar-mainframe`).
#![forbid(unsafe_code)]

pub mod change;
mod doubt;
pub mod error;
pub mod facts;
pub mod library;
pub mod make;
mod member;
#[cfg(test)]
mod model;
pub mod pds;
pub mod pdse;
#[cfg(test)]
mod simulated;
pub mod storage;
pub mod survey;
pub mod verify;

pub use error::{Error, Missing, Result};
