//! One look at all processes that keep accounts.
//!
//! A look is a line of `--json` and of a recording: the structs here are its schema, `underbar.top/1`.
//!
//! Invariant: integers are bytes, nanoseconds, counts, and counts in a second; no floats. Null means not known: a rate at the first look,
//! the memory of a process that /proc does not show, the switches of one that does not count them. Within version 1, keys are only added.
//! Not here: how a look is taken ([`crate::watch`]).

use serde::{Deserialize, Serialize};

/// Name and version of the form of a look in JSON.
pub const SCHEMA: &str = "underbar.top/1";

/// The processes at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// [`SCHEMA`].
    pub schema: String,
    /// When: nanoseconds since 1970-01-01 00:00 UTC.
    pub at_unix_ns: u64,
    /// The same moment in nanoseconds since the machine was started (CLOCK_BOOTTIME).
    pub at_ns: u64,
    /// Ledgers of these processes.
    #[serde(default)]
    pub ledgers: u64,
    /// Ledgers that this version cannot read, or that are damaged.
    #[serde(default)]
    pub unreadable: u64,
    /// The processes, in the order of their start.
    pub processes: Vec<Row>,
}

/// Is the process there?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It runs.
    #[default]
    Running,
    /// It has ended since an earlier look; the figures are its last ones.
    Ended,
}

/// One process. All counts are since its program began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The name of its ledger, for `underbar report`; the path of a ledger outside the folders of runs.
    pub ledger: String,
    /// The name by which its program was started, or its file's name. Bytes that are no UTF-8 are replaced.
    pub program: String,
    /// Its number, in its own namespace of process numbers.
    pub process: u32,
    /// Its number here, if it has a namespace of its own and /proc shows it; else null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number_here: Option<u32>,
    /// The user whose ledger it is.
    #[serde(default)]
    pub user: u32,
    /// Is it there?
    pub state: State,
    /// When its program began, in nanoseconds since the machine was started.
    pub began_ns: u64,
    /// Heap storage in use.
    pub heap_used_bytes: u64,
    /// The most at one time.
    pub heap_peak_bytes: u64,
    /// Address space in the heap's segments.
    pub segment_bytes: u64,
    /// Resident memory of the process, all of it.
    pub resident_bytes: Option<u64>,
    /// Its threads.
    pub threads: Option<u64>,
    /// Its CPU time.
    pub cpu_ns: Option<u64>,
    /// Requests for heap storage that were served.
    pub requests: u64,
    /// Acquisitions of locks that had to wait.
    pub lock_waits: u64,
    /// The time of these waits.
    pub lock_wait_ns: u64,
    /// Its entries to the kernel; null without SWITCHES(ON).
    pub switches: Option<u64>,
    /// Requests in a second, since the look before.
    pub requests_per_s: Option<u64>,
    /// Waits for locks in a second.
    pub lock_waits_per_s: Option<u64>,
    /// Entries to the kernel in a second.
    pub switches_per_s: Option<u64>,
    /// CPU time in thousandths of a processor.
    pub cpu_per_mille: Option<u64>,
    /// The options of its run. In a recording, only at its first look.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub options: String,
    /// Its arguments, beginning with its own name, cut to the room in the ledger. In a recording, only at its first look.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
}

/// What makes a process the same in two looks.
pub type Who = (String, u32, u64);

impl Row {
    /// Which process it is.
    #[must_use]
    pub fn who(&self) -> Who {
        (self.ledger.clone(), self.process, self.began_ns)
    }

    /// Does it run?
    #[must_use]
    pub fn runs(&self) -> bool {
        self.state == State::Running
    }

    /// Takes the rates from what an earlier look, so long before, had of the same process.
    pub(crate) fn rate_since(&mut self, earlier: &Row, over_ns: u64) {
        if over_ns == 0 {
            return;
        }
        let rate = |now: u64, before: u64, of: u128| {
            let more = u128::from(now.saturating_sub(before));
            u64::try_from(more * of / u128::from(over_ns)).unwrap_or(u64::MAX)
        };
        const SECOND: u128 = 1_000_000_000;
        self.requests_per_s = Some(rate(self.requests, earlier.requests, SECOND));
        self.lock_waits_per_s = Some(rate(self.lock_waits, earlier.lock_waits, SECOND));
        self.cpu_per_mille = self.cpu_ns.zip(earlier.cpu_ns).map(|(now, before)| rate(now, before, 1_000));
    }
}

impl Look {
    /// The running processes.
    pub fn running(&self) -> impl Iterator<Item = &Row> {
        self.processes.iter().filter(|row| row.runs())
    }

    /// The sum of a figure over the running processes.
    #[must_use]
    pub fn sum(&self, figure: impl Fn(&Row) -> Option<u64>) -> u64 {
        self.running().filter_map(figure).fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_what_came_since_in_a_second() {
        let row = |requests, cpu_ns| Row { requests, cpu_ns, ..Row::default() };
        let mut now = row(3_000, Some(700_000_000));
        now.rate_since(&row(1_000, Some(200_000_000)), 2_000_000_000);
        assert_eq!((now.requests_per_s, now.cpu_per_mille), (Some(1_000), Some(250)));
        let mut unknown = row(5, None);
        unknown.rate_since(&row(9, Some(1)), 1_000_000_000);
        assert_eq!((unknown.requests_per_s, unknown.cpu_per_mille), (Some(0), None), "a count never falls");
        let mut first = row(5, Some(5));
        first.rate_since(&row(1, Some(1)), 0);
        assert_eq!(first.requests_per_s, None);
    }

    #[test]
    fn a_look_is_read_back_as_it_was_written_and_new_keys_are_passed_over() {
        let row = Row { program: "\u{1b}[2J".to_owned(), switches: Some(3), ..Row::default() };
        let look = Look { schema: SCHEMA.to_owned(), processes: vec![row], ..Look::default() };
        let text = serde_json::to_string(&look).expect("plain data");
        assert_eq!(serde_json::from_str::<Look>(&text).expect("its own"), look);
        let newer = text.replacen('{', "{\"new\":[1],", 1);
        assert_eq!(serde_json::from_str::<Look>(&newer).expect("a newer one"), look);
    }
}
