//! Saved accounts, read again: a JSON report, or a ledger file.
//!
//! ```text
//! bytes ── begin with UNDERBAR ──> ledger ──> report, as far as a ledger knows
//!       ── begin with { ─────────> JSON report
//!       ── anything else ────────> an error that names the kind of file, if it is known
//! ```
//!
//! Lock areas in the folder of a ledger are read with it.
//! `run --exec -o FILE` and a bare preload with MSGFILE leave a ledger. It has no step timings and no exit status, since no
//! parent waited, and no machine: it is taken to be from this machine.
//! Invariant: any bytes give a report or an error, and a bounded amount of work.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use underbar_shown::Shown;

use underbar_launch::ledger::found::Meant;
use underbar_launch::{Alive, foreign_file, last, ledger};
use underbar_ledger::layout::{FILE_BYTES, MAGIC};
use underbar_ledger::view::LedgerError;
use underbar_ledger::{LedgerView, SlotView};
use underbar_options::{Base, WhereSet};
use underbar_report::gather::Facts;
use underbar_report::lock::Area;
use underbar_report::model::Run;
use underbar_report::{ReadError, Report};

use underbar_runner::allocators;
use underbar_runner::layers::Layers;
use underbar_runner::naming::Names;
use underbar_runner::{host, lock_areas};

/// No report is longer: one with all slots in use has 4 MiB.
const MOST_BYTES: u64 = 64 << 20;

/// Why a file gives no report.
#[derive(Debug)]
pub struct SavedError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a file. In all cases but the first, the file is at fault.
#[derive(Debug)]
pub enum Fault {
    /// The system: it cannot be read.
    Unreadable(io::Error),
    /// There is no such file, and the name means no program with accounts. The folders in which ledgers were looked for.
    Nothing(Vec<PathBuf>),
    /// There is nothing in it.
    Empty,
    /// No run of this user has left its report.
    NoRun,
    /// It is no file, and several programs of this name keep accounts; the names of their ledgers.
    Several(Vec<String>),
    /// It is longer than any report.
    TooLong,
    /// It is JSON, or begins like JSON, but is not a readable report.
    Report(ReadError),
    /// A ledger that cannot be read.
    Ledger(LedgerError),
    /// A ledger that ends too early.
    LedgerCut(usize),
    /// A report in its printed form.
    Printed,
    /// Something else.
    Other,
    /// Something else, in a place where a listing is also possible.
    NoListing,
    /// No listing in the part that was read.
    NoListingSoFar,
}

impl fmt::Display for SavedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.shown())?;
        match &self.fault {
            Fault::Unreadable(error) => write!(f, "{error}"),
            Fault::Nothing(folders) => {
                let folders: Vec<String> = folders.iter().map(|folder| folder.shown().to_string()).collect();
                write!(
                    f,
                    "there is no file of this name here, and no program or ledger of this name in {}; \
                     `underbar ls` lists the programs that keep accounts",
                    folders.join(", ")
                )
            }
            Fault::Empty => f.write_str("the file is empty; has its run ended?"),
            Fault::NoRun => f.write_str(
                "no report is kept: there was no run yet, or no place for its report; \
                 `underbar run -- PROGRAM` keeps one, `underbar run --json -o FILE` writes one to FILE",
            ),
            Fault::Several(names) => {
                write!(f, "several programs of this name keep accounts; name one of: {}", names.join(", ").shown())
            }
            Fault::TooLong => f.write_str("not an underbar report: it is longer than any report"),
            Fault::Report(error) => write!(f, "{error}"),
            Fault::Ledger(LedgerError::OtherVersion) => {
                f.write_str("the ledger was written by another version of underbar; read it with that version")
            }
            Fault::Ledger(error) => write!(f, "{error}"),
            Fault::LedgerCut(length) => {
                write!(f, "the ledger is cut short: it has {length} of {FILE_BYTES} bytes")
            }
            Fault::Printed => f.write_str(
                "not a saved report: it is the printed form; `underbar run --json -o FILE` saves a report",
            ),
            Fault::NoListing => f.write_str(
                "neither an underbar report nor a ledger file, and it holds no known listing",
            ),
            Fault::NoListingSoFar => f.write_str(
                "no known listing in its first 64 MiB, so the rest was not read; cut out the part with the listing",
            ),
            Fault::Other => {
                f.write_str("not an underbar report: neither the JSON of `underbar run --json` nor a ledger file")
            }
        }
    }
}

impl std::error::Error for SavedError {}

