//! Answers of commands that run no program: to standard output, or to a file.
//!
//! Invariant: a closed pipe is success; any other failed write is an error message and exit status 2.
//! Not here: reports of `run`, which leave standard output to the program (`shared`).

use std::path::Path;

use clap::Args;

use crate::exit::ExitCode;
use crate::fold::folded;
use crate::say::{Color, Kind, say};
use underbar_shown::door::{self, Form};

/// Wrong usage, or a file that could not be read or written: the code of grep and diff.
pub const NO_ANSWER: u8 = 2;

/// Flags of the commands that print an answer.
#[derive(Args, Clone, Debug)]
pub struct Printing {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,

    /// When text is coloured
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub color: Color,
}

impl Printing {
    /// Writes an answer to its place, and returns the exit status.
    pub fn print(&self, text: &str, output: Option<&Path>, code: u8) -> ExitCode {
        self.print_as(Form::of(self.json), text, output, code)
    }

    /// Writes an answer in words: no line is wider than the terminal.
    pub fn print_words(&self, text: &str, output: Option<&Path>, code: u8) -> ExitCode {
        let columns = if output.is_none() && !self.json { door::output_columns() } else { None };
        self.print(&folded(text, columns), output, code)
    }

    /// The same in a given form.
    pub fn print_as(&self, form: Form, text: &str, output: Option<&Path>, code: u8) -> ExitCode {
        let (place, written) = match output {
            Some(path) => (door::name_of(path), door::to_file(path, form, text)),
            None => ("standard output".to_owned(), door::to_output(form, text)),
        };
        match written {
            Err(error) => self.fail(format_args!("{place}: {error}")),
            Ok(()) => ExitCode::from(code),
        }
    }

    /// Prints why there is no answer.
    pub fn fail(&self, message: impl std::fmt::Display) -> ExitCode {
        say(self.color, Kind::Error, message);
        ExitCode::from(NO_ANSWER)
    }
}
