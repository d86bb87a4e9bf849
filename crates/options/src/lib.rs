//! Run-time options: grammar, defaults, meaning, and the source of each value.
//!
//! The grammar is that of z/OS Language Environment, `HEAP(64M,16M,,KEEP),RPTSTG(ON)`. It is the same everywhere: on the
//! command line, in `UNDERBAR_OPTS`, in a file, in a CEEOPTS data set, in a suggestion.
//!
//! ```text
//!              table  one row per option: names, sub-options, defaults, meaning, effect on Linux
//!                |
//! text --grammar--> apply --> Settings --> heap(), storage(), ...   the values that the run-time obeys
//!                     |          |-------> options report           the values in force and their sources
//!                     |          '-------> canonical                the shortest text for it
//!                     '--> Diagnostic                               the fault, its place, the remedy
//! ```
//!
//! This crate is linked into the user's process, where it runs before `main`, and into the command. It therefore does not
//! allocate, does not panic on any text, never stops a program, and has no dependencies.
//!
//! # Inside the process
//!
//! The preload library applies `UNDERBAR_OPTS` to the defaults and leaves diagnostics to the command:
//!
//! ```
//! use underbar_options::{Base, Disposition, ProgramName, Settings, Size, WhereSet};
//!
//! let text = b"HEAP(64M,16M,,KEEP) MSGFILE(/tmp/%e.%p) [cc1plus] HEAP(256M)";
//! let program = ProgramName { name: b"cc1plus", started_as: b"", build_id: b"" };
//! let texts = [(WhereSet::Environment, &text[..])];
//! let mut settings = Settings::new(Base::Underbar);
//! settings.evaluate(texts, &program, &mut |_| ());
//!
//! let heap = settings.heap();
//! assert_eq!(heap.init, Size::Bytes(256 << 20));
//! assert_eq!(heap.increment, Size::Bytes(16 << 20)); // kept from the layer below
//! assert_eq!(heap.disposition, Disposition::Keep);
//!
//! let mut room = [0; 64];
//! let file = settings.message_file().and_then(|name| name.fill_in(42, b"cc1plus", b"host", &mut room));
//! assert_eq!(file, Some(&b"/tmp/cc1plus.42"[..]));
//! ```
//!
//! # Outside it
//!
//! The command applies layer by layer, reports faults, and prints the values in force:
//!
//! ```
//! use underbar_options::{Base, ProgramName, Settings, WhereSet};
//!
//! let program = ProgramName::default();
//! let mut said = String::new();
//! let texts: [(_, &[u8]); 2] =
//!     [(WhereSet::UserFile, b"RPTSTG(ON)"), (WhereSet::CommandLine, b"HEPA(1M),HEAP(1M)")];
//! let mut settings = Settings::new(Base::LanguageEnvironment);
//! settings.evaluate(texts, &program, &mut |diagnostic| {
//!     said += &format!("{diagnostic}\n");
//!     diagnostic.write_excerpt(&mut said).unwrap();
//! });
//! assert_eq!(said, "\
//! column 1: HEPA is no run-time option and was left out; did you mean HEAP?
//! HEPA(1M),HEAP(1M)
//! ^^^^
//! ");
//!
//! let mut report = String::new();
//! settings.write_options_report("main", "11/20/26 10:15:07 AM", &mut report).unwrap();
//! assert!(report.contains("user options file                RPTSTG(ON)\n"));
//!
//! let mut text = String::new();
//! settings.canonical(&mut text).unwrap();
//! assert_eq!(text, "HEAP(1M),RPTSTG(ON)");
//! ```
//!
//! **What is deliberately absent**: files and environment (the callers read them), clocks, and any effect.
//! Order to read in: `table`, `row`, `value`, `grammar`, `read`, `apply`, `evaluate`, `settings`, `heap`, `stacks`, `locks`, `pools`, `starts`, `ecb`, `diagnostic`,
//! `report`.
#![no_std]
#![forbid(unsafe_code)]

mod apply;
mod class_sizes;
mod diagnostic;
mod display;
mod ecb;
mod entry;
mod evaluate;
mod explain;
mod file_cache;
mod file_name;
mod grammar;
mod heap;
mod lists;
mod locks;
mod message;
mod multi_fetch;
mod nearest;
mod pools;
mod program;
mod read;
mod records;
mod report;
mod row;
mod search;
mod settings;
mod sites;
mod stacks;
mod starts;
mod table;
mod texts;
mod value;
mod where_set;

pub use apply::check;
pub use class_sizes::ClassSizes;
pub use diagnostic::{Diagnostic, Problem, Severity};
pub use ecb::{AvailableLists, Ecb, Without};
pub use entry::{Effect, Entry, SubOption};
pub use evaluate::may_name_build_ids;
pub use file_cache::{CacheSizes, WorkFile, work_files};
pub use file_name::FileName;
pub use grammar::{Span, SyntaxFlaw};
pub use heap::{
    Disposition, Dsa, Heap, HeapBelow, HeapCheck, HeapZones, HugePages, Reaction, Size, Storage, ThreadHeap,
};
pub use lists::{
    AVAILABLE_LISTS, CLASSES_WITH_SIZES, DEFAULT_LISTS, LARGEST_LIST, LEAST_LIST, LONGEST_CLASS, ListSizes,
};
pub use locks::{Locks, OneLock};
pub use multi_fetch::MultiFetch;
pub use nearest::nearest;
pub use pools::{HeapPools, LEAST_CELLS, POOL_SIZES, POOLS_UNDER_AUTO, PoolSize};
pub use program::ProgramName;
pub use read::Flaw;
pub use records::take_off_numbers;
pub use report::{ReleaseLine, Row};
pub use row::MOST_TRACED;
pub use search::{SLOTS, find_option};
pub use settings::{Base, Settings};
pub use sites::Sites;
pub use stacks::{LEAST_THREAD_STACK, Stack, StackSize, ThreadStack};
pub use table::OPTIONS;
pub use texts::TEXT_ROOM;
pub use value::{Form, Kind, LARGEST_CELL, LARGEST_SIZE, M, SWITCH_OFF, SWITCH_ON, Value, Word};
pub use where_set::WhereSet;