/// Reads a saved report or a ledger. A ledger may be given by the name that its run printed, by the name of a program that keeps accounts,
/// or by the number of its process; `-` is standard input.
///
/// # Errors
/// What is wrong with the file.
pub fn read(path: &Path) -> Result<Report, SavedError> {
    let named = |fault| SavedError { path: path.to_owned(), fault };
    if path == Path::new("-") {
        let bytes = all(io::stdin().lock()).map_err(named)?;
        return report(&bytes).map_err(named);
    }
    // A file of that name comes first; else a run may have left its accounts under the name.
    let left = match word_for_a_program(path) {
        Some(word) => match meant(&word).map_err(named)? {
            None if !path.exists() => return Err(named(Fault::Nothing(ledger::found::searched()))),
            left => left,
        },
        None => None,
    };
    let path = left.as_deref().unwrap_or(path);
    let open = || -> Result<Report, Fault> {
        let mut file = File::open(path).map_err(Fault::Unreadable)?;
        let status = file.metadata().map_err(Fault::Unreadable)?;
        let mut magic = [0; size_of_val(&MAGIC)];
        if status.is_file() && file.read_exact_at(&mut magic, 0).is_ok() && magic == MAGIC.to_le_bytes() {
            if status.len() < FILE_BYTES as u64 {
                return Err(Fault::LedgerCut(usize::try_from(status.len()).unwrap_or(0)));
            }
            let bytes = ledger::read(&file).map_err(Fault::Unreadable)?;
            let view = LedgerView::new(&bytes).map_err(Fault::Ledger)?;
            return Ok(of_ledger(&view, Some(&status), lock_areas(ledger::areas(path))));
        }
        report(&all(&mut file)?)
    };
    open().map_err(named)
}

/// The ledger from which [`read`] reads a report; None if it reads something else.
pub fn ledger_of(path: &Path) -> Option<PathBuf> {
    let left = word_for_a_program(path).and_then(|word| meant(&word).ok().flatten());
    let path = left.unwrap_or_else(|| path.to_owned());
    let mut magic = [0; size_of_val(&MAGIC)];
    let file = foreign_file::open(&path).ok()?;
    (file.read_exact_at(&mut magic, 0).is_ok() && magic == MAGIC.to_le_bytes()).then_some(path)
}

/// The name of a program, or of a ledger, if this is no file that is to be read: there is none of this name, or it is a folder or a
/// program. That has its name where the user stands next to it, and its whole path where a path was given.
pub fn word_for_a_program(path: &Path) -> Option<String> {
    let word = path.to_str()?;
    if !path.exists() || path.is_dir() {
        return (!word.contains('/')).then(|| word.to_owned());
    }
    let mut first = [0; 4];
    let file = foreign_file::open(path).ok()?;
    if file.read_exact_at(&mut first, 0).is_err() || first != *b"\x7fELF" {
        return None;
    }
    if !word.contains('/') {
        return Some(word.to_owned());
    }
    path.canonicalize().ok()?.into_os_string().into_string().ok()
}

/// The ledger that a word means.
fn meant(word: &str) -> Result<Option<PathBuf>, Fault> {
    match ledger::named(word).map_or_else(|| ledger::found::meant(word), Meant::One) {
        Meant::None => Ok(None),
        Meant::One(path) => Ok(Some(path)),
        Meant::Several(names) => Err(Fault::Several(names)),
    }
}

/// Reads the report of this user's last run.
///
/// # Errors
/// No report is kept, or the report that is kept is damaged.
pub fn last() -> Result<Report, SavedError> {
    let named = |path, fault| SavedError { path, fault };
    let Some((path, bytes)) = last::kept() else { return Err(named("last run".into(), Fault::NoRun)) };
    report(&bytes).map_err(|fault| named(path, fault))
}

/// The same from the bytes that were read already, and the rest.
///
/// # Errors
/// What is wrong with it.
pub fn read_on(path: &Path, start: &[u8], rest: impl Read) -> Result<Report, SavedError> {
    let named = |fault| SavedError { path: path.to_owned(), fault };
    let bytes = all(start.chain(rest)).map_err(named)?;
    report(&bytes).map_err(named)
}

fn all(mut reader: impl Read) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    let mut most = MOST_BYTES;
    reader.by_ref().take(most + 1).read_to_end(&mut bytes).map_err(Fault::Unreadable)?;
    // A ledger is mostly holes, which no pipe has.
    if bytes.len() as u64 > most && bytes.starts_with(&MAGIC.to_le_bytes()) {
        most = FILE_BYTES as u64;
        let rest = most + 1 - bytes.len() as u64;
        reader.take(rest).read_to_end(&mut bytes).map_err(Fault::Unreadable)?;
    }
    if bytes.len() as u64 > most { Err(Fault::TooLong) } else { Ok(bytes) }
}

fn report(bytes: &[u8]) -> Result<Report, Fault> {
    let start = bytes.trim_ascii_start();
    if start.is_empty() {
        Err(Fault::Empty)
    } else if bytes.starts_with(&MAGIC.to_le_bytes()) {
        if bytes.len() < FILE_BYTES {
            return Err(Fault::LedgerCut(bytes.len()));
        }
        let view = LedgerView::new(bytes).map_err(Fault::Ledger)?;
        Ok(of_ledger(&view, None, Vec::new()))
    } else if start[0] == b'{' {
        Report::from_json(bytes).map_err(Fault::Report)
    } else if is_printed(start) {
        Err(Fault::Printed)
    } else {
        Err(Fault::Other)
    }
}

