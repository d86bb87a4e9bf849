//! Flags that the commands have in common, and their meaning.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use underbar_fleet::openmetrics;
use underbar_launch::find;
use underbar_options::{Base, Settings, WhereSet};
use underbar_report::Report;
use underbar_shown::Shown;

use crate::say::{Color, Kind, say};
use underbar_runner::layers::Layers;
use underbar_shown::door::{self, Form};
use underbar_top::glyphs::{ASCII, BLOCKS, Glyphs};

/// Flags of all commands.
#[derive(Args, Clone, Debug, Default)]
pub struct Shared {
    /// Run-time options, as in HEAP(64M,16M,,KEEP)
    #[arg(long, value_name = "TEXT", value_parser = any_text())]
    pub opts: Option<String>,

    /// A file of run-time options; --opts overrides it
    #[arg(long, value_name = "FILE")]
    pub opts_file: Option<PathBuf>,

    /// Base defaults, which every other option overrides
    #[arg(long, value_enum, value_name = "BASE", default_value_t)]
    pub opts_base: OptsBase,

    /// Write the report to FILE instead of standard error or MSGFILE; %p, %e and %h become process, program and host; - is
    /// standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Print figures as one JSON object
    #[arg(long)]
    pub json: bool,

    /// Print no report; warnings and errors only. Without -o, `ls`, `top` and `report` do not know the run
    #[arg(short, long)]
    pub quiet: bool,

    /// When messages are coloured
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}

/// The characters of pictures and names on standard output: all of them where it is no terminal, else those that the terminal has.
pub fn glyphs() -> Glyphs {
    if !door::output_is_terminal() || door::has_blocks() { BLOCKS } else { ASCII }
}

/// A text, with marks for invalid characters: a mistake in options never keeps the program from running.
fn any_text() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().map(|text| text.to_string_lossy().into_owned())
}

/// Base defaults, which every other option overrides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OptsBase {
    /// The defaults of underbar: HEAP(AUTO,AUTO,ANYWHERE,AUTO)
    #[default]
    Underbar,
    /// The defaults that IBM documents for Language Environment: HEAP(32K,32K,ANYWHERE,KEEP,8K,4K)
    Le,
}

impl From<OptsBase> for Base {
    fn from(base: OptsBase) -> Base {
        match base {
            OptsBase::Underbar => Base::Underbar,
            OptsBase::Le => Base::LanguageEnvironment,
        }
    }
}

impl Shared {
    /// Writes a message on standard error.
    pub fn say(&self, kind: Kind, message: impl std::fmt::Display) {
        say(self.color, kind, message);
    }

    /// All layers of options for a run of this program.
    pub fn layers(&self, program: &OsStr) -> Layers {
        self.layers_with(program, None)
    }

    /// The same, with a text that a command needs: stronger than what is set outside the command line, and weaker than --opts.
    pub fn layers_with(&self, program: &OsStr, needed: Option<String>) -> Layers {
        let mut layers = Layers::of_run(self.opts_base.into(), find(program).as_deref());
        if let Some(text) = needed {
            layers.add(WhereSet::CommandLine, "the command".to_owned(), text);
        }
        if let Some(path) = &self.opts_file {
            layers.add_file(WhereSet::OptionsFile, path, true);
        }
        if let Some(text) = &self.opts {
            layers.add(WhereSet::CommandLine, "--opts".to_owned(), text.clone());
        }
        layers
    }

    /// The place of a run's report: the file of -o, else that of MSGFILE, else standard error (None).
    pub fn place(&self, options: &Settings, pid: i32, program: &OsStr) -> Option<PathBuf> {
        match &self.output {
            Some(name) => Some(expand(name, pid, program)),
            None => message_file(options, pid, program),
        }
    }

    /// Is no report written?
    pub fn is_without_report(&self) -> bool {
        self.quiet && self.output.is_none()
    }

    /// Writes a report to its place. A failed write is a warning, never a changed exit code; a closed pipe is not even a
    /// warning.
    pub fn report(&self, form: Form, text: &str, place: Option<&Path>) {
        if self.is_without_report() {
            return;
        }
        let is_written = write_report(form, text, place, self.color);
        // The program may have run for hours, so the report goes to standard error instead.
        if !is_written && place.is_some() && !self.quiet {
            write_report(form, text, None, self.color);
        }
    }
}

/// Writes a report to a file, or to standard error (None). Returns whether it was written; if not, a warning says why.
pub fn write_report(form: Form, text: &str, place: Option<&Path>, color: Color) -> bool {
    let (place, written) = match place {
        Some(path) => (door::name_of(path), door::to_file(path, form, text)),
        None => ("standard error".to_owned(), door::to_error(form, text)),
    };
    if let Err(error) = &written {
        say(color, Kind::Warning, format_args!("the report could not be written to {place}: {error}"));
    }
    written.is_ok()
}

/// The first of these places that cannot be written, with the reason: found before a program runs, which may take hours. The number of the
/// program's process is not known yet.
pub fn unwritable(places: &[Option<&Path>], program: &OsStr) -> Option<String> {
    places.iter().flatten().find_map(|name| {
        let path = expand(name, 0, program);
        let error = door::can_be_written(&path).err()?;
        Some(format!("{} cannot be written: {error}", path.shown()))
    })
}

/// Writes the figures of a report for a collector that may read the file at any time.
///
/// # Errors
/// The file cannot be made.
pub fn write_openmetrics(path: &Path, report: &Report) -> io::Result<()> {
    let text = openmetrics::render(report);
    if door::is_output(path) {
        return door::to_output(door::Form::Text, &text);
    }
    door::into_place(path, door::Form::Text, &text)
}

/// The file that MSGFILE names, if any.
fn message_file(options: &Settings, pid: i32, program: &OsStr) -> Option<PathBuf> {
    const LONGEST: usize = 4096;
    let program = Path::new(program).file_name().unwrap_or(program);
    let mut room = [0; LONGEST];
    let name = options.message_file()?.fill_in(
        pid.cast_unsigned(),
        program.as_bytes(),
        host_name().as_bytes(),
        &mut room,
    )?;
    Some(OsStr::from_bytes(name).into())
}

fn host_name() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// Puts process, program and host into a file name: `%p`, `%e`, `%h`, and `%%` for a percent sign.
pub fn expand(name: &Path, pid: i32, program: &OsStr) -> PathBuf {
    let Some(text) = name.to_str().filter(|text| text.contains('%')) else { return name.to_path_buf() };
    let program = Path::new(program).file_name().unwrap_or(program).to_string_lossy();
    let mut result = String::new();
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match (character, rest.clone().next()) {
            ('%', Some('p')) => result += &pid.to_string(),
            ('%', Some('e')) => result += &program,
            ('%', Some('h')) => result += &host_name(),
            ('%', Some('%')) => result.push('%'),
            _ => {
                result.push(character);
                continue;
            }
        }
        rest.next();
    }
    result.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_hold_process_and_program() {
        let check = |name: &str, expect: &str| {
            assert_eq!(expand(name.as_ref(), 12, "/bin/ls".as_ref()), PathBuf::from(expect));
        };
        check("plain", "plain");
        check("r-%p-%e.txt", "r-12-ls.txt");
        check("100%%p-%x-%", "100%p-%x-%");
        let host = expand("%h".as_ref(), 1, "x".as_ref());
        assert_eq!(
            host.to_str(),
            fs::read_to_string("/proc/sys/kernel/hostname").ok().as_deref().map(str::trim)
        );
    }
}
