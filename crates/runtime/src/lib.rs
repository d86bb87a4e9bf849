//! Heap, stack and enclave: serves the program and keeps the ledger.
//!
//! Everything here runs inside the user's process, possibly before its constructors, in a signal handler or
//! between fork and exec. So: no allocation, no formatting, no panic, and no thread but that of `timer`.
//!
//! May use: `ledger`, `options`, `sys`, `lock`, and a handful of C library functions, each named where it is declared.
#![no_std]

#[cfg(test)]
extern crate std;

#[cfg(not(loom))]
mod action;
#[cfg(not(loom))]
pub mod by_caller;
#[cfg(not(loom))]
mod c_library;
#[cfg(not(loom))]
mod callers;
#[cfg(not(loom))]
pub mod clone;
#[cfg(not(loom))]
mod component_names;
#[cfg(not(loom))]
pub mod coverage;
#[cfg(not(loom))]
pub mod cpu_limit;
#[cfg(not(loom))]
pub mod deepbind;
#[cfg(not(loom))]
pub mod ecb;
#[cfg(not(loom))]
mod eligible;
#[cfg(not(loom))]
pub mod environment;
#[cfg(not(loom))]
pub mod errno;
#[cfg(not(loom))]
mod executable;
#[cfg(not(loom))]
mod faults;
#[cfg(not(loom))]
mod file_cache;
#[cfg(not(loom))]
pub mod follow;
#[cfg(not(loom))]
pub mod fork;
#[cfg(not(loom))]
pub mod heap;
#[cfg(not(loom))]
pub mod key;
#[cfg(not(loom))]
pub mod ledger;
#[cfg(not(loom))]
pub mod linked;
#[cfg(not(loom))]
pub mod linked_programs;
#[cfg(not(loom))]
mod loaded;
#[cfg(not(loom))]
pub mod lock;
#[cfg(not(loom))]
mod multi_fetch;
#[cfg(not(loom))]
mod next;
#[cfg(not(loom))]
pub mod opening;
#[cfg(not(loom))]
pub mod options;
#[cfg(not(loom))]
mod orders;
#[cfg(not(loom))]
mod originals;
#[cfg(not(loom))]
mod overflow;
#[cfg(not(loom))]
mod placement;
#[cfg(not(loom))]
mod resident;
#[cfg(not(loom))]
mod resources;
#[cfg(not(loom))]
pub mod sample;
#[cfg(not(loom))]
pub mod sandbox;
#[cfg(not(loom))]
pub mod seccomp;
#[cfg(not(loom))]
mod serving;
#[cfg(not(loom))]
mod sites;
#[cfg(not(loom))]
pub mod stack;
#[cfg(not(loom))]
mod stale;
#[cfg(not(loom))]
pub mod start;
#[cfg(not(loom))]
mod switch;

/// For the model checker only the code that it models is compiled: its atomics cannot be statics.
#[cfg(loom)]
#[allow(dead_code, reason = "used by the models only")]
mod heap {
    mod cell;
    mod ecb {
        mod chains;
        mod piece;
    }
    mod gate;
    mod inbox;
}
#[cfg(loom)]
#[allow(dead_code, reason = "used by the models only")]
mod sites {
    mod ring;
}
#[cfg(loom)]
#[allow(dead_code, reason = "used by the models only")]
mod timer {
    mod keeper;
}
#[cfg(not(loom))]
mod thread_end;
#[cfg(not(loom))]
mod thread_word;
#[cfg(not(loom))]
mod three_arguments;
#[cfg(not(loom))]
mod timer;
