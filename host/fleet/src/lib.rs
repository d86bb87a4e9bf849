//! Many reports at once: lines for databases, an exporter, and gates over several runs.
//!
//! ```text
//! files ── input: one JSON document after another ── collect: checked, what differs ── line ──> NDJSON
//!                                                       table: the columns ── schema ──> JSON Schema, SQL
//! a report ── openmetrics ──> a text file for a collector
//! reports of two sides ── sides: medians, intervals, gates ── github ──> annotations, a summary in Markdown
//! ```
//!
//! Invariant: nothing here opens a file or asks a clock; the same bytes give the same lines.
//! Not here: SQL that evaluates the lines (`share/fleet`), and how a file is found and opened (the command).
#![forbid(unsafe_code)]

pub mod collect;
mod differences;
pub mod github;
pub mod gzip;
pub mod input;
pub mod line;
pub mod openmetrics;
pub mod schema;
pub mod sides;
pub mod table;

#[cfg(any(test, feature = "sample"))]
pub mod sample;

pub use collect::{Collector, Summary};
pub use gzip::Gzip;
