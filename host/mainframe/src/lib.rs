//! Libraries of real mainframes: from the bytes of a file to members, and back to a transmission.
//!
//! ```text
//! a file ── container ──> what it holds: a tree (tree, fault)
//!             │
//!   source    where bytes lie: file, pieces of it, blocks and tracks inflated when they are read
//!   netdata (unit)   transmissions, XMIT            tape (label)     AWS, HET
//!   unload (spanned) IEBCOPY, of PDS and PDSE       terse            AMATERSE, both methods
//!   image (track, volume)  disks, CKD and CCKD      inflate          zlib and bzip2, bounded
//!             │
//!   library (directory, entry)  members, their attributes, where their blocks lie
//!   module (outline)  records of a load module      object           sections of a program object
//!   ebcdic   code pages                             export (unload_write, xmit)  a transmission for others to read
//! ```
//!
//! Everything here may have been written by anybody. Invariant: no input makes it panic, loop, or take memory out of
//! proportion to the input and the limits given; what cannot be read is a fault that names where it lies, and what can be
//! read is returned beside it.
//!
//! - [`view`]: those libraries as ours are shown: chosen out of what holds them, listed, surveyed, brought in, sent out.
//! - [`lists`]: lists of data sets that sites have: for surveys of libraries that are not at hand.
//!
//! Not here: what the commands print, and our own libraries (`store`).
#![forbid(unsafe_code)]

mod alone;
mod assemble;
mod bytes;
pub mod container;
pub mod directory;
pub mod ebcdic;
pub mod entry;
pub mod fault;
pub mod image;
pub mod inflate;
pub mod label;
pub mod library;
pub mod lists;
pub mod module;
pub mod netdata;
pub mod object;
pub mod outline;
pub mod place;
pub mod program;
pub mod source;
pub mod spanned;
pub mod tape;
pub mod terse;
pub mod track;
pub mod transport;
pub mod tree;
pub mod unit;
pub mod unload;
pub mod unload_write;
pub mod view;
pub mod volume;
pub mod xmit;

#[cfg(test)]
pub(crate) mod tests;
