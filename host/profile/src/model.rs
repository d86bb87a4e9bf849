//! A profile: the program that ran, and every sampled instruction.
//!
//! Invariant: `samples` is the sum of the counts of all instructions; those are in the order of the table, most first,
//! program by program and function by function.

use serde::Serialize;

/// Name and version of its JSON form.
pub const SCHEMA: &str = "underbar.profile/1";

/// The sampler.
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

/// The subject of the profile.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Facts {
    /// The program that was started, as given.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Requested samples in a second of CPU time.
    pub rate_hz: u64,
    /// The sampler.
    pub sampler: By,
    /// Notes about the samples: the reason for this sampler, its limits, missed samples.
    pub notes: Vec<String>,
    /// Whether samples were left in their places.
    pub raw: bool,
    /// From start to end, nanoseconds.
    pub elapsed_ns: u64,
    /// CPU time in user mode, as the kernel accounts it, nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, which perf does not sample, nanoseconds.
    pub system_ns: u64,
}

/// An instruction and its samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its file, or the kernel's name for it.
    pub program: String,
    /// The function, or the section in brackets; null without symbols.
    pub function: Option<String>,
    /// Bytes from the start of the function; without one, the address.
    pub displacement: u64,
    /// Its address in the file, as in `nm` and `objdump`; if nothing is known of the file, its address in memory.
    pub address: u64,
    /// The instruction as text; null where its bytes are not known.
    pub instruction: Option<String>,
    /// Source file and line, if the file has them; otherwise null.
    pub line: Option<String>,
    /// Samples.
    pub count: u64,
    /// The part of them that was taken at the next instruction, which waited for this one.
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
    /// Actual samples in a second of the CPU time that is sampled.
    pub true_rate_hz: f64,
    /// All samples.
    pub samples: u64,
    /// Lost records, so missing samples or mappings.
    pub lost: u64,
    /// The number of times that the kernel throttled.
    pub throttled: u64,
    /// Processes with samples.
    pub processes: u64,
    /// Threads with samples.
    pub threads: u64,
    /// Every sampled instruction.
    pub instructions: Vec<Row>,
}

impl Profile {
    /// As JSON, one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Writing cannot fail: there are no maps, and no numbers that JSON lacks.
        let text = serde_json::to_string(self).unwrap_or_default();
        text + "\n"
    }
}

/// Samples in a second of CPU time, to one decimal; 0 if there was none.
#[must_use]
pub fn true_rate(samples: u64, facts: &Facts) -> f64 {
    let sampled_ns = match facts.sampler {
        By::Perf => facts.user_ns,
        By::Timer => facts.user_ns + facts.system_ns,
    };
    if sampled_ns == 0 { 0.0 } else { (samples as f64 * 1e10 / sampled_ns as f64).round() / 10.0 }
}

/// A part of a whole, percent, to two decimals.
#[must_use]
pub fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 * 10_000.0 / whole as f64).round() / 100.0 }
}
