//! Record files: read and written by whole buffers, sorted, merged and copied.
//!
//! ```text
//! files ── blocks ──> condition ── keys ── order ──> runs ── merge ── sums ── sink ──> output
//!                                                     └ work file ┘
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`mod@format`] | the forms of records: fixed, variable, undefined, lines |
//! | [`field`], [`key`] | fields of records, and their normalised keys |
//! | [`condition`] | INCLUDE and OMIT |
//! | [`statement`] | SORT, MERGE, COPY, INCLUDE, OMIT, SUM, OPTION as text |
//! | [`Plan`], [`Figures`] | what is to be done, with how much memory; what was done |
//! | [`sort()`] | all of it |
//! | [`Output`] | an output file that appears when it is whole |
//! | [`Records`], [`Writer`] | records one by one |
//! | [`Error`] | what can go wrong, with file, record and offset |
//!
//! ```
//! use underbar_records::{Format, Input, Plan, To, sort, statement};
//!
//! let statements = statement::read("SORT FIELDS=(1,3,CH,D)", Format::Lines)?;
//! let input = Input { name: "text".into(), bytes: Box::new(&b"one\ntwo\nsix\n"[..]) };
//! let mut sorted = Vec::new();
//! let to = To { name: "sorted", bytes: &mut sorted };
//! let figures = sort(vec![input], &Plan::new(Format::Lines, statements), to, &mut |_| ())?;
//! assert_eq!(sorted, b"two\nsix\none\n");
//! assert_eq!(figures.written, 3);
//! # Ok::<(), underbar_records::Error>(())
//! ```
//!
//! Invariant: no record is lost or changed except by a statement, and every error names its place.
//! Not here: the command (`host/cli`).
#![forbid(unsafe_code)]

mod blocks;
mod collect;
pub mod condition;
mod condition_text;
mod error;
pub mod field;
pub mod format;
pub mod key;
pub mod line_keys;
mod merge;
mod order;
mod output;
mod parser;
mod plan;
mod pool;
mod records;
mod run;
#[cfg(test)]
mod scratch;
mod sink;
mod sort;
pub mod statement;
mod sums;
mod words;
pub mod work;

pub use blocks::Input;
pub use error::{Error, Place};
pub use field::Order;
pub use format::Format;
pub use output::Output;
pub use plan::{Figures, LEAST_MEMORY, Plan, Times};
pub use records::{Records, Writer};
pub use sort::{To, sort};
