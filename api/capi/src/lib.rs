//! What C programs link: `libunderbar_c.a`, with `include/` for its headers.
//!
//! The preload library has the same names, so that a program which was linked with this one and runs under `underbar run`
//! is served by either; both know the same words.
#![warn(missing_docs)]

pub mod debug;
pub mod fetch;
pub mod simple_lock;
