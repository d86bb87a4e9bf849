//! Suggestions from a report, each with its evidence and its stop rule.
//!
//! ```text
//! Report -> for each program of the tree: every rule of the table -> Advice
//!                                              \-> option lines, options file, summary, JSON
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`advice`] | the one result of a rule |
//! | [`render`] | advice as text, JSON, pages, option files |
//! | [`rules`] | the one table of rules, for all platforms; [`rule`] is a row of it |
//! | [`accounts`] | suggestions from the accounts of a run; [`case`] is the input of their rules |
//! | [`heap`], [`keep`], [`stack`], [`pages`], [`lock`], [`spin`], [`requests`], [`caches`], [`fetches`], [`sorts`], [`thread_sizes`], [`timers`] | the functions of the rules |
//! | [`walk`] | advice from listings |
//! | [`listing`] | what listings hold, and the functions of the rules for them: Language Environment, z/TPF, Natural |
//! | [`explain`](mod@explain) | the meaning of a rule or a counter, from the tables |
//!
//! Invariant: this crate uses no clock and no process; the same report gives the same
//! suggestions. After its advice is followed, a rule says "no change" for the next such run.
//! Not here: whether a suggestion helped (`verdict`).
#![forbid(unsafe_code)]

pub mod accounts;
pub mod advice;
pub mod caches;
pub mod case;
mod certainty;
pub mod ecbs;
pub mod enclaves;
pub mod explain;
pub mod fetches;
pub mod heap;
pub mod keep;
pub mod library_calls;
pub mod listing;
pub mod lock;
pub mod pages;
mod pools;
pub mod render;
pub mod requests;
pub mod rule;
pub mod rules;
pub mod several;
mod sizes;
pub mod sorts;
pub mod spin;
pub mod stack;
pub mod thread_sizes;
pub mod timers;
pub mod walk;
mod worth;

pub use accounts::advise;
pub use advice::{Advice, Evidence, Kind, Line, Setting, Value};
pub use explain::explain;
pub use render::lines;
pub use rule::{Apply, Area, Platform, Rule};
pub use rules::RULES;
pub use walk::{advise_listing, check_texts};
