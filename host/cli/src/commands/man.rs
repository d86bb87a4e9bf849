//! `underbar man`: the manual pages, made from the one table of commands. The sections that are not in that table
//! (environment, files) are here.
//!
//! Invariant: every page has the same parts in the same order, and its exit status is that of the command's help.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use underbar_shown::Shown;

use clap::{Args, Command};
use clap_mangen::{
    Man as Page,
    roff::{Roff, bold, roman},
};

use super::table;
use crate::exit::ExitCode;
use crate::printing::Printing;
use crate::say::Color;
use crate::table::{EXAMPLES, EXIT_STATUS, behind_help, documented, full_name};
use underbar_shown::door::{self, Form};

/// The flags of `man`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar man | man -l -
  underbar man run | man -l -
  underbar man lib add | man -l -
  underbar man --dir ~/.local/share/man/man1

Exit status: 0 written, 2 wrong usage, or a page could not be written.")]
pub struct Man {
    /// The command whose page is printed [default: the main page]
    #[arg(conflicts_with = "dir")]
    command: Vec<String>,

    /// Write all pages into this folder
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Variables that underbar reads, and those that it sets for the program.
const ENVIRONMENT: &[(&str, &str)] = &[
    (
        "UNDERBAR_OPTS",
        "run-time options; they override options files, and --opts-file and --opts override them",
    ),
    (
        "UNDERBAR",
        "off: `run`, `heap` and `profile` become the program, plain, without library and report, and `compare` and `tune` run nothing; for emergencies",
    ),
    (
        "UNDERBAR_DENY",
        "names of programs for which the same holds, with commas; a star at the end stands for any rest",
    ),
    ("NO_COLOR, TERM", "no colours if NO_COLOR is set and not empty, or if TERM is dumb"),
    ("XDG_CONFIG_HOME, HOME", "where the user's options file is"),
    ("XDG_CACHE_HOME, HOME", "where the preload library is kept"),
    ("XDG_RUNTIME_DIR", "where ledgers are while programs run"),
    (
        "LD_PRELOAD, UNDERBAR_LEDGER, UNDERBAR_BASE, UNDERBAR_OPTS, UNDERBAR_NO_FOLLOW",
        "set in the environment of the program, for the library; those of an outer underbar are removed first",
    ),
];

/// Files that are read or written.
const FILES: &[(&str, &str)] = &[
    ("/etc/underbar.opts", "run-time options for all users"),
    (
        "/etc/underbar.deny",
        "names of programs that underbar leaves plain, one a line, for all users; as UNDERBAR_DENY",
    ),
    ("$XDG_CONFIG_HOME/underbar/opts, ~/.config/underbar/opts", "the user's run-time options"),
    ("underbar.opts", "run-time options, in the folder of the program; not in the current folder"),
    (
        "$XDG_CACHE_HOME/underbar, /var/cache/underbar (for root), ~/.cache/underbar, /tmp/underbar-UID",
        "the preload library, in the first of these folders that allows code to run; if none does, in memory",
    ),
    (
        "$XDG_RUNTIME_DIR/underbar, /dev/shm/underbar-UID, /tmp/underbar-UID",
        "ledgers of runs, in the first of these folders that only the user can write; the next run removes dead ones",
    ),
];

impl Man {
    /// Writes the page, or all of them.
    pub fn run(self) -> ExitCode {
        let printing = Printing { json: false, color: Color::Auto };
        // `help` has no page of its own, so none may name one.
        let mut table = table().disable_help_subcommand(true);
        table.build();
        if let Some(folder) = &self.dir {
            return match write_all(&table, folder) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => printing.fail(format_args!("{}: {error}", folder.shown())),
            };
        }
        let name = self.command.join(" ");
        let page = match documented(&table).find(|command| full_name(command) == name) {
            _ if name.is_empty() => main_page(&table),
            Some(command) => command_page(command),
            None => return printing.fail(format_args!("there is no command {}", name.shown())),
        };
        match page {
            Ok(page) => printing.print(&String::from_utf8_lossy(&page), None, 0),
            Err(error) => printing.fail(error),
        }
    }
}

fn write_all(table: &Command, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    write(&folder.join("underbar.1"), &main_page(table)?)?;
    for command in documented(table) {
        let name = format!("underbar-{}.1", full_name(command).replace(' ', "-"));
        write(&folder.join(name), &command_page(command)?)?;
    }
    Ok(())
}

fn write(path: &Path, page: &[u8]) -> io::Result<()> {
    door::to_file(path, Form::Text, &String::from_utf8_lossy(page))
}

fn main_page(table: &Command) -> io::Result<Vec<u8>> {
    let mut sections: Vec<Roff> =
        behind_help(table).iter().map(|(title, text)| paragraph(title, text)).collect();
    sections.push(rows(EXIT_STATUS, exit_statuses(table)));
    for (title, list) in [("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)] {
        sections
            .push(rows(title, list.iter().map(|(term, meaning)| (*term, (*meaning).to_owned())).collect()));
    }
    page(table, &sections)
}

fn command_page(command: &Command) -> io::Result<Vec<u8>> {
    let sections: Vec<Roff> =
        behind_help(command).iter().map(|(title, text)| paragraph(title, text)).collect();
    page(command, &sections)
}

/// A page: the part of the table for a command, then these sections.
fn page(command: &Command, sections: &[Roff]) -> io::Result<Vec<u8>> {
    // Without a date, the middle of a page's last line would be empty.
    let page = Page::new(command.clone())
        .manual("underbar manual")
        .date(concat!("underbar ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if command.has_subcommands() {
        page.render_subcommands_section(&mut text)?;
    }
    for section in sections {
        section.to_writer(&mut text)?;
    }
    if command.get_version().is_some() {
        page.render_version_section(&mut text)?;
    }
    Ok(text)
}

/// Each command, and the exit status as its help describes it.
fn exit_statuses(table: &Command) -> Vec<(&str, String)> {
    documented(table)
        .flat_map(|command| {
            let statuses = behind_help(command).into_iter().filter(|(title, _)| *title == EXIT_STATUS);
            statuses.map(|(_, text)| (full_name(command), text))
        })
        .collect()
}

/// A section of terms and their meanings.
fn rows(title: &str, rows: Vec<(&str, String)>) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", [title]);
    for (term, meaning) in rows {
        roff.control("TP", []);
        roff.text([bold(term)]);
        roff.text([roman(meaning)]);
    }
    roff
}

/// A section of one paragraph: examples line by line, all else as text.
fn paragraph(title: &str, text: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", [title]);
    if title == EXAMPLES {
        roff.control("nf", []);
        for line in text.lines() {
            roff.text([roman(line.trim())]);
        }
        roff.control("fi", []);
    } else {
        roff.text([roman(text)]);
    }
    roff
}
