//! Libraries of mainframes as ours are shown.
//!
//! ```text
//! file ── choose ──> one library ──┬─ items    ──> Label, Item   of underbar_store, as `ls` and `info` show them
//!                                  ├─ survey   ──> Source           figures of tracks and loads
//!                                  ├─ import   ──> Addition         members of ours
//!                                  └─ extract  ──> bytes, and names that are safe as names of files
//! a library of ours ── export ──> a transmission
//! ```
//!
//! Invariant: nothing is shown of a mainframe's library that is not in it; what is not known is None.
//! Not here: reading the formats (`mainframe`), printing.

pub mod choose;
pub mod export;
pub mod extract;
pub mod import;
pub mod items;
pub mod survey;

#[cfg(test)]
mod tests;
