//! Libraries of real mainframes: from the bytes of a file to members, and back to a transmission.
//!
//! ```text
//! a file ── container ──> its contents: a tree (tree, fault)
//!             │
//!   source    places of bytes: file, pieces of it, blocks and tracks inflated when they are read
//!   netdata (unit)   transmissions, XMIT            tape (label)     AWS, HET
//!   unload (spanned) IEBCOPY, of PDS and PDSE       terse            AMATERSE, both methods
//!   image (track, volume)  disks, CKD and CCKD      inflate          zlib and bzip2, bounded
//!             │
//!   library (directory, entry)  members, their attributes, the places of their blocks
//!   module (outline)  records of a load module      object           sections of a program object
//!   ebcdic   code pages                             export (unload_write, xmit)  a transmission for others to read
//! ```
//!
//! All input is untrusted. Invariant: no input makes it panic, loop, or take memory out of
//! proportion to the input and the given limits; every unreadable part is a fault with its place, and every
//! readable part is returned as well.
//!
//! [`view`]: mainframe libraries in the form of Underbar's own: chosen from their carrier, listed, surveyed, imported, exported.
//! [`lists`]: lists of data sets from a site: for surveys without the libraries themselves.
//!
//! Not here: output of the commands, and Underbar's own libraries (`store`).
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
