//! Messages of the command on standard error: `error:` and `warning:`.
//!
//! Standard output belongs to the program, always; so nothing here writes to it. Commands that run no program
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
    /// Whether what goes to standard error is coloured.
    pub fn is_on(self) -> bool {
        self.is_on_where(door::error_is_terminal())
    }

    /// Whether what goes to standard output is coloured.
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

/// What a message is, and how its first word is coloured.
#[derive(Clone, Copy)]
pub enum Kind {
    /// The command cannot do what it was asked to.
    Error,
    /// It does, but not all of it.
    Warning,
}

/// Writes a message. That nobody reads it is no failure.
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
