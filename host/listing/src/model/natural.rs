//! The data that are read from listings of Natural and Adabas.
//!
//! Invariant: every size is in bytes, every figure has its line; a figure with two different printed values is
//! *likely* at most.
//! Not here: how they are found.

use serde::Serialize;

use super::{Doubt, Doubtful, Evidence, Figure};

/// Something of Natural or Adabas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "natural")]
pub enum Natural {
    /// Buffer usage statistics.
    Buffers(Box<BufferUsage>),
    /// Profile parameters, or parameters of ADARUN.
    Parameters(ParameterText),
    /// Records, switches and processor time of one way, or of two next to each other.
    Switches(SwitchTable),
    /// The clause MULTI-FETCH of a statement.
    Fetch(FetchClause),
}

impl Natural {
    /// Its doubts.
    #[must_use]
    pub fn doubts(&self) -> &[Doubt] {
        match self {
            Self::Buffers(report) => &report.doubts,
            Self::Parameters(text) => &text.doubts,
            Self::Switches(_) | Self::Fetch(_) => &[],
        }
    }
}

/// One buffer of a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BufferRow {
    /// Its name, in capitals.
    pub name: String,
    /// V is of variable size, F fixed, P physical.
    pub kind: char,
    /// Its size, in bytes.
    pub size: u64,
    /// In use when the report was made, in bytes.
    pub used: u64,
    /// The most that was in use, in bytes, if its percentage agrees.
    pub max_used: Option<u64>,
    /// Its place in the listing.
    pub evidence: Evidence,
}

/// The use of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    /// All print files.
    Print,
    /// READ WORK FILE, one for each file.
    Read,
    /// WRITE WORK FILE, all files.
    Write,
}

impl BufferRow {
    /// Its use, if it is one of the caches of print and work files.
    #[must_use]
    pub fn cache(&self) -> Option<Cache> {
        match self.name.strip_prefix("WCACHE") {
            // The letter; a zero in its place is read as the letter.
            Some("O" | "0") => Some(Cache::Write),
            Some(number) if number.len() == 2 && number.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(Cache::Read)
            }
            _ => (self.name == "PCACHE").then_some(Cache::Print),
        }
    }
}

/// The storage thread: the lines below the buffers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ThreadUse {
    /// Size of the thread, from a line in K; 0 means no thread.
    pub thread: Option<Figure>,
    /// All buffers together.
    pub total: Option<Figure>,
    /// In use when the report was made.
    pub used: Option<Figure>,
    /// The most that was in use.
    pub max_used: Option<Figure>,
}

/// One report of buffer usage statistics (BUS).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BufferUsage {
    /// The user.
    pub user: Option<String>,
    /// Date and time, as printed.
    pub date: Option<String>,
    /// Whether underbar printed it, of a run on Linux: its buffers are caches of files, and no session has a thread.
    #[serde(skip)]
    pub is_of_linux: bool,
    /// Its first and last line.
    pub lines: (u64, u64),
    /// Its buffers.
    pub rows: Vec<BufferRow>,
    /// The number of unreadable buffers.
    pub rows_left: u64,
    /// Its thread.
    pub thread: Option<ThreadUse>,
    /// Its doubts.
    pub doubts: Vec<Doubt>,
}

impl BufferUsage {
    /// False if the figures must not be used.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.doubts.iter().all(|doubt| !doubt.kind.spoils_the_report())
    }

    /// Whether a buffer without a row did not exist: nothing is cut, and every row was read.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.rows_left == 0 && self.doubts.iter().all(|doubt| doubt.kind != Doubtful::Cut)
    }
}

/// The carrier of parameters. Earlier ones in this list override later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterCarrier {
    /// Dynamic parameters: PARM of a step, CMPRMIN, or a bare line.
    Dynamic,
    /// A set of dynamic parameters in the parameter module (NTSYS), activated by SYS=.
    Set,
    /// Macros of the parameter module.
    Module,
    /// Statements of ADARUN.
    Adarun,
}

