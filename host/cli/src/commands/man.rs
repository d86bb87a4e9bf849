//! `underbar man`: the manual pages, made from the one table of commands; what no table of flags can say (exit
//! status, environment, files) stands here, once.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command, CommandFactory};
use clap_mangen::{
    Man as Page,
    roff::{Roff, bold, roman},
};

use crate::printing::Printing;
use crate::say::Color;

/// The flags of `man`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar man | man -l -
  underbar man run | man -l -
  underbar man --dir ~/.local/share/man/man1

Exit status: 0 written, 2 wrong usage, or what could not be written.")]
pub struct Man {
    /// The command whose page is wanted; without it, the main page
    #[arg(conflicts_with = "dir")]
    command: Option<String>,

    /// Write all pages into this folder
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// What an exit status means.
const EXIT_STATUS: &[(&str, &str)] = &[
    ("run and other commands that run a program", "the program's own exit status"),
    ("a signal", "underbar ends by the signal that killed the program, after the report"),
    ("125", "wrong usage, or a failure of underbar itself, in commands that run a program"),
    ("126, 127", "the program cannot be executed; there is no such program"),
    ("0", "other commands: done; diff: no gate failed; options: the text is right"),
    ("1", "diff: a gate failed; options: some of the text is wrong; doctor: the program would run plain"),
    ("2", "other commands: wrong usage, or what could not be read or written"),
];

/// Variables that are read, and those that are set in the program.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("UNDERBAR_OPTS", "run-time options, stronger than files and weaker than --opts-file and --opts"),
    ("NO_COLOR, TERM", "no colours if NO_COLOR is set and not empty, or if TERM is dumb"),
    ("XDG_CONFIG_HOME, HOME", "where the user's options file is"),
    ("XDG_CACHE_HOME, HOME", "where the preload library is put"),
    ("XDG_RUNTIME_DIR", "where ledgers lie while programs run"),
    (
        "LD_PRELOAD, UNDERBAR_LEDGER, UNDERBAR_BASE, UNDERBAR_OPTS, UNDERBAR_NO_FOLLOW",
        "set in the environment of the program, for the library; those of an outer underbar are taken out first",
    ),
];

/// Files that are read or written.
const FILES: &[(&str, &str)] = &[
    ("/etc/underbar.opts", "run-time options for all users"),
    ("$XDG_CONFIG_HOME/underbar/opts, ~/.config/underbar/opts", "the user's run-time options"),
    (
        "underbar.opts",
        "run-time options, in the folder of the program that is run; not in the current folder",
    ),
    (
        "$XDG_CACHE_HOME/underbar, /var/cache/underbar (for root), ~/.cache/underbar, /tmp/underbar-UID",
        "the preload library, in the first of them from which code may be run; else it is kept in memory",
    ),
    (
        "$XDG_RUNTIME_DIR/underbar, /dev/shm/underbar-UID, /tmp/underbar-UID",
        "ledgers of runs, in the first of them that is the user's alone; the next run removes dead ones",
    ),
];

impl Man {
    /// Writes the page, or all of them.
    pub fn run(self) -> ExitCode {
        let printing = Printing { json: false, color: Color::Auto };
        let mut table = crate::Arguments::command();
        table.build();
        if let Some(folder) = &self.dir {
            return match write_all(&table, folder) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => printing.fail(format_args!("{}: {error}", folder.display())),
            };
        }
        let page = match &self.command {
            None => main_page(&table),
            Some(name) => match documented(&table).find(|command| command.get_name() == name) {
                Some(command) => command_page(command),
                None => return printing.fail(format_args!("there is no command {name}")),
            },
        };
        match page {
            Ok(page) => printing.print(&String::from_utf8_lossy(&page), None, 0),
            Err(error) => printing.fail(error),
        }
    }
}

/// The commands that have a page: all that help shows, but for help itself.
fn documented(table: &Command) -> impl Iterator<Item = &Command> {
    table.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

fn write_all(table: &Command, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("underbar.1"), main_page(table)?)?;
    for command in documented(table) {
        let name = format!("underbar-{}.1", command.get_name());
        fs::write(folder.join(name), command_page(command)?)?;
    }
    Ok(())
}

fn main_page(table: &Command) -> io::Result<Vec<u8>> {
    let page = Page::new(table.clone()).manual("underbar manual");
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    page.render_subcommands_section(&mut text)?;
    for (title, rows) in [("EXIT STATUS", EXIT_STATUS), ("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)] {
        section(title, rows).to_writer(&mut text)?;
    }
    page.render_version_section(&mut text)?;
    Ok(text)
}

fn section(title: &str, rows: &[(&str, &str)]) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", [title]);
    for (term, meaning) in rows {
        roff.control("TP", []);
        roff.text([bold(*term)]);
        roff.text([roman(*meaning)]);
    }
    roff
}

fn command_page(command: &Command) -> io::Result<Vec<u8>> {
    let page = Page::new(command.clone()).manual("underbar manual");
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    let behind = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    for paragraph in behind.split("\n\n") {
        behind_help(paragraph).to_writer(&mut text)?;
    }
    Ok(text)
}

/// A paragraph of what stands behind the help, as a section: examples line by line, all else as text.
fn behind_help(paragraph: &str) -> Roff {
    let mut roff = Roff::new();
    if let Some(examples) = paragraph.strip_prefix("Examples:\n") {
        roff.control("SH", ["EXAMPLES"]);
        roff.control("nf", []);
        for line in examples.lines() {
            roff.text([roman(line.trim())]);
        }
        roff.control("fi", []);
    } else if let Some(statuses) = paragraph.strip_prefix("Exit status: ") {
        roff.control("SH", ["EXIT STATUS"]);
        roff.text([roman(statuses)]);
    } else {
        roff.control("SH", ["NOTES"]);
        roff.text([roman(paragraph)]);
    }
    roff
}
