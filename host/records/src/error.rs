//! Errors, each with the party at fault and the place.
//!
//! Not here: what is wrong with a statement (`statement`), with a field (`field`), with the form of a file (`format`).

use std::fmt;
use std::io;
use std::sync::Arc;

use underbar_shown::Shown;

use crate::field::BadField;
use crate::format::{Format, Malformed};

/// Why records were not read, sorted or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller's statements.
    #[error(transparent)]
    Statement(#[from] crate::statement::Wrong),
    /// A file of the input cannot be read.
    #[error("{}: {error}", name.shown())]
    Input {
        /// The file.
        name: Arc<str>,
        /// The system's reason.
        error: io::Error,
    },
    /// The output cannot be written.
    #[error("{}, after {records} records: {error}", name.shown())]
    Output {
        /// The file.
        name: String,
        /// Records that were given to it.
        records: u64,
        /// The system's reason.
        error: io::Error,
    },
    /// A file has the name of the output, or is part of the input.
    #[error("{}: {why}", name.shown())]
    Exists {
        /// The file.
        name: String,
        /// Which of the two.
        why: &'static str,
    },
    /// The work file cannot be written or read.
    #[error("work file in {}, after {bytes} bytes: {error}", folder.shown())]
    Work {
        /// The folder.
        folder: String,
        /// Bytes that were written before.
        bytes: u64,
        /// The system's reason.
        error: io::Error,
    },
    /// The folder for work files can be changed by other users.
    #[error("work folder {}: {why}", folder.shown())]
    Folder {
        /// The folder.
        folder: String,
        /// What is wrong.
        why: String,
    },
    /// The bytes of a file are not records of its form.
    #[error("{place}: {why}; the form is {format}")]
    Format {
        /// The record.
        place: Place,
        /// The form.
        format: Format,
        /// What is wrong.
        why: Malformed,
    },
    /// A record has no such field, or the field is not a number.
    #[error("{place}: {why}")]
    Field {
        /// The record.
        place: Place,
        /// What is wrong.
        why: BadField,
    },
    /// An input of MERGE is not in order.
    #[error("{0}: its key is before that of the preceding record; inputs of MERGE must be in order")]
    Sequence(Place),
    /// A caller's record is longer than the form allows.
    #[error("a record of {length} bytes does not fit into {format}")]
    Long {
        /// Bytes of its data.
        length: usize,
        /// The form.
        format: Format,
    },
}

/// A record of the input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The file.
    pub name: Arc<str>,
    /// The record in the file, from 1 on.
    pub record: u64,
    /// Offset of the record's data in the file.
    pub byte: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, record {} at byte {}", self.name.shown(), self.record, self.byte)
    }
}
