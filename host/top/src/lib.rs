//! Running programs with their accounts: a list (`ls`), a live view and recordings (`top`).
//!
//! ```text
//! ledgers and /proc ── Watch ── Look ─┬─ list    underbar ls
//!                                     ├─ lines   --once, a table for a pipe
//!                                     ├─ record  --json and --record: JSON lines; --replay reads them
//!                                     └─ live ── view ── screen ──> the terminal
//!                                          │  details: one process, by the report of its ledger
//!                                          terminal: mode, size, keys, signals
//! ```
//!
//! Invariant: programs that are watched notice nothing: nothing is written, mapped, locked or sent. A view that ends, however it does,
//! leaves the terminal as it was.
//! Not here: where ledgers are (`underbar_launch::ledger::found`), what is in one (`underbar_ledger`), the flags (`host/cli`).
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "a test is no door to anybody's terminal"))]

pub mod cells;
pub mod columns;
pub mod details;
pub mod glyphs;
pub mod history;
pub mod keys;
pub mod layout;
pub mod lines;
pub mod list;
pub mod live;
pub mod look;
pub mod record;
pub mod schema;
pub mod screen;
pub mod terminal;
pub mod view;
pub mod watch;

pub use look::{Look, Row, State};
pub use watch::Watch;
