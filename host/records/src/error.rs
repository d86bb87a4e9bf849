//! What can go wrong with records, each error with the party that is responsible.
//!
//! Not here: what is wrong with a statement (`statement`).

use std::fmt;
use std::io;

use underbar_shown::Shown;

use crate::field::BadField;
use crate::format::{Format, Malformed};

/// Why records were not sorted. The output may have a part of them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The statements.
    #[error(transparent)]
    Statement(#[from] crate::statement::Wrong),
    /// A file of the input cannot be read.
    #[error("{}: {error}", name.shown())]
    Input {
        /// The file.
        name: String,
        /// What the system said.
        error: io::Error,
    },
    /// The output cannot be written.
    #[error("{}: {error}", name.shown())]
    Output {
        /// The file.
        name: String,
        /// What the system said.
        error: io::Error,
    },
    /// A work file cannot be written or read.
    #[error("work file in {}, after {bytes} bytes: {error}", folder.shown())]
    Work {
        /// The folder.
        folder: String,
        /// Bytes that work files have.
        bytes: u64,
        /// What the system said.
        error: io::Error,
    },
    /// The bytes of a file are no records of that form.
    #[error("{place}: {why}; records are {format}")]
    Format {
        /// Where.
        place: Place,
        /// The form.
        format: Format,
        /// What is wrong.
        why: Malformed,
    },
    /// A record has no such field, or it is no number.
    #[error("{place}: {why}")]
    Field {
        /// Where.
        place: Place,
        /// What is wrong.
        why: BadField,
    },
    /// A record is longer than the output's form allows.
    #[error("a record of {length} bytes does not fit into {format}")]
    Long {
        /// Its data.
        length: usize,
        /// The output's form.
        format: Format,
    },
}

/// A place in the input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The file.
    pub name: String,
    /// Bytes before it.
    pub byte: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, record at byte {}", self.name.shown(), self.byte)
    }
}
