//! The arms that a user names: options, or without underbar an environment variable, another preloaded library, another command.
//!
//! ```text
//! --opts TEXT        under underbar, with these options (plain: without it)   ─┐
//! --env NAME=VALUE   plain, with this variable                                 │   one arm each,
//! --preload FILE     plain, with this library, such as another allocator       ├─> in the order of the flags
//! --command TEXT     this shell command in place of the program                ─┘
//! ```
//!
//! Invariant: a run with a library that the loader could not load is never counted: its figures would be those of plain.
//! Not here: options in force (`underbar_runner::layers`), and how a run is made (`single_run`).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, FromArgMatches};
use underbar_launch::{Launch, Library, counter_of, preloading};
use underbar_shown::Shown;

use super::Stop;

/// An arm, as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Its flag.
    pub kind: Kind,
    /// The flag's text.
    pub text: String,
}

/// Kinds of arms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Options of underbar.
    Opts,
    /// A variable, without underbar.
    Env,
    /// A library in its place.
    Preload,
    /// Another command.
    Command,
}

/// A row for each kind: its flag, the name of the value, and the help.
const KINDS: [(Kind, &str, &str, &str); 4] = [
    (
        Kind::Opts,
        "opts",
        "TEXT",
        "Options of one arm, as in HEAP(64M,16M); `plain`: without underbar; `default`: only options from files and UNDERBAR_OPTS",
    ),
    (Kind::Env, "env", "NAME=VALUE", "An arm without underbar, with this environment variable"),
    (
        Kind::Preload,
        "preload",
        "FILE",
        "An arm without underbar, with this library loaded first, such as another allocator: a path, or a name that the loader finds",
    ),
    (
        Kind::Command,
        "command",
        "COMMAND",
        "An arm without underbar that runs this shell command in place of PROGRAM",
    ),
];

impl Kind {
    /// Its flag, without the dashes.
    pub fn flag(self) -> &'static str {
        KINDS.iter().find(|row| row.0 == self).map_or("opts", |row| row.1)
    }
}

/// All arms, in the order of their flags.
#[derive(Clone, Debug)]
pub struct Arms(pub Vec<Given>);

