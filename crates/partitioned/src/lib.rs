//! Program libraries of both organisations in their file formats, for readers inside the user's process and writers
//! outside it.
//!
//! ```text
//!            PDS                                       PDSE
//!   header page                               two superblock pages, written in turn
//!   tracks: directory blocks, then the        tree of 4 KiB pages: name -> member
//!   members' blocks, as a 3390 holds them     pages of members, in runs, as a program maps them
//!        \                                     /
//!        ReadAt: a file, a mapping, bytes; Counts: the cost of a search and a load
//! ```
//!
//! | module | holds |
//! |---|---|
//! [`track`] | the cost of a block on a track, for seven devices
//! [`binder`] | the rule by which short blocks fill a track, and the tracks that a library would take
//! | [`pds`] | a data set on emulated tracks: layout, directory, blocks of a member |
//! [`pdse`] | pages, superblocks, tree, members, and the coordination of readers and the writer
//! | [`attribute`] | attributes, FETCHOPT, classes of text |
//! | [`name`], [`symbol`], [`count`], [`read`], [`sum`] | names of members and of functions, the four counts, reading, checksums |
//!
//! Invariant: bytes that anybody may have written give a [`read::Fault`], never a panic, never an endless loop, and never
//! more work than the length of the file.
//! Invariant: no system call, no allocation; numbers are little-endian unless a field says otherwise.
//! Not here: writing to files, locks (`underbar-store`), loading programs (`underbar-fetch`), real mainframe files
//! (`underbar-mainframe`).
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

pub mod attribute;
pub mod binder;
mod bytes;
pub mod count;
pub mod name;
pub mod pds;
pub mod pdse;
pub mod read;
pub mod sum;
pub mod symbol;
pub mod track;
