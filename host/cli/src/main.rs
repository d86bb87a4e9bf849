//! The `underbar` command: flags in, calls out.
//!
//! ```text
//! main ── commands (one file each) ── launch, report, ...
//!      ├─ table     the one table of commands and flags
//!      ├─ shared    flags of commands that run a program
//!      ├─ printing  flags of commands that answer            saved   reports and ledgers read again       fold  wide lines
//!      ├─ say       messages, through `shown::door`, as all that is printed     carried  the library in this file
//!      ├─ html      reports and comparisons as pages
//!      ├─ costs     what pages, calls and hand-overs cost here
//!      └─ exit      exit status of the command
//! ```
//!
//! Exit codes: those of the program; 125 underbar's own failure or wrong usage, 126 and 127 a program that cannot
//! be executed or found. Commands that run no program: 0, 1 (a gate failed, a text is wrong), 2 wrong usage.
//! Not here: any work. A command reads its flags, calls the crates under host/, and prints.
#![forbid(unsafe_code)]
// Except in tests, whose harness has one.
#![cfg_attr(not(test), no_main)]
#![cfg_attr(test, allow(clippy::disallowed_macros, clippy::disallowed_methods))]

mod commands;
mod costs;
mod doors;
mod embedded;
mod exit;
mod fold;
mod html;
mod listings;
mod off;
mod printing;
mod sampling;
mod saved;
mod say;
mod shared;
mod site_record;
mod table;
mod trial;
mod unsampled;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{FromArgMatches, Parser};
use commands::Command;
use exit::ExitCode;
use say::{Color, Kind, say};
use std::ffi::OsString;
use underbar_shown::Shown;
use underbar_shown::door::{self, Form};

/// underbar's own failure, or wrong usage: the code of coreutils' `timeout` and `env`.
pub const OWN_FAILURE: u8 = 125;

/// Runs Linux programs and accounts for their storage; reads mainframe listings and libraries.
#[derive(Parser)]
#[command(name = "underbar", version, arg_required_else_help = true)]
#[command(after_help = "Start with: underbar run -- PROGRAM ARGUMENTS\n\
                  or with:    underbar advise LISTING\n\
                  Each command has examples: underbar COMMAND --help\n\
                  Every switch has an opposite, such as --no-json; the last one counts.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[cfg(not(test))]
underbar_sys::entry!(command);

/// What the command line asks for.
#[cfg_attr(test, expect(dead_code, reason = "the harness has a main of its own"))]
fn command() -> ExitCode {
    if let Some(ran) = underbar_demo::programs::run_if_asked() {
        return ran.map_or(ExitCode::from(OWN_FAILURE), |()| ExitCode::SUCCESS);
    }
    underbar_launch::outlive_file_limit();
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(run) = commands::run::told(&words) {
        return run.run();
    }
    let arguments =
        commands::table().try_get_matches().and_then(|matches| Arguments::from_arg_matches(&matches));
    match arguments {
        Ok(arguments) => arguments.command.run(),
        Err(error) => usage(error),
    }
}

/// Prints help if it was asked for, and otherwise the error in the arguments.
fn usage(error: clap::Error) -> ExitCode {
    let error = with_names_shown(error);
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let (form, text) = rendered(&error, Color::Auto.is_on_output());
        let text = fold::folded(&text, door::output_columns());
        if let Err(error) = door::to_output(form, &text) {
            say(Color::Auto, Kind::Error, format_args!("standard output: {error}"));
            return usage_status();
        }
        return ExitCode::SUCCESS;
    }
    let (form, mut text) = rendered(&error, Color::Auto.is_on());
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(ContextValue::String(program)) = error.get(ContextKind::InvalidSubcommand)
    {
        let is_near_a_command = error.get(ContextKind::SuggestedSubcommand).is_some();
        text += &hint(program, is_near_a_command);
    }
    // A closed standard error changes nothing.
    let _ = door::to_error(form, &fold::folded(&text, door::error_columns()));
    usage_status()
}

/// The likely meaning of a word that is no command: a program of that name if there is one, or else the nearest command. If none
/// is near, the hint lists all commands. `clap` suggests some by itself, but not for letters that changed places.
fn hint(word: &str, is_near_a_command: bool) -> String {
    if underbar_launch::find(std::ffi::OsStr::new(word)).is_some_and(|path| path.exists()) {
        return format!("\nhelp: did you mean `underbar run -- {word}`?\n");
    }
    if is_near_a_command {
        return String::new();
    }
    let commands = commands::table();
    let names: Vec<&str> = commands
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(clap::Command::get_name)
        .collect();
    match underbar_options::nearest(word.as_bytes(), names.iter().copied()) {
        Some(near) => format!("\nhelp: did you mean `underbar {near}`?\n"),
        None => format!("\nhelp: no program has this name either. Commands: {}\n", names.join(", ")),
    }
}

/// The error with words of the command line in the form of names: a line feed in a word begins no new line.
fn with_names_shown(mut error: clap::Error) -> clap::Error {
    let shown: Vec<(ContextKind, ContextValue)> = error
        .context()
        .filter_map(|(kind, value)| match value {
            ContextValue::String(word) => Some((kind, ContextValue::String(word.shown().to_string()))),
            ContextValue::Strings(words) => {
                let words = words.iter().map(|word| word.shown().to_string()).collect();
                Some((kind, ContextValue::Strings(words)))
            }
            // Tips, which repeat the word. They lose their colour.
            ContextValue::StyledStrs(tips) => {
                let tips = tips.iter().map(|tip| underbar_shown::line(&tip.to_string()).into_owned().into());
                Some((kind, ContextValue::StyledStrs(tips.collect())))
            }
            _ => None,
        })
        .collect();
    for (kind, value) in shown {
        error.insert(kind, value);
    }
    error
}

fn rendered(error: &clap::Error, colour: bool) -> (Form, String) {
    let text = error.render();
    if colour { (Form::Coloured, text.ansi().to_string()) } else { (Form::Text, text.to_string()) }
}

/// The exit status of wrong usage of the command that was called, or of one that could not answer.
fn usage_status() -> ExitCode {
    let word = std::env::args_os().nth(1);
    ExitCode::from(commands::usage_status(word.as_ref().and_then(|word| word.to_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

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
