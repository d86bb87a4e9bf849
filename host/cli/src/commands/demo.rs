//! `underbar demo [NAME]`: an experiment of the documents, on this machine.
//!
//! Its page goes to standard output: there is no program here that standard output belongs to.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};

use underbar_demo::{DEMOS, Entry, Parameters, Problem};

use crate::embedded;
use crate::exit::ExitCode;
use crate::printing::Printing;

/// A count that must be so is not.
const WRONG_COUNT: u8 = 1;

/// The flags of `demo`.
#[derive(Args)]
#[command(after_help = "Examples:
  underbar demo                         the list of them
  underbar demo getfree
  underbar demo getfree --seed 7        other sizes: every figure moves
  underbar demo keepfree --runs 15 --json

Exit status: 0 all counts are as they must be, 1 one is not, 2 it could not be run. Ratios of times are printed and
change nothing.")]
pub struct Demo {
    #[command(flatten)]
    printing: Printing,

    /// Which one; without a name, the list of them
    #[arg(value_parser = PossibleValuesParser::new(DEMOS.iter().map(|demo| PossibleValue::new(demo.name).help(demo.about))))]
    name: Option<String>,

    /// Seed of all sizes, and of the order of runs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Runs of each row; six or more give ratios an interval
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    runs: Option<u16>,

    /// No progress on standard error
    #[arg(short, long)]
    quiet: bool,
}

impl Demo {
    /// Runs it.
    pub fn run(self) -> ExitCode {
        let Some(entry) = self.name.as_deref().and_then(|name| DEMOS.iter().find(|demo| demo.name == name))
        else {
            return self.printing.print(&self.list(), None, 0);
        };
        match self.find_out(entry) {
            Ok((text, code)) => self.printing.print(&text, None, code),
            Err(problem) => self.printing.fail(format_args!("demo {}: {problem}", entry.name)),
        }
    }

    fn find_out(&self, entry: &Entry) -> Result<(String, u8), Problem> {
        let library = || embedded::library(true);
        let parameters = Parameters {
            seed: self.seed,
            runs: self.runs.map(usize::from),
            quiet: self.quiet,
            library,
            switch_costs: crate::costs::of_switches,
        };
        let output = (entry.run)(&parameters)?;
        let text = if self.printing.json { output.json() } else { output.text() };
        Ok((text, if output.counts_are_right() { 0 } else { WRONG_COUNT }))
    }

    fn list(&self) -> String {
        if self.printing.json {
            let demos: Vec<_> = DEMOS
                .iter()
                .map(|demo| serde_json::json!({"name": demo.name, "about": demo.about}))
                .collect();
            return format!("{}\n", serde_json::json!({"schema": "underbar.demos/1", "demos": demos}));
        }
        DEMOS.iter().map(|demo| format!("{:<14} {}\n", demo.name, demo.about)).collect()
    }
}
