//! Heap, stack and enclave: serves the program and keeps the ledger
#![no_std]

#[cfg(test)]
extern crate std;

pub mod follow;
