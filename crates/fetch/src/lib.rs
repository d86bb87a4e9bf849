//! Program fetch: finds programs in libraries, loads, keeps, calls and gives them back, without the system's loader.
//!
//! ```text
//! table       LOAD, DELETE, BLDL: use counts, search order
//!  |- library, organised   sources of programs: folders, files, PDS, PDSE             directory   known members (LLA)
//!  |- image                a program in memory  ── elf: the content of its file, checked
//!  |   map, bind, relocate, frames (unwinder), debugger; threads, descriptor: its thread storage
//!  |- pool, written        the initial state of an image, for a new start (VLF); the pages that differ from it
//!  |- repeat, nested       repeated LOAD and DELETE, programs in each other, for measurements
//!  '- system, link_map, closure   the C library's loader: for a program's needs, and for programs that we cannot load
//! link        CALL, LINK, XCTL                        exit, frame    a program's exit, and the place to which it returns
//!                                                     departure      other ways out: jumps, exceptions, the end of the thread
//! ```
//!
//! An ordinary shared object is mapped, relocated and bound here: symbols of the program and its libraries, general-dynamic
//! thread storage, constructors and destructors, frames for the unwinder, symbols for a debugger, `dl_iterate_phdr`. A program
//! that needs more is left to the system's loader, and the reason is counted ([`REASONS`]).
//!
//! Why this is faster than dlopen: a loaded image is kept in its relocated form, and starts again after its few written pages
//! have been restored. An image that is not kept costs as much as dlopen: the kernel's work of mapping and unmapping.
//!
//! Invariant: the content of a file is used only after it was compared with its bounds (`elf`); a damaged one is an [`Error`].
//! Invariant: the tables are in separate memory, never in the program's heap.
//! Not here: making libraries (`underbar-store`), separate heaps and stacks for programs (the runtime's enclaves).
#![no_std]
#![warn(missing_docs)]
#![allow(
    clippy::result_large_err,
    reason = "an error carries the name that it is about, and there is no heap for it"
)]

#[cfg(test)]
extern crate std;

mod addresses;
mod arena;
mod closure;
pub mod content;
mod departure;
mod descriptor;
mod directory;
pub mod elf;
mod enclave;
mod error;
mod exit;
mod frame;
pub mod image;
pub mod library;
pub mod link;
mod link_map;
pub mod nested;
mod open_library;
mod organised;
pub mod path_room;
mod pool;
mod program;
pub mod program_headers;
mod reentrant;
mod registers;
pub mod repeat;
pub mod replaced;
mod search_cache;
mod statistics;
mod system;
pub mod table;
mod threads;
mod vector;
mod written_pages;

pub use error::{Error, Failure, REASONS, Reason, Text};
pub use program::Form;
pub use statistics::Statistics;
