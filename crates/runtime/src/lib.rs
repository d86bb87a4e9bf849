//! Heap, stack and enclave: serves the program and keeps the ledger.
//!
//! Everything here runs inside the user's process, possibly before its constructors, in a signal handler or
//! between fork and exec. So: no allocation, no formatting, no panic, no thread.
//!
//! May use: `ledger`, `options`, `sys`, and a handful of C library functions, each named where it is declared.
#![no_std]

#[cfg(test)]
extern crate std;

pub mod coverage;
pub mod follow;
pub mod heap;
pub mod ledger;
pub mod options;
pub mod start;
