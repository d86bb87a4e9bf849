//! The flags that `tune` and `compare` have in common.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;
use underbar_shown::door::{self, Form};

use clap::{Args, ValueEnum};
use underbar_verdict::compare::CONFIDENCE;
use underbar_verdict::interval::pairs_needed;
use underbar_verdict::plan::MAXIMUM_ROUNDS;
use underbar_verdict::sample::Measure;

use super::{Stop, files};
use crate::say::{Color, Kind, say};
use crate::shared::{OptsBase, Shared};

/// How trials are made.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Rounds, each one run of every arm, in a random order [default: 15, or as many as --time allows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAXIMUM_ROUNDS as u64))]
    pub runs: Option<u64>,

    /// Time limit for all rounds, such as 90s, 5m or 1h; sets the number of rounds in advance, at most 200
    #[arg(long, value_name = "DURATION", value_parser = duration, conflicts_with = "runs")]
    pub time: Option<Duration>,

    /// A run that takes longer is ended and counts as failed
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub timeout: Option<Duration>,

    /// The measure that decides
    #[arg(long, value_enum, value_name = "MEASURE", default_value_t = Primary::Cpu)]
    pub primary: Primary,

    /// A shell command before each run, not measured and not limited by --timeout
    #[arg(long, value_name = "COMMAND")]
    pub setup: Option<String>,

    /// A shell command after each run, not measured and not limited by --timeout
    #[arg(long, value_name = "COMMAND")]
    pub cleanup: Option<String>,

    /// For servers: a shell command that is run once the program is ready. Measured are the program's CPU time,
    /// memory and faults, and this command's elapsed time; then the program is sent SIGTERM
    #[arg(long, value_name = "COMMAND")]
    pub load: Option<String>,

    /// The program is ready when this shell command succeeds [default: when that of --load does]
    #[arg(long, value_name = "COMMAND", requires = "load")]
    pub ready: Option<String>,

    /// A file that the program writes. The arms' files must be equal, as their standard outputs must
    #[arg(long, value_name = "FILE")]
    pub check: Vec<PathBuf>,

    /// The exit code of a run that succeeds
    #[arg(long, value_name = "CODE", default_value_t = 0, value_parser = clap::value_parser!(i32).range(0..=255))]
    pub expect: i32,

    /// Seed of the order of runs; the same seed gives the same order
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// A file of run-time options for all arms but plain; --opts is stronger
    #[arg(long, value_name = "FILE")]
    pub opts_file: Option<PathBuf>,

    /// Base defaults, which every other option overrides
    #[arg(long, value_enum, value_name = "BASE", default_value_t = OptsBase::Underbar)]
    pub opts_base: OptsBase,

    /// Print the result as one JSON object, with the figures of every run
    #[arg(long)]
    pub json: bool,

    /// Say nothing but the result, warnings and errors
    #[arg(short, long)]
    pub quiet: bool,

    /// When messages are coloured
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub color: Color,
}

/// Measures that can decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Primary {
    /// CPU time, user and system
    Cpu,
    /// Time from start to end
    Elapsed,
    /// Peak of resident memory
    Rss,
    /// Page faults
    Faults,
}

impl From<Primary> for Measure {
    fn from(primary: Primary) -> Measure {
        match primary {
            Primary::Cpu => Measure::Cpu,
            Primary::Elapsed => Measure::Elapsed,
            Primary::Rss => Measure::PeakRss,
            Primary::Faults => Measure::Faults,
        }
    }
}

impl Flags {
    /// Writes a message on standard error.
    pub fn say(&self, kind: Kind, message: impl std::fmt::Display) {
        say(self.color, kind, message);
    }

    /// Warns before the first run of results that so few runs cannot give.
    pub fn warn_of_few_runs(&self) {
        let needed = pairs_needed(CONFIDENCE);
        // Each of the three secondary measures has a wider interval.
        let needed_beside = pairs_needed(1.0 - (1.0 - CONFIDENCE) / 3.0);
        let lost = match self.runs.map(|runs| usize::try_from(runs).unwrap_or(usize::MAX)) {
            Some(runs) if runs < needed => format!("a verdict, which needs {needed}"),
            Some(runs) if runs < needed_beside => {
                format!("the measures beside the primary one, which need {needed_beside}")
            }
            _ => return,
        };
        self.say(Kind::Warning, format_args!("--runs: so few rounds are not enough for {lost}"));
    }

    /// Reads standard input, and prints a line if another process writes it. First checks for faults that would make all runs
    /// useless.
    pub fn input(&self) -> Result<File, Stop> {
        files::can_be_compared(&self.check).map_err(Stop::NoFile)?;
        let input = files::input(|| {
            if !self.quiet {
                let words =
                    "reading standard input to its end, for every run; </dev/null where there is none";
                let _ = door::to_error(Form::Text, &format!("underbar: {words}\n"));
            }
        })?;
        Ok(input)
    }

    /// The flags that all commands share, with the options of one arm.
    pub fn shared(&self, opts: Option<String>) -> Shared {
        Shared {
            opts,
            opts_file: self.opts_file.clone(),
            opts_base: self.opts_base,
            output: None,
            json: self.json,
            quiet: self.quiet,
            color: self.color,
        }
    }
}

/// `90`, `90s`, `1.5m`, `2h`, `500ms`; more than zero and less than a year.
pub fn duration(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, f64); 4] = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3_600.0)];
    const YEAR: f64 = 365.0 * 86_400.0;
    let (digits, unit) = UNITS
        .iter()
        .find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, *seconds)))
        .unwrap_or((text, 1.0));
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match digits.parse::<f64>() {
        Ok(number) if plain && number * unit > 0.0 && number * unit < YEAR => {
            Ok(Duration::from_secs_f64(number * unit))
        }
        _ => Err("a duration is a number above 0, below a year, and ms, s, m or h, such as 90s".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        let check = |text: &str, milliseconds: u64| {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        };
        check("90", 90_000);
        check("90s", 90_000);
        check("1.5m", 90_000);
        check("2h", 7_200_000);
        check("500ms", 500);
        for wrong in ["", "s", "-1s", "0", "0.0s", "1d", "1e3", "inf", "nan", "99999999h", "1 s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
