//! A figure and its place in the listing.
//!
//! Not here: what the figures are about (`model`).

use serde::Serialize;

/// A place in the listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// Number of the line in the input, from 1.
    pub line: u64,
    /// The text of the line, with blanks closed up, at most 120 characters.
    pub text: String,
}

/// A figure and its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Figure {
    /// Bytes, or a count.
    pub value: u64,
    /// Its place.
    #[serde(flatten)]
    pub evidence: Evidence,
    /// True if the figure is apart from its label and could belong to a neighbouring one.
    pub likely: bool,
}
