//! Call sites of a program's storage: which line requested it, and what is still in use, from sampled requests.
//!
//! ```text
//! site areas ── ring_sources, ring, pace ──> events      a sampled request, a free of one, lost ones
//! /proc/PID/maps ── maps, files ──> space          what code is where, and when
//! events ── walk ──> callers ── weights, tally     sums for each stack, with their variance: record
//! walk ── ring_rules ──> site areas                rules by which processes follow the same callers themselves
//! callers ── names, made ──> locations ── site     functions and lines
//! accounts ── heap_counts                          what the heap counted itself, and what no sample covers
//! report ──> text | JSON (schema) | flame, folded stacks | pprof
//! ```
//!
//! Invariant: everything comes from another process and is untrusted; nothing here panics on it.
//! Not here: the sampler, which is in the runtime.
#![forbid(unsafe_code)]

pub mod events;
pub mod files;
pub mod flame;
pub mod heap_counts;
pub mod made;
pub mod maps;
pub mod name_words;
pub mod names;
pub mod pace;
pub mod pprof;
pub mod record;
pub mod report;
pub mod ring;
pub mod ring_rules;
pub mod ring_sources;
pub mod schema;
pub mod site;
pub mod space;
pub mod tally;
pub mod text;
pub mod walk;
pub mod weights;
pub mod words;
pub mod wrapper_names;
pub mod wrappers;

pub use events::{Event, Registers, Sample, Stack};
pub use ring_sources::{Of, Read, Sources};
