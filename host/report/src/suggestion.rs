//! A suggestion, as reports show it.
//!
//! Not here: its rule and its evidence (`advise`), and where it is shown (`summary`, `next`, `lock`).

use underbar_model::Area;

/// A suggestion as the summary shows it; made by `advise`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// Its program, by file name.
    pub program: String,
    /// The area of the summary whose line shows it.
    pub area: Area,
    /// The option to set, or None if nothing is to be changed.
    pub option: Option<String>,
    /// A few words for the column: `no change`, `no heap advice`.
    pub verdict: &'static str,
    /// One sentence with the reason.
    pub reason: String,
    /// Could it do harm? Then `tune` tries it under --risky only.
    pub risky: bool,
    /// Does the option have an effect on Linux? If not, there is nothing to try.
    pub acts: bool,
}
