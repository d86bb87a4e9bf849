//! Every counter once: name, unit, meaning, exactness, and its place in shared memory
#![no_std]
#![forbid(unsafe_code)]
