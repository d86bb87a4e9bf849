//! Switches between processors or modes, and the records that they were made for.
//!
//! Not here: which way of working spares switches (the rules).

use crate::figure::Figure;

/// Records and switches of one way of working.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switches {
    /// Records that were read, or lines that were written.
    pub records: Figure,
    /// Switches.
    pub switches: Figure,
    /// Processor time, in milliseconds.
    pub cpu: Figure,
}
