//! Flags that all commands have, and what they mean in common.

use crate::say::{Color, Kind, say};
use clap::Args;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

/// Flags of all commands.
#[derive(Args, Clone, Debug)]
pub struct Shared {
    /// Run-time options, as in HEAP(64M,16M,,KEEP)
    #[arg(long, value_name = "TEXT")]
    pub opts: Option<String>,

    /// A file of run-time options; --opts is stronger
    #[arg(long, value_name = "FILE")]
    pub opts_file: Option<PathBuf>,

    /// Write the report to FILE instead of standard error; %p, %e and %h are process, program and host
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Print figures as one JSON object
    #[arg(long)]
    pub json: bool,

    /// Print no report; warnings and errors only
    #[arg(short, long)]
    pub quiet: bool,

    /// Say more
    #[arg(short, long, conflicts_with = "quiet")]
    pub verbose: bool,

    /// When messages are coloured
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub color: Color,
}

impl Shared {
    /// Writes a message on standard error.
    pub fn say(&self, kind: Kind, message: impl std::fmt::Display) {
        say(self.color, kind, message);
    }

    /// The options from the file and the command line, the stronger last; None where there are none.
    /// A file that cannot be read is a warning: options change how a program runs, not whether.
    pub fn options_text(&self) -> Option<String> {
        let from_file = self.opts_file.as_ref().and_then(|path| match fs::read_to_string(path) {
            Ok(text) => Some(text),
            Err(error) => {
                self.say(Kind::Warning, format_args!("options file {}: {error}", path.display()));
                None
            }
        });
        match (from_file, self.opts.clone()) {
            (Some(file), Some(own)) => Some(format!("{}\n{own}", file.trim_end())),
            (file, own) => file.or(own),
        }
    }

    /// Writes a report where it was asked for. One that cannot be written is a warning, never a changed exit
    /// code; a reader that has gone away is none.
    pub fn report(&self, text: &str, pid: i32, program: &std::ffi::OsStr) {
        if self.quiet && self.output.is_none() {
            return;
        }
        let (place, written) = match &self.output {
            Some(name) => {
                let path = expand(name, pid, program);
                (path.display().to_string(), fs::write(&path, text))
            }
            None => ("standard error".to_owned(), io::stderr().write_all(text.as_bytes())),
        };
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                self.say(Kind::Warning, format_args!("the report could not be written to {place}: {error}"));
            }
            _ => {}
        }
    }
}

/// Puts process, program and host into a file name: `%p`, `%e`, `%h`, and `%%` for a percent sign.
fn expand(name: &std::path::Path, pid: i32, program: &std::ffi::OsStr) -> PathBuf {
    let Some(text) = name.to_str().filter(|text| text.contains('%')) else { return name.to_path_buf() };
    let program = std::path::Path::new(program).file_name().unwrap_or(program).to_string_lossy();
    let mut result = String::new();
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match (character, rest.clone().next()) {
            ('%', Some('p')) => result += &pid.to_string(),
            ('%', Some('e')) => result += &program,
            ('%', Some('h')) => {
                let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
                result += host.trim();
            }
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
