//! An available list: free buffers of one size, which serve the requests that fit.
//!
//! Not here: how a set of lists serves requests (`supply`), and which sizes waste least (`classes`).

use crate::figure::Figure;

/// One list of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AvailableList {
    /// Its number in the set, from 1.
    pub number: u8,
    /// Bytes of a buffer.
    pub size: Figure,
    /// Buffers that it has.
    pub buffers: Figure,
}
