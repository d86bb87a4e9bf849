//! Run-time options: grammar, defaults, meaning, where each value was set
#![no_std]
#![forbid(unsafe_code)]