impl ParameterCarrier {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Dynamic => "dynamic parameters",
            Self::Set => "a set of parameters (NTSYS)",
            Self::Module => "the parameter module",
            Self::Adarun => "ADARUN",
        }
    }
}

/// One parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// Its name, as the reference has it.
    pub name: &'static str,
    /// Its value in capitals and without blanks, with its parentheses.
    pub value: String,
    /// Its place in the listing.
    pub evidence: Evidence,
}

impl Parameter {
    /// The value, if it is one number.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        self.value.parse().ok()
    }

    /// The parts between the outer parentheses, separated by commas; a bare value is one part.
    #[must_use]
    pub fn parts(&self) -> Vec<&str> {
        let inner = self.value.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        crate::words::sub_options(inner.unwrap_or(&self.value))
    }

    /// The value of a keyword in it.
    #[must_use]
    pub fn keyword(&self, name: &str) -> Option<&str> {
        self.parts().into_iter().find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
    }
}

/// A group of parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ParameterText {
    /// Their carrier.
    pub carrier: ParameterCarrier,
    /// The known ones, in order.
    pub rows: Vec<Parameter>,
    /// The ones with unreadable values: their settings are unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Parameter>,
    /// Their start.
    pub evidence: Evidence,
    /// Its doubts.
    pub doubts: Vec<Doubt>,
}

/// The unit that a table of switches counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Records read.
    Read,
    /// Lines written.
    Written,
}

/// One way in a table of switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Way {
    /// Records read, or lines written.
    pub records: u64,
    /// Switches into SRB mode.
    pub switches: u64,
    /// Processor time of the enclave, in milliseconds.
    pub cpu: Option<u64>,
}

/// Records, switches and processor time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SwitchTable {
    /// What is counted.
    pub counted: Counted,
    /// The heading above, if there is one.
    pub heading: Option<Evidence>,
    /// One way, or two next to each other: before and after.
    pub ways: Vec<Way>,
    /// Its lines.
    pub evidence: Vec<Evidence>,
}

/// The number of records of one fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Factor {
    /// ON: Natural chooses.
    On,
    /// OFF.
    Off,
    /// A number.
    Of(u64),
    /// A variable.
    Variable,
}

/// The clause MULTI-FETCH of a statement in a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FetchClause {
    /// The factor.
    pub factor: Factor,
    /// Its place in the listing.
    pub evidence: Evidence,
}

/// Adds a doubt, unless there are too many or it is there already. A doubt that spoils a report is always added.
pub(crate) fn doubt(doubts: &mut Vec<Doubt>, kind: Doubtful, line: u64, words: String) {
    const MOST: usize = 100;
    let doubt = Doubt { kind, line, words };
    let first = kind.spoils_the_report() && doubts.iter().all(|known| known.kind != kind);
    if first || (doubts.len() < MOST && !doubts.contains(&doubt)) {
        doubts.push(doubt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_known_by_name() {
        let check = |name: &str, cache| {
            let row = BufferRow {
                name: name.into(),
                kind: 'V',
                size: 1,
                used: 0,
                max_used: None,
                evidence: Evidence { line: 1, text: String::new() },
            };
            assert_eq!(row.cache(), cache, "{name}");
        };
        check("PCACHE", Some(Cache::Print));
        check("WCACHEO", Some(Cache::Write));
        check("WCACHE01", Some(Cache::Read));
        for other in ["WCACHE", "WCACHEO1", "WCACHE1", "PCACHE1", "ESIZE"] {
            check(other, None);
        }
    }

    #[test]
    fn values_have_parts() {
        let evidence = Evidence { line: 1, text: String::new() };
        let one = Parameter { name: "ZIIP", value: "(ON,PWCSIZE=(300,200,300),STAT=ON)".into(), evidence };
        assert_eq!(one.parts(), ["ON", "PWCSIZE=(300,200,300)", "STAT=ON"]);
        assert_eq!(one.keyword("PWCSIZE"), Some("(300,200,300)"));
        assert_eq!(one.keyword("PWC"), None);
        assert_eq!(one.number(), None);
    }
}
