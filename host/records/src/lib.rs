//! Record files: found by their form, read and written by whole buffers, and sorted.
//!
//! ```text
//! blocks ──> condition ──> key ──> order ──> run ──> merge ──> sums ──> output
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`format`] | fixed, variable, undefined, lines |
//! | [`field`] | fields of records, as bytes and as numbers |
//! | [`condition`] | which records are taken |
//! | [`statement`] | SORT, INCLUDE, OMIT, SUM, OPTION |
//! | [`blocks`] | the input in blocks of whole records |
//! | [`key`], [`run`], [`merge`] | keys; records in their order; runs together |
//! | [`sort()`] | all of it, with threads and work files |
//! | [`error`] | what can go wrong |
//!
//! Invariant: no record is lost or changed but by a statement; an error names the file and the place.
//! Not here: the command (`host/cli`).

pub mod blocks;
pub mod condition;
pub mod error;
pub mod field;
pub mod format;
pub mod key;
pub mod merge;
pub mod run;
mod sort;
pub mod statement;

pub use blocks::Input;
pub use error::Error;
pub use format::Format;
pub use sort::{Figures, Plan, sort};
