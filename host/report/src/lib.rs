//! Ledger to report, report to text and JSON, the difference of two reports.
//!
//! ```text
//! ledger bytes + facts of the launch -> Report -> summary   20 lines for a person
//!                                         |   \-> le        the documented storage report
//!                                         |    \> JSON      exact, schema "underbar.report/1"
//!                                         \-> diff -> gate  two reports; a decision for CI
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`model`] | the report: run, options, host, tree, one section for each process |
//! | [`program`] | the processes of one program, together |
//! | [`fault`] | why underbar ended a process |
//! | [`figures`] | the counters of one process or of a sum, by key |
//! | [`absent`] | figures of the storage report that have no counterpart here |
//! | [`tree`] | figures of the whole tree of processes, and their table |
//! | [`steps`] | the figures that the kernel gives for the whole run, and their table |
//! | [`gather`] | makes a report from a ledger |
//! | [`read`] | reads a saved report, and explains one that cannot be read |
//! | [`schema`] | the JSON schema, derived from the tables |
//! | [`json_schema`] | the pieces of all JSON schemas, and the check of a value |
//! | [`units`] | numbers for people |
//! | [`timing`] | step timings in words |
//! | [`summary`] | the default text |
//! | [`memory`] | its lines about the owners of memory |
//! | `next` | its last line: the next command to type |
//! | [`remedies`] | what a run did not show, and the remedies |
//! | [`page`] | its lines: width and colours |
//! | [`every`] | every figure in one view |
//! | [`le`] | the Language Environment layout |
//! | [`lock`] | locks: which threads waited for which lock, and for which holder |
//! | [`locks`], [`spread`] | the locks of one process as a part of the report; percentiles of their waits |
//! | [`sizes`], [`request_sizes`] | requests by size; their lines |
//! | [`ecbs`], [`ecb_pairs`], [`ecb_lines`], `ecb_sums`, [`ztpf`] | classes of ECBs, also by name-value pairs; their lines; their figures in comparisons; their reports in the layouts of z/TPF |
//! | [`ecb_trace`] | the last requests of threads in ECBs |
//! | [`switches`], [`switch_costs`], [`switch_lines`] | entries to the kernel by component; their time on this machine; their lines |
//! | [`buffers`], [`bus`], `cache_lines` | buffers of print and work files; the BUS report; their lines in the summary |
//! | [`over_time`], [`course_recorder`], `over_time_lines` | figures over time; how looks become them; their lines |
//! | [`pools`], `pool_lines` | heap pools, and requests by ranges of 8 bytes; their lines |
//! | [`storage`], [`supply`], [`ecb_figures`], [`pool_figures`], [`switch_figures`], [`cache_figures`] | storage areas, how the heap served requests, classes of ECBs, heap pools, switches and caches, for rules that read the model |
//! | [`diff`], [`gate`] | two reports, figure by figure; `--fail-on` |
//! | [`manual`] | the manual's list of counters |
//!
//! Invariant: everything shown comes from the report; nothing here asks the system or a clock.
//! Not here: suggestions (`advise`; they arrive as words), running programs (`launch`).
#![forbid(unsafe_code)]

pub mod absent;
pub mod buffers;
pub mod bus;
pub mod cache_figures;
mod cache_lines;
mod class_lines;
pub mod course_recorder;
pub mod diff;
pub mod ecb_figures;
pub mod ecb_lines;
pub mod ecb_pairs;
mod ecb_sums;
pub mod ecb_trace;
pub mod ecbs;
pub mod every;
pub mod fault;
mod fetch_lines;
mod figure_paths;
pub mod figures;
mod file_name;
pub mod gate;
pub mod gather;
pub mod glossary;
mod hand_over_lines;
pub mod heap;
mod heap_sizes;
pub mod heaps;
pub mod json_schema;
pub mod le;
mod library_call_lines;
pub mod library_calls;
pub mod lock;
pub mod locks;
pub mod manual;
pub mod memory;
pub mod model;
mod next;
pub mod over_time;
mod over_time_lines;
pub mod page;
pub mod pool_figures;
mod pool_lines;
pub mod pools;
pub mod program;
pub mod projection;
pub mod read;
pub mod remedies;
pub mod request_sizes;
pub mod schema;
pub mod sizes;
pub mod spread;
pub mod start_lines;
pub mod steps;
pub mod storage;
pub mod suggestion;
pub mod summary;
pub mod supply;
pub mod switch_costs;
pub mod switch_figures;
pub mod switch_lines;
pub mod switches;
pub mod timing;
pub mod tree;
pub mod units;
pub mod ztpf;

#[cfg(any(test, feature = "sample"))]
pub mod sample;
#[cfg(any(test, feature = "sample"))]
pub mod shipped;

pub use figures::Figures;
pub use gather::Facts;
pub use model::{Allocator, End, Host, OptionInForce, Options, Process, Report, Role, Run, State, Tree};
pub use program::Program;
pub use read::ReadError;
pub use steps::Steps;
