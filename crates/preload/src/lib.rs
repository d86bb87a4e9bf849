//! libunderbar.so: C symbols that lead to the runtime
#![no_std]
