//! `lib add`, `lib delete`, `lib rename`, `lib alias`: changes of a library, each made as a whole or not at all.

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

use super::any_library::warn_of_doubt;
use super::list::json;
use super::progress::Progress;
use super::text::{about, many};
use super::{fetch_options, name, now};
use crate::exit::ExitCode;
use crate::printing::Printing;

/// Which library is changed, and whether to wait for another process that changes it.
#[derive(Args)]
pub struct Target {
    #[command(flatten)]
    pub printing: Printing,

    /// The library
    pub library: PathBuf,

    /// Wait while another process changes the library
    #[arg(long)]
    pub wait: bool,
}

/// The result of a change as JSON.
#[derive(Serialize)]
struct Done {
    library: String,
    changes: u64,
    members: u32,
    aliases: u32,
}

impl Target {
    fn change(&self, edits: impl IntoIterator<Item = Result<Edit>>, expected: usize, done: &str) -> ExitCode {
        // The doubt about the members it starts from. If the library cannot be opened, the change reports why.
        if let Ok(library) = Library::open(&self.library)
            && library.doubt().is_some_and(|doubt| doubt.other != Other::Damaged)
        {
            warn_of_doubt(&library, self.printing.color);
        }
        let changed = apply(&self.library, edits, expected, now(), self.wait);
        self.say(changed, done)
    }

    /// Prints the change, or why there is none.
    pub fn say(&self, changed: Result<Changed>, done: &str) -> ExitCode {
        say(&self.printing, &self.library, changed, done)
    }
}

/// Prints the change, or why there is none. `done` describes it, with `{n}` for the number.
pub fn say(printing: &Printing, library: &Path, changed: Result<Changed>, done: &str) -> ExitCode {
    let path = library.shown();
    match changed.map_err(|error| with_other_case(library, error)) {
        Err(error) => {
            let help = match &error {
                // These messages name their file, which need not be the library.
                Error::System { .. } | Error::NotPlain(_) | Error::FileExists(_) | Error::Unsure { .. } => {
                    return printing.fail(error);
                }
                Error::Exists(_) => "; add and copy replace members with --replace",
                Error::Busy => "; use --wait to wait for it",
                Error::DeviceFull if library.exists() => "; the library is unchanged",
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

/// An error about a name that the library does not have also tells the name in other case, if there is one.
fn with_other_case(library: &Path, error: Error) -> Error {
    match error {
        Error::NoMember(missing) => match Library::open(library) {
            Ok(library) => library.no_member(missing.name),
            Err(_) => Error::NoMember(missing),
        },
        error => error,
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

From a folder, all shared objects (*.so, *.so.*) are added, except links. A member has the name of its file without .so. A
file that is not ELF becomes a member of data. Files that LOAD and exec cannot run are refused: executables (link them with
-shared), object files, programs of other machines, damaged programs. Either all files are added, or none.

Exit status: 0 added, 2 wrong usage, a file that cannot be a member, or a library that cannot be changed.")]
pub struct Add {
    #[command(flatten)]
    target: Target,

    /// Shared objects, other files, folders
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The member's name, for one file
    #[arg(long, value_parser = name)]
    name: Option<Name>,

    /// The function that is the entry point [default: the function of the member's name, or main]
    #[arg(long, value_name = "FUNCTION")]
    entry: Option<String>,

    /// An alias, for one file; NAME=FUNCTION gives it its own entry point; may be given several times
    #[arg(long, value_name = "NAME")]
    alias: Vec<String>,

    /// Replace members of the same names
    #[arg(long)]
    replace: bool,

    /// For a PDS: shorten names to their first eight characters
    #[arg(long)]
    shorten: bool,

    /// How LOAD fetches the programs (FETCHOPT)
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
                why: "the folder has no shared object; name other files one by one".into(),
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

/// The most bytes of a member that comes from a pipe or a device, which may have no end.
const STREAM_MOST: u64 = 1 << 30;

/// The bytes of a file. Anything but a plain file must be open already, such as `/dev/stdin`.
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
        let why = "it has more than 1 GiB and no known end; only a plain file may be larger";
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

In a PDS the blocks stay as a gap until `lib compress`; the pages of a PDSE are reused.

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

    /// The present name
    #[arg(value_parser = name)]
    old: Name,

    /// The new name
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

An alias enters the function after =, or else the function of its own name, or else the member's entry point.

Exit status: 0 done, 2 wrong usage, no such member or function, a name that is taken, or a library that cannot be changed.")]
pub struct Alias {
    #[command(flatten)]
    target: Target,

    /// The member
    #[arg(value_parser = name)]
    member: Name,

    /// The aliases: NAME or NAME=FUNCTION
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
