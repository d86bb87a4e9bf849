//! A program or session whose runs are known: how many reports there are of it, and how doubtful they are.
//!
//! Not here: the figures of these reports (`storage`, `pool`).

/// The reports of one program or session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Its runs that are known by a report.
    pub runs: usize,
    /// Doubts about these reports.
    pub doubts: usize,
}
