//! `underbar exec LIBRARY(PROGRAM) ARGUMENTS`: a program of a library, run in the place of this command.
//!
//! Invariant: the program has the arguments, environment, descriptors and signals of this command, and the command ends with
//! the program's exit status.
//! Not here: how it is found and loaded (`underbar_fetch`).

use std::ffi::{CStr, CString, OsString};
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use underbar_shown::Shown;

use clap::Args;
use underbar_fetch::Error;
use underbar_fetch::table::{self, Library};
use underbar_sys::inherited::restore_dispositions;

use super::lib::any_library::{is_ours, is_theirs, warn_of_doubt};
use crate::OWN_FAILURE;
use crate::exit::ExitCode;
use crate::say::{Color, Kind, say};

const CANNOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;

/// The flags of `exec`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar exec '/srv/job.library(REPORT)' 2026
  underbar exec --library /srv/job.library --library /srv/common.library REPORT 2026
  underbar run -- underbar exec 'programs/(report)' 2026

A library is a PDSE, a PDS, a folder of shared objects, or one shared object. The program must export `main`. It replaces \
this command. underbar's own loader loads it, or dlopen if the program needs something that this loader does not support.

Exit status: that of the program; 125 wrong usage, 126 the program cannot be loaded, 127 there is no such library or program.")]
pub struct Exec {
    /// Search this library; may be given several times, and the order of search is the order given
    #[arg(short, long, value_name = "PATH")]
    library: Vec<PathBuf>,

    /// When messages are coloured
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    color: Color,

    /// The program: LIBRARY(PROGRAM), or PROGRAM with --library; then its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "LIBRARY(PROGRAM) [ARGUMENT]..."
    )]
    program: Vec<OsString>,
}

impl Exec {
    /// Becomes the program.
    pub fn run(self) -> ExitCode {
        let mut words = self.program.iter();
        let Some(first) = words.next() else { return ExitCode::from(OWN_FAILURE) };
        let (last, name) = parts(first.as_bytes());
        let paths: Vec<&Path> = self.library.iter().map(PathBuf::as_path).chain(last).collect();
        if paths.is_empty() {
            say(self.color, Kind::Error, "no library was named; use LIBRARY(PROGRAM) or --library LIBRARY");
            return ExitCode::from(OWN_FAILURE);
        }
        let libraries = match paths.iter().map(|path| open(path, self.color)).collect::<Result<Vec<_>, _>>() {
            Ok(libraries) => libraries,
            Err((code, message)) => {
                say(self.color, Kind::Error, message);
                return ExitCode::from(code);
            }
        };
        // The words came from the command line, so there is no zero byte in them.
        let arguments: Vec<CString> = [name.to_vec()]
            .into_iter()
            .chain(words.map(|word| word.clone().into_vec()))
            .flat_map(CString::new)
            .collect();
        let arguments: Vec<&CStr> = arguments.iter().map(CString::as_c_str).collect();
        restore_dispositions();
        let error = underbar_fetch::link::become_program(&libraries, name, &arguments);
        let is_missing = matches!(error, Error::NotFound(_));
        let other = if is_missing { in_other_case(&paths, name) } else { None };
        let hint = other.map_or(String::new(), |name| format!("; there is {name}"));
        say(self.color, Kind::Error, format_args!("{}: {error}{hint}", first.shown()));
        ExitCode::from(if is_missing { NOT_FOUND } else { CANNOT_RUN })
    }
}

/// The program of this name but for upper and lower case, of the first library that has one.
fn in_other_case(libraries: &[&Path], name: &[u8]) -> Option<String> {
    let mut names = libraries.iter().flat_map(|path| names_in(path));
    names.find(|known| known.as_bytes().eq_ignore_ascii_case(name)).map(|known| known.shown().to_string())
}

/// The names of the programs in a library; none if it cannot be read.
fn names_in(path: &Path) -> Vec<OsString> {
    if let Ok(files) = std::fs::read_dir(path) {
        let names = files.filter_map(|file| Some(Path::new(&file.ok()?.file_name()).file_stem()?.to_owned()));
        return names.collect();
    }
    let names = underbar_store::library::Library::open(path).and_then(|library| library.names());
    names.unwrap_or_default().into_iter().map(|(name, _)| name.to_string().into()).collect()
}

/// The library, if the word names one, and the program.
fn parts(word: &[u8]) -> (Option<&Path>, &[u8]) {
    if let Some(rest) = word.strip_suffix(b")")
        && let Some(at) = rest.iter().rposition(|byte| *byte == b'(')
        && at > 0
    {
        return (Some(Path::new(std::ffi::OsStr::from_bytes(&rest[..at]))), &rest[at + 1..]);
    }
    (None, word)
}

/// Opens a library, or returns the exit status and the reason.
fn open(path: &Path, color: Color) -> Result<Library, (u8, String)> {
    let wrong = |code, why: &dyn std::fmt::Display| (code, format!("{}: {why}", path.shown()));
    let status = std::fs::metadata(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => wrong(NOT_FOUND, &"there is no such file"),
        _ => wrong(NOT_FOUND, &error),
    })?;
    if is_theirs(path) {
        let why = "this is a mainframe's library, and its programs cannot run here; underbar lib ls and lib info read it";
        return Err(wrong(CANNOT_RUN, &why));
    }
    if !status.is_dir() && !is_ours(path).unwrap_or(true) && !is_elf(path) {
        return Err(wrong(NOT_FOUND, &"this is no program library"));
    }
    let text = CString::new(path.as_os_str().as_bytes()).map_err(|error| wrong(NOT_FOUND, &error))?;
    let library = table::open(&text, true).map_err(|error| wrong(NOT_FOUND, &error))?;
    // Opened again as `underbar lib` does, for the same warning, only if the library is doubtful.
    if table::is_doubtful(library) == Ok(true)
        && let Ok(library) = underbar_store::library::Library::open(path)
    {
        warn_of_doubt(&library, color);
    }
    Ok(library)
}

/// Is it an ELF file?
fn is_elf(path: &Path) -> bool {
    let mut first = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == *b"\x7fELF"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_names_library_and_program() {
        let of = |word: &'static str| parts(word.as_bytes());
        assert_eq!(of("/a/b.lib(PROG)"), (Some(Path::new("/a/b.lib")), &b"PROG"[..]));
        assert_eq!(of("a(b)(PROG)"), (Some(Path::new("a(b)")), &b"PROG"[..]));
        assert_eq!(of("PROG"), (None, &b"PROG"[..]));
        assert_eq!(of("(PROG)"), (None, &b"(PROG)"[..]), "no library");
        assert_eq!(of("lib(PROG"), (None, &b"lib(PROG"[..]));
    }
}
