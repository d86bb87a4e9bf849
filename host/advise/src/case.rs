//! The input of rules for the accounts of a run.

use underbar_report::{Program, Report};

/// The input of a rule.
pub struct Case<'a> {
    /// The whole report.
    pub report: &'a Report,
    /// The program, with all of its processes folded together.
    pub program: &'a Program,
}
