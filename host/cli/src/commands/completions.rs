//! `underbar completions SHELL`: a script that completes commands and flags, made from the one table.

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use super::explain::names;
use crate::exit::ExitCode;
use crate::printing::Printing;
use crate::say::Color;

/// The flags of `completions`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar completions bash > ~/.local/share/bash-completion/completions/underbar
  underbar completions zsh > \"${fpath[1]}/_underbar\"
  underbar completions fish > ~/.config/fish/completions/underbar.fish
  underbar completions elvish >> ~/.config/elvish/rc.elv

Exit status: 0 written, 2 wrong usage.")]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Shells with a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU Bash
    Bash,
    /// Z shell
    Zsh,
    /// fish
    Fish,
    /// Elvish
    Elvish,
}

impl Completions {
    /// Writes the script.
    pub fn run(self) -> ExitCode {
        use clap_complete::Shell as Known;
        let shell = match self.shell {
            Shell::Bash => Known::Bash,
            Shell::Zsh => Known::Zsh,
            Shell::Fish => Known::Fish,
            Shell::Elvish => Known::Elvish,
        };
        let mut script = Vec::new();
        // Only for the shell: `explain` also takes other texts, and no page has room for all names.
        let mut table = super::table().mut_subcommand("explain", |explain| {
            explain.mut_arg("names", |argument| argument.value_parser(PossibleValuesParser::new(names())))
        });
        clap_complete::generate(shell, &mut table, "underbar", &mut script);
        Printing { json: false, color: Color::Auto }.print(&String::from_utf8_lossy(&script), None, 0)
    }
}
