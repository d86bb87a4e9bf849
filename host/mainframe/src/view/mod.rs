//! Mainframe libraries in the form of Underbar's own.
//!
//! ```text
//! file ── choose ──> one library ──┬─ items    ──> Label, Item   of underbar_store, for `ls` and `info`
//!                                  ├─ survey   ──> Source           figures of tracks and loads
//!                                  ├─ import   ──> Addition         members of Underbar's libraries
//!                                  └─ extract  ──> bytes, and safe file names
//! an Underbar library ── export ──> a transmission
//! ```
//!
//! Invariant: only data of the mainframe's library is shown; unknown values are None.
//! Not here: reading the formats (`mainframe`), printing.

pub mod choose;
pub mod export;
pub mod extract;
pub mod import;
pub mod items;
pub mod survey;

#[cfg(test)]
mod tests;
