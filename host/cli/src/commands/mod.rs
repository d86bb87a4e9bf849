//! The commands, one file each. The table below is the only one: help, completions and the man page are made
//! from it.

pub mod advise;
pub mod compare;
pub mod completions;
pub mod demo;
pub mod diff;
pub mod doctor;
pub mod exec;
pub mod explain;
pub mod lib;
pub mod man;
pub mod options;
pub mod profile;
pub mod report;
pub mod run;
pub mod tune;

use clap::Subcommand;

use crate::OWN_FAILURE;
use crate::exit::ExitCode;
use crate::printing::NO_ANSWER;

/// What the command can do.
#[derive(Subcommand)]
pub enum Command {
    /// Run a program and report on it when it has ended
    Run(run::Run),
    /// Run a program of a library: LIBRARY(PROGRAM)
    Exec(exec::Exec),
    /// Run a program, and say at which of its instructions the time went
    Profile(profile::Profile),
    /// Measure a program, follow the suggestions, and say by paired reruns whether they help
    Tune(Box<tune::Tune>),
    /// The same program under two or more sets of options, alternating, with intervals
    Compare(Box<compare::Compare>),
    /// Repeat an experiment of the documents on this machine
    Demo(demo::Demo),
    /// Print a saved report again
    Report(report::Report),
    /// Compare two saved reports; a gate for builds
    Diff(diff::Diff),
    /// Suggest options from saved reports, and from listings of z/OS, z/TPF and Natural
    Advise(advise::Advise),
    /// Check an option text, and show what is in force
    Options(options::Options),
    /// Say what an option, a figure or a rule means
    Explain(explain::Explain),
    /// Make, change and survey program libraries
    Lib(lib::Lib),
    /// Say what will and will not work here, and why
    Doctor(doctor::Doctor),
    /// Write a script that completes commands and flags in a shell
    Completions(completions::Completions),
    /// Write the manual pages
    Man(man::Man),
}

/// Commands that run no program of the user's in his place: wrong usage of them is exit status 2.
const ANSWERING: [&str; 12] = [
    "tune",
    "compare",
    "demo",
    "report",
    "diff",
    "advise",
    "options",
    "explain",
    "lib",
    "doctor",
    "completions",
    "man",
];

/// The exit status of wrong usage, by the first word behind `underbar`.
pub fn usage_status(word: Option<&str>) -> u8 {
    if word.is_some_and(|word| ANSWERING.contains(&word)) { NO_ANSWER } else { OWN_FAILURE }
}

impl Command {
    /// Does it.
    pub fn run(self) -> ExitCode {
        match self {
            Command::Run(run) => run.run(),
            Command::Exec(exec) => exec.run(),
            Command::Profile(profile) => profile.run(),
            Command::Tune(tune) => tune.run(),
            Command::Compare(compare) => compare.run(),
            Command::Demo(demo) => demo.run(),
            Command::Report(report) => report.run(),
            Command::Diff(diff) => diff.run(),
            Command::Advise(advise) => advise.run(),
            Command::Options(options) => options.run(),
            Command::Explain(explain) => explain.run(),
            Command::Lib(lib) => lib.run(),
            Command::Doctor(doctor) => doctor.run(),
            Command::Completions(completions) => completions.run(),
            Command::Man(man) => man.run(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answering_commands_are_commands() {
        let table = <Command as Subcommand>::augment_subcommands(clap::Command::new("underbar"));
        for name in ANSWERING {
            assert!(table.get_subcommands().any(|command| command.get_name() == name), "{name}");
            assert_eq!(usage_status(Some(name)), NO_ANSWER);
        }
        assert_eq!((usage_status(Some("run")), usage_status(None)), (OWN_FAILURE, OWN_FAILURE));
    }
}
