//! What rules for the accounts of a run look at.

use underbar_report::{Program, Report};

/// What a rule looks at.
pub struct Case<'a> {
    /// The whole report.
    pub report: &'a Report,
    /// The program in question, all of its processes folded.
    pub program: &'a Program,
}
