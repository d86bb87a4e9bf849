//! Raw system calls, clocks, pages; the one door to atomics
#![no_std]
