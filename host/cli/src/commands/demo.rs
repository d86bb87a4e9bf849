//! `underbar demo [NAME]`: an experiment of the documents, on this machine.
//!
//! Its page goes to standard output: there is no program here that standard output belongs to.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::OWN_FAILURE;
use crate::demo::{Asked, DEMOS, Entry};
use crate::say::{Color, Kind, say};

/// A count that must be so is not.
const WRONG_COUNT: u8 = 1;

/// The flags of `demo`.
#[derive(Args)]
pub struct Demo {
    /// Which one; without a name, the list of them
    #[arg(value_parser = PossibleValuesParser::new(DEMOS.iter().map(|demo| demo.name)))]
    name: Option<String>,

    /// Seed of all sizes, and of the order of runs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Runs of each row; six or more give ratios an interval
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    runs: Option<u16>,

    /// Print figures as one JSON object
    #[arg(long)]
    json: bool,

    /// No progress on standard error
    #[arg(short, long)]
    quiet: bool,
}

impl Demo {
    /// Runs it: 0 where all counts are as they must be, 1 where one is not, 125 where it could not be run.
    pub fn run(self) -> ExitCode {
        let Some(entry) = self.name.as_deref().and_then(|name| DEMOS.iter().find(|demo| demo.name == name))
        else {
            print(&list());
            return ExitCode::SUCCESS;
        };
        match self.find_out(entry) {
            Ok(code) => code,
            Err(problem) => {
                say(Color::Auto, Kind::Error, format_args!("demo {}: {problem}", entry.name));
                ExitCode::from(OWN_FAILURE)
            }
        }
    }

    fn find_out(&self, entry: &Entry) -> Result<ExitCode, crate::demo::Problem> {
        let asked = Asked { seed: self.seed, runs: self.runs.map(usize::from), quiet: self.quiet };
        let output = (entry.run)(&asked)?;
        print(&if self.json { output.json() } else { output.text() });
        Ok(if output.counts_are_right() { ExitCode::SUCCESS } else { ExitCode::from(WRONG_COUNT) })
    }
}

fn list() -> String {
    DEMOS.iter().map(|demo| format!("{:<10} {}\n", demo.name, demo.about)).collect()
}

/// A reader that has gone away is no failure.
fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}
