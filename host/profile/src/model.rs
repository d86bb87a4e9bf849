//! A profile: what was run, and every instruction at which it was met.
//!
//! Invariant: `samples` is the sum of the counts of all instructions; those are in the order of the table, most first,
//! program by program and function by function.

use serde::Serialize;

/// Name and version of the form that it has in JSON.
pub const SCHEMA: &str = "underbar.profile/1";

/// Who takes the samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The kernel, on its own clock, in user mode.
    #[default]
    Perf,
    /// A timer of CPU time in each thread, and a signal.
    Timer,
}

impl By {
    /// The clock that samples.
    #[must_use]
    pub fn event(self) -> &'static str {
        match self {
            By::Perf => "task-clock",
            By::Timer => "thread-timer",
        }
    }

    /// What is sampled.
    #[must_use]
    pub fn mode(self) -> &'static str {
        match self {
            By::Perf => "user",
            By::Timer => "user and kernel",
        }
    }
}

/// What the profile is of.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Facts {
    /// The program that was started, as it was named.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Samples in a second of CPU time that were asked for.
    pub rate_hz: u64,
    /// Who took them.
    pub sampler: By,
    /// What is to be known of them: why this sampler, what it cannot see, what was missed.
    pub notes: Vec<String>,
    /// Were samples left where they were taken?
    pub raw: bool,
    /// From start to end, nanoseconds.
    pub elapsed_ns: u64,
    /// CPU time in user mode, as the kernel accounts it, nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, which perf does not sample, nanoseconds.
    pub system_ns: u64,
}

/// An instruction and how often it was met.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The file that it is in, or what the kernel calls it.
    pub program: String,
    /// The function, or the section in brackets; null where there are no symbols.
    pub function: Option<String>,
    /// Bytes from the start of the function; where there is none, the address.
    pub displacement: u64,
    /// Its address in the file, as `nm` and `objdump` show it; where nothing is known of the file, as it was in memory.
    pub address: u64,
    /// The instruction as text; null where its bytes are not known.
    pub instruction: Option<String>,
    /// Source file and line, where the file says; else null.
    pub line: Option<String>,
    /// Samples.
    pub count: u64,
    /// How many of them were taken at the instruction behind it, which waited for this one.
    pub charged: u64,
    /// Its part of all samples, percent.
    pub percent: f64,
}

/// A profile.
#[derive(Clone, Debug, Serialize)]
pub struct Profile {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The version of underbar.
    pub underbar: &'static str,
    /// The clock that samples: [`By::event`].
    pub event: &'static str,
    /// What is sampled: [`By::mode`].
    pub mode: &'static str,
    /// What was run.
    #[serde(flatten)]
    pub facts: Facts,
    /// Samples in a second of the CPU time that is sampled, as it came out.
    pub true_rate_hz: f64,
    /// All samples.
    pub samples: u64,
    /// Records that found no room, so samples or mappings that are missing.
    pub lost: u64,
    /// How often the kernel held back.
    pub throttled: u64,
    /// Processes that were met.
    pub processes: u64,
    /// Threads that were met.
    pub threads: u64,
    /// Every instruction that was met.
    pub instructions: Vec<Row>,
}

impl Profile {
    /// As JSON, one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Nothing in it can fail to be written: no maps, no numbers that JSON lacks.
        let text = serde_json::to_string(self).unwrap_or_default();
        text + "\n"
    }
}

/// Samples in a second of CPU time, to one place; 0 where there was none.
#[must_use]
pub fn true_rate(samples: u64, facts: &Facts) -> f64 {
    let sampled_ns = match facts.sampler {
        By::Perf => facts.user_ns,
        By::Timer => facts.user_ns + facts.system_ns,
    };
    if sampled_ns == 0 { 0.0 } else { (samples as f64 * 1e10 / sampled_ns as f64).round() / 10.0 }
}

/// A part of a whole, percent, to two places.
#[must_use]
pub fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 * 10_000.0 / whole as f64).round() / 100.0 }
}
