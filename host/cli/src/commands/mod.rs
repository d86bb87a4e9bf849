//! The commands, one file each. The table below is the only one: parsing, help, completions, the man page and
//! `docs/commands.md` are made from it.
//!
//! Invariant: every command is under exactly one heading of the help (test).

pub mod advise;
pub mod compare;
pub mod completions;
pub mod demo;
pub mod diff;
pub mod doctor;
pub mod exec;
pub mod explain;
pub mod fleet;
pub mod heap;
pub mod lib;
pub mod ls;
pub mod man;
pub mod options;
pub mod profile;
pub mod report;
pub mod run;
pub mod sort;
pub mod top;
pub mod tune;

use clap::{CommandFactory, Subcommand};

use crate::doors::{Door, Row};
use crate::exit::ExitCode;
use crate::printing::NO_ANSWER;
use crate::{Arguments, OWN_FAILURE};

/// Makes the table: a command has a sentence, a name, its flags, its door, and the exit status of wrong usage.
macro_rules! commands {
    ($($(#[$($sentence:tt)+])+ $name:ident($($flags:tt)+): $door:ident, $wrong_usage:ident;)+) => {
        /// What the command can do.
        #[derive(Subcommand)]
        pub enum Command {
            $($(#[$($sentence)+])+ $name($($flags)+),)+
        }

        /// The rows of all commands, in the order of the help.
        pub const ROWS: &[Row] = &[$(Row {
            variant: stringify!($name),
            door: Door::$door,
            wrong_usage: $wrong_usage,
        }),+];

        impl Command {
            /// Runs the command.
            pub fn run(self) -> ExitCode {
                match self {
                    $(Command::$name(flags) => flags.run(),)+
                }
            }
        }
    };
}

commands! {
    /// Run a program and report on it when it has ended
    Run(run::Run): Programs, OWN_FAILURE;
    /// Print the report of the last run, or a saved one
    Report(report::Report): Programs, NO_ANSWER;
    /// List the programs that keep accounts now, and accounts that programs have left
    Ls(ls::Ls): Programs, NO_ANSWER;
    /// Watch programs while they run: heap, memory, requests, locks, switches, CPU time
    Top(top::Top): Programs, NO_ANSWER;
    /// Measure a program, try the suggestions, and decide by paired reruns whether they help
    Tune(Box<tune::Tune>): Programs, NO_ANSWER;
    /// Compare a program under sets of options, or with other allocators, in alternating runs
    Compare(Box<compare::Compare>): Programs, NO_ANSWER;
    /// Compare two saved reports, or two listings; a gate for builds
    Diff(diff::Diff): Programs, NO_ANSWER;
    /// Turn the reports of many machines into lines for a database
    Fleet(fleet::Fleet): Programs, NO_ANSWER;
    /// Run a program and show which of its instructions take the CPU time
    Profile(profile::Profile): Programs, OWN_FAILURE;
    /// Run a program and show which lines request its storage, and what is still in use at the end
    Heap(Box<heap::Heap>): Programs, OWN_FAILURE;
    /// Run a program of a library: LIBRARY(PROGRAM)
    Exec(exec::Exec): Programs, OWN_FAILURE;
    /// Check an option text, and show the options in force
    Options(options::Options): Programs, NO_ANSWER;
    /// Check what works on this machine, and for a program
    Doctor(doctor::Doctor): Programs, NO_ANSWER;
    /// Repeat an experiment of the source documents on this machine
    Demo(demo::Demo): Programs, NO_ANSWER;
    /// Suggest options from listings of z/OS, z/TPF and Natural, and from saved reports
    Advise(advise::Advise): Mainframe, NO_ANSWER;
    /// Create, change and survey program libraries
    Lib(lib::Lib): Mainframe, NO_ANSWER;
    /// Sort, merge or copy record files and lines, with DFSORT's statements
    Sort(sort::Sort): Mainframe, NO_ANSWER;
    /// Explain an option, a figure or a rule
    Explain(explain::Explain): Help, NO_ANSWER;
    /// Write a script that completes commands and flags in a shell
    Completions(completions::Completions): Help, NO_ANSWER;
    /// Write the manual pages
    Man(man::Man): Help, NO_ANSWER;
}

/// The table of the whole command: all flags of all commands, with the opposite of every switch.
pub fn table() -> clap::Command {
    crate::table::whole(Arguments::command(), ROWS)
}

/// The exit status of wrong usage, by the first word after `underbar`.
pub fn usage_status(word: Option<&str>) -> u8 {
    let row = word.and_then(|word| ROWS.iter().find(|row| row.is_of(word)));
    row.map_or(OWN_FAILURE, |row| row.wrong_usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_under_exactly_one_heading() {
        let help = table().render_help().to_string();
        let headings: Vec<usize> = Door::ALL
            .iter()
            .map(|door| help.find(&format!("{}:\n", door.heading())).expect("a heading"))
            .collect();
        assert!(headings.is_sorted(), "{help}");
        let table = <Command as Subcommand>::augment_subcommands(clap::Command::new("underbar"));
        for command in table.get_subcommands() {
            let name = command.get_name();
            let rows: Vec<&Row> = ROWS.iter().filter(|row| row.is_of(name)).collect();
            assert_eq!(rows.len(), 1, "{name}");
            let places: Vec<usize> = help.match_indices(&format!("\n  {name} ")).map(|(at, _)| at).collect();
            assert_eq!(places.len(), 1, "{name}: {help}");
            let above = headings.iter().rposition(|heading| *heading < places[0]).map(|at| Door::ALL[at]);
            assert_eq!(above, Some(rows[0].door), "{name}: {help}");
        }
        assert_eq!(table.get_subcommands().count(), ROWS.len());
    }

    #[test]
    fn wrong_usage_is_125_where_a_program_would_run() {
        for row in ROWS {
            let runs = ["run", "exec", "profile", "heap"].iter().any(|name| row.is_of(name));
            let name = row.variant.to_ascii_lowercase();
            assert_eq!(usage_status(Some(&name)), if runs { OWN_FAILURE } else { NO_ANSWER }, "{name}");
        }
        assert_eq!((usage_status(Some("REPORT")), usage_status(None)), (OWN_FAILURE, OWN_FAILURE));
    }
}
