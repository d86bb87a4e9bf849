//! `lib add`, `lib delete`, `lib rename`, `lib alias`: changes of a library, each of them whole or not at all.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use underbar_shown::Shown;

use clap::Args;
use serde::Serialize;
use underbar_partitioned::attribute::FetchOptions;
use underbar_partitioned::name::Name;
use underbar_partitioned::pdse::Other;
use underbar_store::change::{Addition, Changed, Edit, apply};
use underbar_store::library::{Library, Organisation};
use underbar_store::make::name_of_file;
use underbar_store::{Error, Result};

use super::any::warn_of_doubt;
use super::list::json;
use super::progress::Progress;
use super::text::{about, many};
use super::{fetch_options, name, now};
use crate::exit::ExitCode;
use crate::printing::Printing;

/// Which library is changed, and what if another changes it, too.
#[derive(Args)]
pub struct Target {
    #[command(flatten)]
    pub printing: Printing,

    /// The library
    pub library: PathBuf,

    /// Wait for as long as another process changes the library
    #[arg(long)]
    pub wait: bool,
}

/// What changes say as JSON.
#[derive(Serialize)]
struct Done {
    library: String,
    changes: u64,
    members: u32,
    aliases: u32,
}

impl Target {
    fn change(&self, edits: impl IntoIterator<Item = Result<Edit>>, expected: usize, done: &str) -> ExitCode {
        // What it goes on from; what is wrong with a library that cannot be opened, the change says.
        if let Ok(library) = Library::open(&self.library)
            && library.doubt().is_some_and(|doubt| doubt.other != Other::Damaged)
        {
            warn_of_doubt(&library, self.printing.color);
        }
        let changed = apply(&self.library, edits, expected, now(), self.wait);
        self.say(changed, done)
    }

    /// Says what was changed, or why not.
    pub fn say(&self, changed: Result<Changed>, done: &str) -> ExitCode {
        say(&self.printing, &self.library, changed, done)
    }
}

/// Says what was changed, or why not. `done` says what was done, with `{n}` for how often.
pub fn say(printing: &Printing, library: &Path, changed: Result<Changed>, done: &str) -> ExitCode {
    let path = library.shown();
    match changed {
        Err(error) => {
            let help = match &error {
                // These name their file, which need not be the library.
                Error::System { .. } | Error::NotPlain(_) | Error::FileExists(_) | Error::Unsure { .. } => {
                    return printing.fail(error);
                }
                Error::Exists(_) => "; add and copy replace members with --replace",
                Error::Busy => "; --wait waits for it",
                Error::DeviceFull if library.exists() => "; the library is as it was",
                _ => "",
            };
            printing.fail(about(library, format_args!("{error}{help}")))
        }
        Ok(Changed { edits, members, aliases }) => {
            let text = if printing.json {
                json(&Done { library: path.to_string(), changes: edits, members, aliases })
            } else {
                let done = done.replace("{n}", &edits.to_string());
                format!("{path}: {done}; it has {} and {}\n", many(members, "member"), many(aliases, "alias"))
            };
            printing.print(&text, None, 0)
        }
    }
}

/// The flags of `lib add`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar lib add programs.pdse build/libsort.so
  underbar lib add --replace programs.pdse build/
  underbar lib add --name SORT --entry sort_main --alias ICEMAN programs.pds libsort.so
  underbar lib add --fetchopt PACK,PRIME programs.pdse big.so

Of a folder, all shared objects (*.so, *.so.*) are taken, links left out. A member has the name of its file without .so;
what is no ELF file becomes a member of data. What LOAD and exec cannot run is refused: executables (link them with
-shared), object files, programs of other machines, damaged ones. All files come in together, or none.

Exit status: 0 added, 2 wrong usage, a file that cannot be a member, or a library that cannot be changed.")]
pub struct Add {
    #[command(flatten)]
    target: Target,

    /// Shared objects, other files, folders
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The member's name, of one file
    #[arg(long, value_parser = name)]
    name: Option<Name>,

    /// The function that is the entry point [default: that of the member's name, or main]
    #[arg(long, value_name = "FUNCTION")]
    entry: Option<String>,

    /// A further name of one file; NAME=FUNCTION for an entry point of its own; may be given several times
    #[arg(long, value_name = "NAME")]
    alias: Vec<String>,

    /// Replace members of the same names
    #[arg(long)]
    replace: bool,

    /// For a PDS: take the first eight characters of names
    #[arg(long)]
    shorten: bool,

    /// How the programs ask to be fetched (FETCHOPT)
    #[arg(long, value_name = "OPTIONS", value_parser = fetch_options(), default_value = "NOPACK,NOPRIME")]
    fetchopt: FetchOptions,
}

impl Add {
    /// Adds.
    pub fn run(self) -> ExitCode {
        let (target, printing) = (&self.target, &self.target.printing);
        let organisation = match Library::open(&target.library) {
            Ok(library) => library.organisation(),
            Err(error) => return printing.fail(about(&target.library, error)),
        };
        let files = match self.files() {
            Ok(files) => files,
            Err(error) => return printing.fail(error),
        };
        if files.len() != 1 && (self.name.is_some() || !self.alias.is_empty()) {
            return printing
                .fail(format_args!("--name and --alias are for one file, and there are {}", files.len()));
        }
        let expected = files.len() + self.alias.len();
        let mut progress = Progress::new("files", Some(files.len() as u64));
        let mut done = 0;
        let additions = files.iter().map(|file| {
            done += 1;
            progress.done(done);
            self.addition(file, organisation)
        });
        let aliases = self.alias.iter().map(|text| {
            let of = self.member_name(&files[0], organisation)?;
            alias_edit(text, of)
        });
        target.change(additions.chain(aliases), expected, "added {n}")
    }

