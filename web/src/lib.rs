//! The advice of `underbar advise` for a web page: listings in, JSON out.
//!
//! ```text
//! page (web/page) --name, pieces of a file--> boundary -> session -> underbar_listing::Reader -> Collected
//!                 <------------JSON---------- boundary <- answer  <- advise_listing, areas
//!                                                            \-- areas: sizes for the picture
//! ```
//!
//! `cargo xtask web` compiles it to WebAssembly and puts it into one page with `web/page`.
//!
//! Invariants. The same listings give the advice of `underbar advise --json`, word for word (`zoo/tests/page.rs` compares
//! them). Memory does not grow with the files: they come in pieces, and the kept data is bounded.
//! Not here: files, clocks, threads, the network; the layout of the page (`web/page`).
#![deny(unsafe_code)]

pub mod answer;
pub mod boundary;
pub mod session;
