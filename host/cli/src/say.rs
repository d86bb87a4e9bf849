//! Messages of the command on standard error: `error:` and `warning:`.
//!
//! Standard output always belongs to the program, so nothing here writes to it. Commands that run no program
//! print their answers there (`printing`).

use clap::ValueEnum;
use std::env;

use underbar_shown::door::{self, Form};

/// When messages are coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// Is standard error coloured?
    pub fn is_on(self) -> bool {
        self.is_on_where(door::error_is_terminal())
    }

    /// Is standard output coloured?
    pub fn is_on_output(self) -> bool {
        self.is_on_where(door::output_is_terminal())
    }

    fn is_on_where(self, is_terminal: bool) -> bool {
        match self {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
                !is_set("NO_COLOR") && env::var_os("TERM").is_none_or(|term| term != "dumb") && is_terminal
            }
        }
    }
}

/// The kind of a message, and the colour of its first word.
#[derive(Clone, Copy)]
pub enum Kind {
    /// The command fails.
    Error,
    /// It succeeds, but something is missing.
    Warning,
}

/// Writes a message. A closed standard error is no failure.
pub fn say(color: Color, kind: Kind, message: impl std::fmt::Display) {
    let (word, code) = match kind {
        Kind::Error => ("error", "1;31"),
        Kind::Warning => ("warning", "1;33"),
    };
    let (form, line) = if color.is_on() {
        (Form::Coloured, format!("\x1b[{code}munderbar: {word}:\x1b[0m {message}\n"))
    } else {
        (Form::Text, format!("underbar: {word}: {message}\n"))
    };
    let _ = door::to_error(form, &line);
}
