//! Program libraries of mainframes, and what carries them.
//!
//! - [`mainframe`]: libraries of real mainframes, in whatever form they come, read without a mainframe; and transmissions
//!   written for those who have one.
//! - [`view`]: those libraries as ours are shown: chosen out of what holds them, listed, surveyed, brought in, sent out.
//! - [`lists`]: lists of data sets that sites have: for surveys of libraries that are not at hand.
#![forbid(unsafe_code)]

pub mod lists;
pub mod mainframe;
pub mod view;
