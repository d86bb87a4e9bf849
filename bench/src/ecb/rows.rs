//! The rows: what is measured, by which program, and which arms take part.
//!
//! Not here: the arms (`arenas`), and what the figures should be (`goals`).

use super::arenas::{Arm, FLOOR, Ready, Way};
use super::script;
use crate::Error;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

/// The figures that a program printed, by name.
pub type Figures = BTreeMap<String, u64>;

/// What a row measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Units of mixed requests, one after another.
    Unit,
    /// The same, many at a time.
    Several,
    /// The requests of a TLS handshake, as units.
    Handshake,
    /// Threads that share one arena.
    Threads,
    /// A hundred thousand units.
    Live,
    /// Buffers found by name, among so many.
    Locate(usize),
    /// TLS: handshakes, then messages.
    Tls,
}

/// A figure of a row.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// Its key in files.
    pub key: &'static str,
    /// Its heading in the table.
    pub heading: &'static str,
    /// Its unit; less is better.
    pub unit: &'static str,
    /// The figure of a sample.
    pub value: fn(&Figures) -> Option<f64>,
}

/// A row.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// What it measures.
    pub what: What,
    /// Its key in files and on the command line.
    pub key: &'static str,
    /// Its heading in the table.
    pub about: &'static str,
    /// Turns in a sample.
    pub turns: usize,
    /// Its figures, the primary one first.
    pub figures: &'static [Figure],
}

fn each(figures: &Figures, time: &str, count: &str) -> Option<f64> {
    Some((*figures.get(time)?).max(1) as f64 / *figures.get(count)? as f64)
}

const CPU: &[Figure] = &[Figure {
    key: "cpu",
    heading: "CPU of a unit",
    unit: "us",
    value: |figures| each(figures, "cpu_ns", "turns").map(|ns| ns / 1e3),
}];

const THREADED: &[Figure] = &[
    CPU[0],
    Figure {
        key: "elapsed",
        heading: "time of a unit",
        unit: "us",
        value: |figures| each(figures, "elapsed_ns", "turns").map(|ns| ns / 1e3),
    },
];

const MEMORY: &[Figure] = &[
    Figure {
        key: "resident",
        heading: "resident memory to requests",
        unit: "times",
        value: |figures| each(figures, "resident", "requested"),
    },
    CPU[0],
];

const NAMES: &[Figure] = &[Figure {
    key: "cpu",
    heading: "CPU of a locate",
    unit: "ns",
    value: |figures| each(figures, "cpu_ns", "turns"),
}];

const TLS: &[Figure] = &[
    Figure {
        key: "handshake_cpu",
        heading: "CPU of a handshake",
        unit: "us",
        value: |figures| each(figures, "handshake_cpu_ns", "handshakes").map(|ns| ns / 1e3),
    },
    Figure {
        key: "message_time",
        heading: "time of a message",
        unit: "us",
        value: |figures| each(figures, "message_ns", "messages").map(|ns| ns / 1e3),
    },
    Figure {
        key: "message_cpu",
        heading: "CPU of a message",
        unit: "us",
        value: |figures| each(figures, "message_cpu_ns", "messages").map(|ns| ns / 1e3),
    },
];

/// All rows, in the order of the table.
pub const TABLE: &[Row] = &[
    Row {
        what: What::Unit,
        key: "unit",
        about: "create, 200 mixed requests, end",
        turns: 20_000,
        figures: CPU,
    },
    Row {
        what: What::Several,
        key: "several",
        about: "the same, 64 units at a time, ten requests of each in turns",
        turns: 20_000,
        figures: CPU,
    },
    Row {
        what: What::Handshake,
        key: "handshake",
        about: "create, the requests of a TLS handshake (client and server), end",
        turns: 3_000,
        figures: CPU,
    },
    Row {
        what: What::Threads,
        key: "threads",
        about: "four threads in one arena: 100 small pieces got and freed",
        turns: 20_000,
        figures: THREADED,
    },
    Row { what: What::Live, key: "live", about: "100,000 units of 4 KB", turns: 100_000, figures: MEMORY },
    Row {
        what: What::Locate(10),
        key: "locate-10",
        about: "locate, 10 tags",
        turns: 5_000_000,
        figures: NAMES,
    },
    Row {
        what: What::Locate(1_000),
        key: "locate-1000",
        about: "locate, 1,000 tags",
        turns: 5_000_000,
        figures: NAMES,
    },
    Row {
        what: What::Locate(100_000),
        key: "locate-100000",
        about: "locate, 100,000 tags",
        turns: 5_000_000,
        figures: NAMES,
    },
    Row {
        what: What::Tls,
        key: "tls",
        about: "TLS over OpenSSL, two threads: handshakes, then messages of 64 bytes and back",
        turns: 100,
        figures: TLS,
    },
];

/// Units that are alive at a time.
const SEVERAL: usize = 64;
/// Threads in one arena.
pub const THREADS: usize = 4;
/// Messages for each handshake of a TLS sample.
const MESSAGES: usize = 200;

/// The scripts, in files.
#[derive(Debug)]
pub struct Scripts {
    mixed: PathBuf,
    small: PathBuf,
    /// None: there is no TLS driver that could write it.
    handshake: Option<PathBuf>,
    /// Requests of the handshake, other than frees.
    pub handshake_requests: f64,
}