/// Is it the output of `run` without `--json`?
fn is_printed(start: &[u8]) -> bool {
    let head = &start[..start.len().min(400)];
    let has = |words: &[u8]| head.windows(words.len()).any(|window| window == words);
    start.starts_with(b"underbar: ") || (has(b"Report for Enclave") && has(b"\nunderbar V"))
}

/// The path, if the ledger had room for it; else the name at its end, since a path that is cut short names another file.
fn whole(program: &str) -> &Path {
    let path = Path::new(program);
    if path.is_absolute() { path } else { Path::new(path.file_name().unwrap_or_default()) }
}

/// The word that starts the program again: its path, or, if it was started by a link to its file, the link. A program may do another thing
/// under its file's own name, as Debian's redis-check-rdb does, to which redis-server is a link.
fn word_of_start<'a>(path: &'a str, started_as: &'a str, own_name: &'a str) -> &'a str {
    match started_as {
        "" => path,
        link if Path::new(own_name).file_name() == Some(OsStr::new(link)) => own_name,
        link => link,
    }
}

/// The report of a ledger. The facts that the launcher would add are taken from the ledger and its file, if they have them.
fn of_ledger(view: &LedgerView<'_>, status: Option<&Metadata>, areas: Vec<Area>) -> Report {
    let first = view.slots().min_by_key(SlotView::started_ns);
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let program = first.as_ref().map_or(String::new(), |slot| words(slot.program()));
    let started_as = first.as_ref().map_or(String::new(), |slot| words(slot.started_as()));
    let mut arguments: Vec<String> = first.as_ref().map_or(Vec::new(), |slot| {
        slot.arguments().split(|&byte| byte == 0).filter(|word| !word.is_empty()).map(words).collect()
    });
    let own_name = if arguments.is_empty() { String::new() } else { arguments.remove(0) };
    let mut layers = Layers::new(Base::Underbar);
    layers.add(WhereSet::Environment, "option text of the run".to_owned(), words(view.options().0));
    let made = status.and_then(|status| status.created().or_else(|_| status.modified()).ok());
    let started_unix_ns = made
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
    let facts = Facts {
        host: host(started_unix_ns),
        run: Run {
            program: word_of_start(&program, &started_as, &own_name).to_owned(),
            arguments,
            process: first.as_ref().map_or(0, |slot| slot.process.number),
            started_unix_ns,
            end: None,
            later: None,
        },
        options: layers.told(&layers.settings_of(whole(&program), OsStr::new(&started_as))),
        areas,
        ..Facts::default()
    };
    let alive = Alive::default();
    let mut report = Report::from_ledger(view, facts, |slot| alive.has(slot));
    report.name_locks(&mut Names::default());
    allocators::name(&mut report);
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message for a file with these bytes.
    fn check(bytes: &[u8], expect: &str) {
        let fault = report(bytes).expect_err(expect);
        let error = SavedError { path: "r".into(), fault };
        assert_eq!(error.to_string(), format!("r: {expect}"));
    }

    #[test]
    fn a_folder_hides_no_program_of_its_name() {
        assert_eq!(word_for_a_program(Path::new("src")).as_deref(), Some("src"), "a folder of this crate");
        assert_eq!(word_for_a_program(Path::new("Cargo.toml")), None);
        assert_eq!(word_for_a_program(Path::new("./nothing")), None);
    }

    #[test]
    fn a_program_that_a_link_started_is_called_by_the_link() {
        let word = |started_as, own_name| word_of_start("/usr/bin/redis-check-rdb", started_as, own_name);
        assert_eq!(word("redis-server", "/usr/bin/redis-server"), "/usr/bin/redis-server");
        assert_eq!(word("redis-server", "redis-server"), "redis-server");
        assert_eq!(word("redis-server", "-other"), "redis-server", "a name that the starter made up");
        assert_eq!(word("", "anything"), "/usr/bin/redis-check-rdb");
    }

    #[test]
    fn what_is_no_report_is_called_what_it_is() {
        const OTHER: &str =
            "not an underbar report: neither the JSON of `underbar run --json` nor a ledger file";
        const PRINTED: &str =
            "not a saved report: it is the printed form; `underbar run --json -o FILE` saves a report";
        check(b"", "the file is empty; has its run ended?");
        check(b" \n", "the file is empty; has its run ended?");
        check(b"\x7fELF", OTHER);
        check(b"1Storage Report for Enclave main 10/18/21\n Language Environment V02 R04.00\n", OTHER);
        check(b"underbar: ls: exit 0\n", PRINTED);
        check(b"Storage Report for Enclave ls 11/21/26\nunderbar V00 R01.00\n", PRINTED);
        check(b"{", "the report is cut short: it ends at line 1, column 1, inside an object");
        check(
            br#"{"schema": "underbar.report/9"}"#,
            "the report is of schema \"underbar.report/9\"; this version of underbar reads \"underbar.report/1\"",
        );
        check(b"UNDERBAR", &format!("the ledger is cut short: it has 8 of {FILE_BYTES} bytes"));
        let mut other = vec![0xff; FILE_BYTES];
        other[..8].copy_from_slice(b"UNDERBAR");
        check(&other, "the ledger was written by another version of underbar; read it with that version");
    }
}
