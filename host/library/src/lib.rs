//! Program libraries and what carries them.
//!
//! - [`mainframe`]: libraries of real mainframes, in whatever form they come, read without a mainframe; and transmissions
//!   written for those who have one.
#![forbid(unsafe_code)]

pub mod mainframe;