/// Writes the scripts; the TLS driver writes one itself.
///
/// # Errors
/// The system's, and the driver's.
pub fn scripts(ready: &Ready, seed: u64) -> Result<Scripts, Error> {
    let write = |name: &str, text: String| {
        let path = ready.folder.join(name);
        std::fs::write(&path, text).map_err(|error| Error::system(name, &error))?;
        Ok::<PathBuf, Error>(path)
    };
    let mut scripts = Scripts {
        mixed: write("mixed.script", script::mixed(seed))?,
        small: write("small.script", script::small(seed))?,
        handshake: None,
        handshake_requests: 0.0,
    };
    if let Ok(tls) = &ready.tls {
        let path = ready.folder.join("handshake.script");
        // As with ECBs: what is left at the connection's end is the end's, which frees it one by one or at once.
        run(Command::new(tls).env_remove("LD_PRELOAD").args(["--ecb", "SSL", "--trace"]).arg(&path))?;
        let text =
            std::fs::read_to_string(&path).map_err(|error| Error::system("reading a trace", &error))?;
        scripts.handshake_requests = script::requests(&text);
        scripts.handshake = Some(path);
    }
    Ok(scripts)
}

impl Row {
    /// Whether an arm takes part.
    #[must_use]
    pub fn has(&self, arm: &Arm, scripts: &Scripts) -> bool {
        match self.what {
            What::Unit => true,
            What::Handshake => scripts.handshake.is_some(),
            What::Several => !matches!(arm.way, Way::Bump { .. }) && arm.name != FLOOR,
            What::Threads => match arm.way {
                Way::Malloc | Way::Ours => true,
                Way::Arena { is_shared, .. } => is_shared,
                Way::Bump { .. } => false,
            },
            What::Live => match arm.way {
                Way::Malloc | Way::Ours => true,
                Way::Arena { is_small, .. } => is_small,
                Way::Bump { .. } => false,
            },
            What::Locate(_) => arm.way == Way::Ours,
            What::Tls => scripts.handshake.is_some() && matches!(arm.way, Way::Malloc | Way::Ours),
        }
    }

    /// The command of a sample, with so many turns.
    #[must_use]
    pub fn command(&self, arm: &Arm, ready: &Ready, scripts: &Scripts, turns: usize) -> Command {
        let mut command = arm.command();
        let turns = turns.to_string();
        let handshake = || scripts.handshake.clone().unwrap_or_default();
        let unit = match arm.way {
            Way::Bump { is_kept: true } => "reset",
            _ => "unit",
        };
        match self.what {
            What::Unit => command.arg(unit).arg(&scripts.mixed).arg(turns),
            What::Handshake => command.arg(unit).arg(handshake()).arg(turns),
            What::Several => command.arg("several").arg(&scripts.mixed).args([turns, SEVERAL.to_string()]),
            What::Threads => command.arg("threads").arg(&scripts.small).args([turns, THREADS.to_string()]),
            What::Live => command.args(["live", &turns]),
            What::Locate(tags) => command.args(["locate", &tags.to_string(), &turns]),
            What::Tls => {
                let messages = (turns.parse::<usize>().unwrap_or(1) * MESSAGES).to_string();
                command = arm.of(ready.tls.as_deref().unwrap_or(&ready.folder));
                if arm.way == Way::Ours {
                    command.args(["--ecb", "SSL"]);
                }
                command.args(["--handshakes", &turns, "--messages", &messages])
            }
        };
        command
    }
}

/// Runs a command to its end: the lines `NAME=FIGURE` that it printed.
///
/// # Errors
/// It did not start, or did not end well.
pub fn run(command: &mut Command) -> Result<Figures, Error> {
    let done = command.output().map_err(|error| Error::system("starting a run", &error))?;
    let complaint = String::from_utf8_lossy(&done.stderr);
    // If a library cannot be preloaded the loader only prints a complaint: the run would measure glibc.
    if !done.status.success() || complaint.contains("cannot be preloaded") {
        let what = format!("{command:?}: {}: {}", done.status, complaint.trim_end());
        return Err(Error::Workload(what));
    }
    let text = String::from_utf8_lossy(&done.stdout);
    let figures = text.lines().filter_map(|line| {
        let (name, figure) = line.split_once('=')?;
        Some((name.to_owned(), figure.parse().ok()?))
    });
    Ok(figures.collect())
}

#[cfg(test)]
mod tests {
    use super::{Figures, TABLE, run};
    use std::process::Command;

    #[test]
    fn keys_are_unique_and_figures_are_those_of_the_sample() {
        for row in TABLE {
            assert_eq!(TABLE.iter().filter(|other| other.key == row.key).count(), 1, "{}", row.key);
        }
        let figures: Figures =
            [("cpu_ns", 6_000), ("turns", 3)].map(|(name, figure)| (name.to_owned(), figure)).into();
        assert_eq!((TABLE[0].figures[0].value)(&figures), Some(2.0));
        assert_eq!((TABLE[4].figures[0].value)(&figures), None);
    }

    #[test]
    fn only_figures_are_read_and_a_failure_is_an_error() {
        let figures = run(Command::new("printf").arg("a=1\nb=x\nc\nd=2\n")).expect("figures");
        assert_eq!(figures.into_iter().collect::<Vec<_>>(), [("a".to_owned(), 1), ("d".to_owned(), 2)]);
        assert!(run(&mut Command::new("false")).is_err());
    }
}
