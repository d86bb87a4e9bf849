//! `underbar run -- PROGRAM ARGUMENTS`: run, and report when the program has ended.
//!
//! ```text
//! library placed ─> program run (launch) ─> report ─> we end as the program ended
//!      │ no place: plain run, said once at the end
//! ```
//!
//! Invariant: nothing is written while the program runs, nothing ever to standard output, and nothing that
//! goes wrong here changes how the program runs or what it returns.

use crate::say::Kind;
use crate::shared::Shared;
use crate::{OWN_FAILURE, carried};
use clap::Args;
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::process::ExitCode;
use underbar_launch::{Ended, Failure, How, Launch, Library, LibraryError, Reason};

/// The flags of `run`.
#[derive(Args)]
pub struct Run {
    #[command(flatten)]
    shared: Shared,

    /// Follow only the program itself, not those that it starts
    #[arg(long, overrides_with = "follow")]
    no_follow: bool,

    /// Follow the programs that it starts, too (the default)
    #[arg(long, overrides_with = "no_follow")]
    follow: bool,

    /// Leave no parent: become the program, with its process number
    #[arg(long, overrides_with = "no_exec")]
    exec: bool,

    /// Stay as the parent and report at the end (the default)
    #[arg(long, overrides_with = "exec")]
    no_exec: bool,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

impl Run {
    /// Runs the program; comes back only where it could not be run.
    pub fn run(self) -> ExitCode {
        let Some((program, arguments)) = self.program.split_first() else {
            return ExitCode::from(OWN_FAILURE);
        };
        let library = carried::library(!self.exec);
        let options = self.shared.options_text();
        let launch = Launch {
            program: program.clone(),
            arguments: arguments.to_vec(),
            library: library.as_ref().ok(),
            variables: options.map(|text| ("UNDERBAR_OPTS".into(), text.into())).into_iter().collect(),
            follow: !self.no_follow,
            streams: [None; 3],
        };
        if self.exec {
            self.say_if_plain(&library);
            return self.failed(&launch.exec());
        }
        match launch.run() {
            Ok(ended) => self.ended(program, &ended, &library),
            Err(failure) => self.failed(&failure),
        }
    }

    fn ended(&self, program: &OsStr, ended: &Ended, library: &Result<Library, LibraryError>) -> ExitCode {
        self.say_if_plain(library);
        let report = if self.shared.json { json(program, ended) } else { text(program, ended) };
        self.shared.report(&report, ended.pid, program);
        if self.shared.verbose
            && let Ok(library) = library
        {
            self.shared.say(Kind::Note, format_args!("library {}", library.path().display()));
        }
        ended.leave()
    }

    fn say_if_plain(&self, library: &Result<Library, LibraryError>) {
        if let Err(error) = library {
            self.shared.say(Kind::Warning, format_args!("the program runs plain: {error}"));
        }
    }

    fn failed(&self, failure: &Failure) -> ExitCode {
        self.shared.say(Kind::Error, failure);
        ExitCode::from(u8::try_from(failure.exit_code()).unwrap_or(OWN_FAILURE))
    }
}

/// The step timings, for people.
fn text(program: &OsStr, ended: &Ended) -> String {
    let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
    let usage = &ended.usage;
    let mut text = String::new();
    let how = match ended.how {
        How::Exited(code) => format!("exit code {code}"),
        How::Killed(signal) => format!("killed by signal {signal}"),
    };
    let _ = writeln!(text, "underbar: {}, process {}, {how}", program.to_string_lossy(), ended.pid);
    let _ = writeln!(
        text,
        "  elapsed {:.3} s, CPU user {:.3} s, system {:.3} s",
        ended.elapsed.as_secs_f64(),
        seconds(usage.user_nanoseconds()),
        seconds(usage.system_nanoseconds()),
    );
    let _ = writeln!(
        text,
        "  peak resident {} KiB, page faults {} ({} from a device), switches {} waiting, {} forced",
        usage.peak_resident_bytes() / 1024,
        usage.minor_faults() + usage.major_faults(),
        usage.major_faults(),
        usage.voluntary_switches(),
        usage.involuntary_switches(),
    );
    if let Some(reason) = ended.not_carried {
        let _ = writeln!(text, "  not followed: {}", reason.texts().1);
    }
    text
}

/// The same as one JSON object; integers in bytes and nanoseconds.
fn json(program: &OsStr, ended: &Ended) -> String {
    let usage = &ended.usage;
    let mut text = String::from("{\"schema\":\"underbar.report/1\",\"program\":");
    quote(&mut text, &program.to_string_lossy());
    let (code, signal) = match ended.how {
        How::Exited(code) => (code.to_string(), "null".to_owned()),
        How::Killed(signal) => ("null".to_owned(), signal.to_string()),
    };
    let _ = write!(text, ",\"pid\":{},\"exit_code\":{code},\"signal\":{signal},\"step\":{{", ended.pid);
    let figures = [
        ("elapsed_ns", ended.elapsed.as_nanos().try_into().unwrap_or(u64::MAX)),
        ("cpu_user_ns", usage.user_nanoseconds()),
        ("cpu_system_ns", usage.system_nanoseconds()),
        ("peak_resident_bytes", usage.peak_resident_bytes()),
        ("minor_faults", usage.minor_faults()),
        ("major_faults", usage.major_faults()),
        ("voluntary_switches", usage.voluntary_switches()),
        ("involuntary_switches", usage.involuntary_switches()),
    ];
    for (number, (key, value)) in figures.into_iter().enumerate() {
        let _ = write!(text, "{}\"{key}\":{value}", if number == 0 { "" } else { "," });
    }
    let reason = ended.not_carried.map(|reason: Reason| format!("\"{}\"", reason.texts().0));
    let _ = writeln!(text, "}},\"not_followed\":{}}}", reason.as_deref().unwrap_or("null"));
    text
}

/// A JSON string.
fn quote(text: &mut String, value: &str) {
    text.push('"');
    for character in value.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            '\0'..='\x1f' => {
                let _ = write!(text, "\\u{:04x}", u32::from(character));
            }
            _ => text.push(character),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_strings_are_escaped() {
        let mut text = String::new();
        quote(&mut text, "a\"b\\c\n\u{e9}");
        assert_eq!(text, "\"a\\\"b\\\\c\\u000a\u{e9}\"");
    }
}
