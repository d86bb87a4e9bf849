//! Listings of Language Environment, read from any text into figures with their evidence.
//!
//! ```text
//! bytes -> lines (EBCDIC, CRLF, records) -> words that matter? -> storage   storage reports
//!                                                              -> options   options reports, CEEDUMP
//!                                                              -> carriers  CEEOPTS, CEEUOPT, CEEPRMxx, _CEE_RUNOPTS
//!                                                              -> job       step timings, REGION, messages
//!                                                              -> ztpf      reports and displays of z/TPF
//!                                                              -> natural   Natural and Adabas: buffers, parameters, switches
//!                                                              -> lists     lists of data sets, which another command reads
//!                                           each -> Item, as soon as it is whole
//! ```
//!
//! Invariants. Everything is found by label, never by column. A figure is taken only if just one label can be
//! meant; if another can be meant, the figure is kept as *likely*; a damaged or contradictory one is a [`Doubt`].
//! Wherever a listing is cut, no figure is made of the rest. Memory does not grow with the input: an
//! item is handed over when it ends, and each is bounded.
//!
//! **What is deliberately absent**: files, clocks, threads (so that it can be compiled to WebAssembly), and any
//! advice (`underbar-advise`).
#![forbid(unsafe_code)]

mod carriers;
mod coding;
mod commas;
mod contradictions;
mod descriptors;
mod display;
mod doubts;
mod evidence;
mod figures;
mod headings;
mod html;
mod job;
mod launchers;
mod lines;
mod lists;
mod messages;
pub mod model;
pub mod natural;
mod number;
mod option_text;
mod options;
mod order;
mod packed;
mod parm;
mod place;
mod pools;
mod prefilter;
mod quotes;
mod reader;
pub mod sections;
mod statement;
mod storage;
mod texts;
mod words;
pub mod ztpf;

pub use display::shown;
pub use launchers::{Place, place_behind};
pub use lists::LISTS;
pub use model::{
    Carrier, Doubt, Doubtful, Evidence, Figure, IN, Item, OptionRow, OptionText, OptionsReport, Pool, Region,
    Section, Side, StepParm, StepTiming, StorageReport, Unread, has_time,
};
pub use reader::{Reader, read};
pub use sections::{Field, Kind};
