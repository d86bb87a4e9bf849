//! The library that C programs link: `libunderbar_c.a`, with `include/` for its headers.
//!
//! The preload library has the same names. A program that was linked with this library and runs under `underbar run` is served
//! by either; both use the same lock words.
#![warn(missing_docs)]

pub mod debug;
pub mod fetch;
pub mod simple_lock;
