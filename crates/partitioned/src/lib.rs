//! Program libraries of both organisations as they lie on disk, for those who read them inside the user's process and
//! for those who write them outside it.
//!
//! ```text
//!            PDS                                       PDSE
//!   header page                               two superblock pages, written in turn
//!   tracks: directory blocks, then the        tree of 4 KiB pages: name -> member
//!   members' blocks, as a 3390 holds them     pages of members, in runs, as a program maps them
//!        \                                     /
//!         ReadAt: a file, a mapping, bytes; Counts: what a search and a load cost
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`track`] | what a block costs on a track, for seven devices |
//! | [`binder`] | the rule by which short blocks fill a track, and the tracks that a library would take |
//! | [`pds`] | a data set on emulated tracks: layout, directory, blocks of a member |
//! | [`pdse`] | pages, superblocks, tree, members, and how readers and the writer keep out of each other's way |
//! | [`attribute`] | attributes, FETCHOPT, classes of text |
//! | [`name`], [`symbol`], [`count`], [`read`], [`sum`] | names of members and of functions, the four counts, reading, checksums |
//!
//! Invariant: bytes that anybody may have written give a [`read::Fault`], never a panic, never an endless loop, and
//! never more work than the file is long.
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
