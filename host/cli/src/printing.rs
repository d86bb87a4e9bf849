//! Answers of commands that run no program: to standard output, or to a file.
//!
//! Invariant: a reader who has gone away is success; what cannot be written is said and is exit status 2.
//! Not here: reports of `run`, which leave standard output to the program (`shared`).

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::Args;

use crate::exit::ExitCode;
use crate::say::{Color, Kind, say};

/// Wrong usage, or what could not be read or written: the code of grep and diff.
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
    /// Writes an answer where it was asked for, and says with which exit status to end.
    pub fn print(&self, text: &str, output: Option<&Path>, code: u8) -> ExitCode {
        let (place, written) = match output {
            Some(path) => (path.display().to_string(), fs::write(path, text)),
            None => ("standard output".to_owned(), to_output(text.as_bytes())),
        };
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                self.fail(format_args!("{place}: {error}"))
            }
            _ => ExitCode::from(code),
        }
    }

    /// Says why there is no answer.
    pub fn fail(&self, message: impl std::fmt::Display) -> ExitCode {
        say(self.color, Kind::Error, message);
        ExitCode::from(NO_ANSWER)
    }
}

/// Writes bytes to standard output, to the last one. That its reader has gone away is no failure.
pub fn to_output(bytes: &[u8]) -> io::Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(bytes).and_then(|()| output.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
