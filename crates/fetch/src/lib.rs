//! Program fetch.
#![no_std]
#![warn(missing_docs)]

#[cfg(test)]
extern crate std;

mod again;
mod arena;
pub mod content;
mod descriptor;
mod directory;
pub mod elf;
mod error;
pub mod image;
pub mod library;
pub mod link;
mod opened;
mod organised;
mod pool;
mod program;
mod replaced;
mod statistics;
mod system;
pub mod table;
mod threads;
mod vector;
pub mod visible;

pub use program::Form;
pub use statistics::Statistics;
pub use error::{Error, Failure, REASONS, Reason, Text};
