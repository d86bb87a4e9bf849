//! Storage reports that options reports show as requested: RPTSTG(ON) in force, and where its output goes.
//!
//! Invariant: memory is bounded; [`MOST`] requests are kept.
//! Not here: words about the reports that are missing (`no_report`).

use underbar_listing::{OptionRow, OptionsReport};

/// At most this many options reports with RPTSTG(ON) are kept.
const MOST: usize = 100;
/// The ddname if MSGFILE names none.
pub(super) const SYSOUT: &str = "SYSOUT";

/// The requests of all listings.
#[derive(Default)]
pub(super) struct ReportRequests(Vec<ReportRequest>);

impl ReportRequests {
    /// Takes the request of an options report, if it shows one.
    pub fn take(&mut self, file: usize, report: &OptionsReport) {
        if self.0.len() < MOST {
            self.0.extend(ReportRequest::of(file, report));
        }
    }

    /// The requests, in the order of the listings.
    pub fn all(&self) -> &[ReportRequest] {
        &self.0
    }
}

/// An options report that shows RPTSTG(ON) in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReportRequest {
    /// The number of the file.
    pub file: usize,
    /// The enclave, if the report names one.
    pub enclave: Option<String>,
    /// The line of RPTSTG.
    pub line: u64,
    /// The ddname of MSGFILE and its line, if this report shows them.
    pub message_file: Option<(String, u64)>,
    /// Whether the program is a 64-bit one.
    pub is_64bit: bool,
}

impl ReportRequest {
    /// None if the report does not show RPTSTG(ON).
    fn of(file: usize, report: &OptionsReport) -> Option<Self> {
        let row = |name: &str| report.rows.iter().rev().find(|row| row.name == name && !row.negative);
        let first = |row: &OptionRow| row.sub_options().first().map(|value| (*value).to_owned());
        let asked = row("RPTSTG").filter(|row| first(row).is_some_and(|on| on.eq_ignore_ascii_case("ON")))?;
        let message_file = row("MSGFILE").map(|row| {
            let named = first(row).filter(|name| !name.is_empty());
            (named.unwrap_or_else(|| SYSOUT.to_owned()), row.evidence.line)
        });
        Some(Self {
            file,
            enclave: report.enclave.clone().filter(|name| !name.is_empty()),
            line: asked.evidence.line,
            message_file,
            is_64bit: row("STACK64").is_some() && row("STACK").is_none(),
        })
    }
}