impl FromArgMatches for Arms {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut all: Vec<(usize, Given)> = Vec::new();
        for (kind, flag, _, _) in KINDS {
            let places = matches.indices_of(flag).into_iter().flatten();
            let texts = matches.get_many::<String>(flag).into_iter().flatten();
            all.extend(places.zip(texts).map(|(place, text)| (place, Given { kind, text: text.clone() })));
        }
        all.sort_by_key(|(place, _)| *place);
        Ok(Self(all.into_iter().map(|(_, given)| given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Arms {
    fn augment_args(command: Command) -> Command {
        let group = ArgGroup::new("arms").args(KINDS.map(|row| row.1)).required(true).multiple(true);
        let arg = |flag: &'static str, value: &'static str, help: &'static str| {
            Arg::new(flag).long(flag).value_name(value).help(help).action(ArgAction::Append)
        };
        KINDS
            .into_iter()
            .fold(command, |command, (_, flag, value, help)| command.arg(arg(flag, value, help)))
            .group(group)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// What a run has in place of underbar.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    variable: Option<(OsString, OsString)>,
    /// A shell command.
    command: Option<String>,
    /// The library that the variable names.
    library: Option<String>,
}

impl Beside {
    /// What this arm has.
    ///
    /// # Errors
    /// The user: a variable without a name or value, or a library that does not exist.
    pub fn of(given: &Given) -> Result<Self, Stop> {
        let text = given.text.trim();
        match given.kind {
            Kind::Command if !text.is_empty() => {
                Ok(Self { command: Some(text.to_owned()), ..Self::default() })
            }
            Kind::Command | Kind::Opts => Err(Stop::NoFile("--command: there is no command".to_owned())),
            Kind::Preload => Self::preloading(text),
            Kind::Env => match given.text.split_once('=') {
                Some((PRELOAD_NAME, library)) => Self::preloading(library),
                Some((name, value)) if !name.is_empty() => Ok(Self::with(name.into(), value.into())),
                _ => Err(Stop::NoFile(format!("--env {}: wanted is NAME=VALUE", given.text.shown()))),
            },
        }
    }

    /// A variable.
    fn with(name: OsString, value: OsString) -> Self {
        Self { variable: Some((name, value)), ..Self::default() }
    }

    /// A library, before those that the caller's own variable names.
    ///
    /// # Errors
    /// The user: there is no such file. Only the loader knows where a name without a slash is.
    pub fn preloading(library: &str) -> Result<Self, Stop> {
        if library.is_empty() || library.contains('/') && !Path::new(library).is_file() {
            return Err(Stop::NoFile(format!("--preload {}: no such file", library.shown())));
        }
        let variable = Some(preloading(OsStr::new(library)));
        Ok(Self { variable, library: Some(library.to_owned()), ..Self::default() })
    }

    /// The launch of a plain program, changed into that of this arm.
    pub fn launch<'a>(&self, plain: &Launch<'a>) -> Launch<'a> {
        let (program, arguments) = match &self.command {
            Some(command) => ("/bin/sh".into(), vec!["-c".into(), command.into()]),
            None => (plain.program.clone(), plain.arguments.clone()),
        };
        let variables = self.variable.iter().cloned().collect();
        Launch { program, arguments, library: None, variables, follow: true, streams: plain.streams }
    }

    /// Why a run of this program was without this library: it carries none, not even ours; or the loader's message, which is on standard
    /// error before anything of the program.
    pub fn not_carried(&self, program: &OsStr, ours: &Library, error: &mut File) -> Option<String> {
        const BEGIN: u64 = 4096;
        const REFUSED: &str = "from LD_PRELOAD cannot be preloaded";
        let library = self.library.as_ref()?;
        let as_ours = Launch {
            program: program.to_owned(),
            arguments: Vec::new(),
            library: Some(ours),
            variables: Vec::new(),
            follow: true,
            streams: [None; 3],
        };
        if let Some(reason) = as_ours.not_carried() {
            let why = counter_of(reason).entry().label;
            return Some(format!("{} cannot be loaded into this program ({why})", library.shown()));
        }
        let mut begin = Vec::new();
        let read = error.rewind().and_then(|()| Read::by_ref(error).take(BEGIN).read_to_end(&mut begin));
        let said = String::from_utf8_lossy(&begin);
        (read.is_ok() && said.contains(library.as_str()) && said.contains(REFUSED))
            .then(|| format!("the loader cannot load {}", library.shown()))
    }
}

/// The loader's variable.
const PRELOAD_NAME: &str = "LD_PRELOAD";

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Vec<Given>, clap::Error> {
        let command = Arms::augment_args(Command::new("compare").no_binary_name(true));
        Ok(Arms::from_arg_matches(&command.try_get_matches_from(words)?)?.0)
    }

    #[test]
    fn arms_have_the_order_of_their_flags() {
        let words = [
            "--preload",
            "libx.so",
            "--opts",
            "plain",
            "--env",
            "A=1",
            "--command",
            "prog -x",
            "--opts",
            "HEAP(1M)",
        ];
        let found: Vec<_> =
            parsed(&words).expect("good").into_iter().map(|given| (given.kind, given.text)).collect();
        let expect = [
            (Kind::Preload, "libx.so"),
            (Kind::Opts, "plain"),
            (Kind::Env, "A=1"),
            (Kind::Command, "prog -x"),
            (Kind::Opts, "HEAP(1M)"),
        ];
        assert_eq!(found, expect.map(|(kind, text)| (kind, text.to_owned())));
        assert!(parsed(&[]).is_err(), "none");
    }

    #[test]
    fn what_is_no_variable_and_no_file_is_refused() {
        let of = |kind, text: &str| Beside::of(&Given { kind, text: text.to_owned() });
        for (kind, text) in [
            (Kind::Env, "A"),
            (Kind::Env, "=1"),
            (Kind::Env, "LD_PRELOAD=/no/such/file"),
            (Kind::Preload, "/no/such/file"),
            (Kind::Preload, ""),
            (Kind::Command, " "),
        ] {
            assert!(of(kind, text).is_err(), "{kind:?} {text:?}");
        }
        let variable = of(Kind::Env, "A=b=c").expect("good").variable;
        assert_eq!(variable, Some(("A".into(), "b=c".into())));
        let named =
            of(Kind::Preload, "libx.so").expect("the loader looks for it").variable.expect("a variable");
        assert!(named.0 == "LD_PRELOAD" && named.1.to_string_lossy().starts_with("libx.so"));
    }
}