    /// The files, and those of folders.
    fn files(&self) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for file in &self.files {
            let system = |error| Error::system(file, error);
            if !fs::metadata(file).map_err(system)?.is_dir() {
                files.push(file.clone());
                continue;
            }
            let mut found = Vec::new();
            for entry in fs::read_dir(file).map_err(system)? {
                let entry = entry.map_err(system)?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let is_shared = name.ends_with(".so") || name.contains(".so.");
                if is_shared && entry.file_type().map_err(system)?.is_file() {
                    found.push(entry.path());
                }
            }
            found.sort();
            files.append(&mut found);
        }
        match self.files.first() {
            Some(folder) if files.is_empty() => Err(Error::Program {
                what: folder.shown().to_string(),
                why: "there is no shared object in it; other files are to be named".into(),
            }),
            _ => Ok(files),
        }
    }

    fn member_name(&self, file: &Path, organisation: Organisation) -> Result<Name> {
        self.name.map_or_else(|| name_of_file(file, organisation, self.shorten), Ok)
    }

    fn addition(&self, file: &Path, organisation: Organisation) -> Result<Edit> {
        let system = |error| Error::system(file, error);
        let name = self.member_name(file, organisation)?;
        let modified = fs::metadata(file).map_err(system)?.mtime();
        let bytes = bytes_of(file)?;
        let modified = u64::try_from(modified).unwrap_or(0);
        let addition = Addition::new(name, bytes, self.entry.as_deref().map(str::as_bytes), modified)
            .map_err(|error| match error {
                Error::Program { why, .. } => Error::Program { what: file.shown().to_string(), why },
                other => other,
            })?;
        Ok(Edit::Add(Box::new(Addition { fetch: self.fetchopt, replace: self.replace, ..addition })))
    }
}

/// Bytes that a member has at most, where they come out of a pipe or a device, which may have no end.
const STREAM_MOST: u64 = 1 << 30;

/// The bytes of a file; of what is none only where the caller gave it open, as `/dev/stdin` is.
fn bytes_of(file: &Path) -> Result<Vec<u8>> {
    let system = |error| Error::system(file, error);
    if fs::metadata(file).map_err(system)?.is_file() {
        return fs::read(file).map_err(system);
    }
    const OPEN: [&str; 3] = ["/dev/stdin", "/dev/fd", "/proc/self/fd"];
    if !OPEN.iter().any(|open| file.starts_with(open)) {
        return Err(Error::NotPlain(file.to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(file).map_err(system)?.take(STREAM_MOST + 1).read_to_end(&mut bytes).map_err(system)?;
    if bytes.len() as u64 > STREAM_MOST {
        let why = "it has more than 1 GiB, and no end that is known; only a plain file may be larger";
        return Err(Error::Program { what: file.shown().to_string(), why: why.into() });
    }
    Ok(bytes)
}

/// NAME or NAME=FUNCTION.
fn alias_edit(text: &str, of: Name) -> Result<Edit> {
    let (alias, function) = match text.split_once('=') {
        Some((alias, function)) => (alias, Some(function.as_bytes().to_vec())),
        None => (text, None),
    };
    let alias = Name::new(alias.as_bytes()).map_err(|why| Error::Name { text: alias.to_owned(), why })?;
    Ok(Edit::Alias { alias, of, function })
}

/// The flags of `lib delete`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar lib delete programs.pdse OLDPROG
  underbar lib delete programs.pds A B C

In a PDS the blocks stay as a gap until it is compressed; the pages of a PDSE are used again.

Exit status: 0 deleted, 2 wrong usage, no such member, or a library that cannot be changed.")]
pub struct Delete {
    #[command(flatten)]
    target: Target,

    /// Members or aliases
    #[arg(required = true, value_parser = name, value_name = "NAME")]
    names: Vec<Name>,
}

impl Delete {
    /// Deletes.
    pub fn run(self) -> ExitCode {
        self.target.change(self.names.iter().map(|name| Ok(Edit::Delete(*name))), 0, "deleted {n}")
    }
}

/// The flags of `lib rename`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar lib rename programs.pdse OLDNAME NEWNAME

A member's aliases stay with it.

Exit status: 0 renamed, 2 wrong usage, no such member, a name that is taken, or a library that cannot be changed.")]
pub struct Rename {
    #[command(flatten)]
    target: Target,

    /// The name it has
    #[arg(value_parser = name)]
    old: Name,

    /// The name it is to have
    #[arg(value_parser = name)]
    new: Name,
}

impl Rename {
    /// Renames.
    pub fn run(self) -> ExitCode {
        self.target.change([Ok(Edit::Rename { from: self.old, to: self.new })], 1, "renamed {n}")
    }
}

/// The flags of `lib alias`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar lib alias programs.pdse SORT ICEMAN
  underbar lib alias programs.pdse libm sin cos ROOT=sqrt

An alias is the function that stands behind =, or the one of its own name, or else the member's entry point.

Exit status: 0 done, 2 wrong usage, no such member or function, a name that is taken, or a library that cannot be changed.")]
pub struct Alias {
    #[command(flatten)]
    target: Target,

    /// The member
    #[arg(value_parser = name)]
    member: Name,

    /// Further names: NAME or NAME=FUNCTION
    #[arg(required = true, value_name = "ALIAS")]
    aliases: Vec<String>,
}

impl Alias {
    /// Gives the names.
    pub fn run(self) -> ExitCode {
        let edits = self.aliases.iter().map(|alias| alias_edit(alias, self.member));
        self.target.change(edits, self.aliases.len(), "added {n}")
    }
}
