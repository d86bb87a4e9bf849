//! Program fetch.
#![no_std]
#![warn(missing_docs)]

#[cfg(test)]
extern crate std;

mod again;
mod arena;
pub mod content;
mod descriptor;
pub mod elf;
mod error;
pub mod image;
mod replaced;
mod system;
mod table;
mod threads;
pub mod visible;

pub use error::{Error, Failure, REASONS, Reason, Text};
