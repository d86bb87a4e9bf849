//! Program fetch: programs are found in libraries, loaded, kept for the next one, called and given back, without the
//! system's loader.
//!
//! ```text
//! table       LOAD, DELETE, BLDL: use counts, search order
//!  |- library, organised   where programs lie: folders, files, PDS, PDSE          directory   what is known of them (LLA)
//!  |- image                a program in memory  ── elf: what its file says, checked
//!  |   map, bind, relocate, frames (unwinder), debugger; threads, descriptor: its thread storage
//!  |- pool, written        the initial state of an image, to begin again from (VLF); which pages differ from it
//!  |- repeat               LOAD and DELETE again and again, for measurements
//!  '- system, link_map, closure   the C library's loader: for what a program needs, and for programs that we cannot load
//! link        CALL, LINK, XCTL                        frame    where a program's exit goes back to
//! ```
//!
//! An ordinary shared object is mapped, relocated and bound here: symbols of the program and its libraries, general-dynamic
//! thread storage, constructors and destructors, frames for the unwinder, symbols for a debugger, `dl_iterate_phdr`. What
//! needs more is left to the system's loader, and the reason is counted ([`REASONS`]).
//!
//! Why this is faster than dlopen: an image that was loaded once is kept, relocated, and begins again when its few written
//! pages have been brought back. What is not kept costs what dlopen costs: the kernel's work of mapping and unmapping.
//!
//! Invariant: a file's words are believed after they were compared with its bounds (`elf`); a damaged one is an [`Error`].
//! Invariant: the tables lie in memory of their own, never in the program's heap.
//! Not here: making libraries (`underbar-store`), heaps and stacks of their own for programs (the runtime's enclaves).
#![no_std]
#![warn(missing_docs)]
#![allow(
    clippy::result_large_err,
    reason = "an error carries the name that it is about, and there is no heap for it"
)]

#[cfg(test)]
extern crate std;

mod addresses;
mod again;
mod arena;
mod closure;
pub mod content;
mod descriptor;
mod directory;
pub mod elf;
mod error;
mod frame;
pub mod image;
pub mod library;
pub mod link;
mod link_map;
mod opened;
mod organised;
pub mod path_room;
mod pool;
mod program;
mod remembered;
pub mod repeat;
mod replaced;
mod statistics;
mod system;
pub mod table;
mod threads;
mod vector;
pub mod visible;
mod written;

pub use error::{Error, Failure, REASONS, Reason, Text};
pub use program::Form;
pub use statistics::Statistics;
