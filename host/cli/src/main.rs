//! The `underbar` command: flags in, calls out.
//!
//! ```text
//! main ── commands (one file each) ── launch, report, ...
//!      │           └─ demo  experiments of the documents, on the hidden `programs`
//!      └─ shared  flags of all commands    say  messages    carried  the library in this file
//! ```
//!
//! Exit codes: those of the program; 125 our own failure or wrong usage, 126 and 127 a program that cannot
//! be executed or found.
//! Not here: any work. A command reads its flags, calls the crates under host/, and prints.
#![forbid(unsafe_code)]

mod carried;
mod commands;
mod demo;
mod layers;
mod programs;
mod runner;
mod say;
mod shared;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use commands::Command;
use std::process::ExitCode;

/// Our own failure, or wrong usage: the code of coreutils' `timeout` and `env`.
pub const OWN_FAILURE: u8 = 125;

/// Runs any program with its storage accounted, without recompiling it.
#[derive(Parser)]
#[command(name = "underbar", version, arg_required_else_help = true)]
#[command(after_help = "Start with: underbar run -- PROGRAM ARGUMENTS")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    if let Some(code) = programs::run_if_asked() {
        return code;
    }
    match Arguments::try_parse() {
        Ok(arguments) => arguments.command.run(),
        Err(error) => usage(&error),
    }
}

/// Prints help where it was asked for, and otherwise what is wrong with the arguments.
fn usage(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // A closed pipe while help is printed is success.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let _ = error.print();
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(ContextValue::String(program)) = error.get(ContextKind::InvalidSubcommand)
        && error.get(ContextKind::SuggestedSubcommand).is_none()
    {
        eprintln!("\nhelp: did you mean `underbar run -- {program}`?");
    }
    ExitCode::from(OWN_FAILURE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_table_of_commands_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_program_without_a_verb_is_no_command() {
        let error = Arguments::try_parse_from(["underbar", "/bin/ls", "-l"]).err().expect("wrong usage");
        assert_eq!(error.kind(), ErrorKind::InvalidSubcommand);
    }

    #[test]
    fn what_follows_the_dashes_belongs_to_the_program() {
        let arguments = ["underbar", "run", "-q", "--", "ls", "-q", "--", "--help"];
        let Ok(Arguments { command: Command::Run(run) }) = Arguments::try_parse_from(arguments) else {
            panic!("run")
        };
        assert_eq!(run.program, ["ls", "-q", "--", "--help"]);
    }
}
