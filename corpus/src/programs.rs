//! `cargo xtask try-programs DIR...`: every shared object below the folders, loaded and given back by underbar and by dlopen.
//!
//! ```text
//! for each file: a process for dlopen, one for LOADs from the pool, one for LOADs with nothing kept
//!                each opens and closes twice ──> opened | refused | died | took too long
//! ```
//!
//! A file fails if dlopen opens it twice and a LOAD does not, or the other way round, or if the process of a LOAD ends
//! and that of dlopen does not. The files are other people's: they run their constructors here.
//!
//! Invariant: each shared object is counted once, by its file, however many links it has.
//! Not here: calls between LOAD and DELETE (the tests of `underbar-fetch`).

use std::collections::HashSet;
use std::ffi::CString;
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use underbar_fetch::table::{self, Options};
use underbar_fetch::{REASONS, repeat};

/// Seconds for one process.
const BOUND: &str = "60";
/// The number of times that a file is opened and closed.
const TIMES: u64 = 2;

const WAYS: [(&str, &str); 3] =
    [("dlopen", "dlopen, dlclose"), ("kept", "LOAD, DELETE"), ("anew", "LOAD, DELETE, nothing kept")];

/// Loads everything; true if all results are those of dlopen.
pub fn command(words: &[&str]) -> Result<bool, String> {
    let (all, folders): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with('-'));
    if folders.is_empty() || all.iter().any(|word| *word != "--all") {
        return Err("cargo xtask try-programs DIR... [--all]".to_owned());
    }
    let (mut files, mut seen) = (Vec::new(), HashSet::new());
    for folder in &folders {
        find(Path::new(folder), &mut files, &mut seen);
    }
    files.sort();
    if files.is_empty() {
        return Err("no shared objects".to_owned());
    }
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let row = WAYS.map(|(way, _)| try_one(way, file));
                    if !all.is_empty() || !is_alike(&row) {
                        print(file, &row);
                    }
                    found.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(row);
                }
            });
        }
    });
    let found = found.into_inner().unwrap_or_default();
    Ok(summary(&found))
}

/// Ends as the process for one file.
pub fn one(way: &str, path: &str) -> ExitCode {
    match open_and_close(way, path) {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(text) => {
            println!("{text}");
            ExitCode::from(1)
        }
    }
}

fn open_and_close(way: &str, path: &str) -> Result<String, String> {
    let c = CString::new(path).map_err(|_| "a path with a zero")?;
    if way == "dlopen" {
        return repeat::open_and_close(&c, TIMES).map(|()| String::new()).map_err(|text| text.to_string());
    }
    let pool_bytes = if way == "kept" { 1 << 30 } else { 0 };
    table::set_options(Options { pool_bytes, keep_after: 1, lookaside: true });
    let library = table::open(&c, true).map_err(|error| error.to_string())?;
    let name = Path::new(path).file_name().unwrap_or_default().as_bytes();
    let name = name.strip_suffix(b".so").unwrap_or(name);
    repeat::load_and_delete(library, name, TIMES).map_err(|error| error.to_string())?;
    let fallbacks = table::statistics().fallbacks;
    let left = REASONS.iter().zip(fallbacks).find(|(_, count)| *count > 0);
    Ok(left.map_or_else(String::new, |((_, key, _), _)| (*key).to_owned()))
}

/// The result of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    /// Both times; with the reason why it was left to the system's loader, if it was.
    Opened(String),
    Refused(String),
    Died(String),
}

impl Outcome {
    fn kind(&self) -> u8 {
        match self {
            Outcome::Opened(_) => 0,
            Outcome::Refused(_) => 1,
            Outcome::Died(_) => 2,
        }
    }
}

fn try_one(way: &str, file: &Path) -> Outcome {
    let Ok(program) = std::env::current_exe() else {
        return Outcome::Died("no program of our own".to_owned());
    };
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", BOUND]).arg(program).args(["try-programs", "--one", way]).arg(file);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return Outcome::Died(format!("timeout: {error}")),
    };
    let first = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().next().unwrap_or_default().to_owned();
    match (output.status.code(), output.status.signal()) {
        (Some(0), _) => Outcome::Opened(
            String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default().to_owned(),
        ),
        (Some(1), _) => Outcome::Refused(first(&output.stdout)),
        (code, signal) => {
            let how = signal.map_or_else(
                || format!("status {}", code.unwrap_or(-1)),
                |number| format!("signal {number}"),
            );
            Outcome::Died(format!("{how} {}", first(&output.stderr)))
        }
    }
}

/// If dlopen ends the process, there is nothing to compare with.
fn is_alike([system, others @ ..]: &[Outcome; 3]) -> bool {
    matches!(system, Outcome::Died(_)) || others.iter().all(|one| one.kind() == system.kind())
}

fn print(file: &Path, row: &[Outcome; 3]) {
    let word = if is_alike(row) { "alike" } else { "DIFFERS" };
    println!("{word} {}", file.display());
    for ((_, about), outcome) in WAYS.iter().zip(row) {
        println!("  {about}: {outcome:?}");
    }
}

fn summary(found: &[[Outcome; 3]]) -> bool {
    let alike = found.iter().filter(|row| is_alike(row)).count();
    for (at, (_, about)) in WAYS.iter().enumerate() {
        let count = |kind| found.iter().filter(|row| row[at].kind() == kind).count();
        let left =
            found.iter().filter(|row| matches!(&row[at], Outcome::Opened(why) if !why.is_empty())).count();
        println!(
            "{about}: {} opened twice ({left} left to dlopen), {} refused, {} ended",
            count(0),
            count(1),
            count(2)
        );
    }
    println!("{alike} of {} as with dlopen", found.len());
    alike == found.len()
}

/// Shared objects below a folder, without links.
fn find(folder: &Path, files: &mut Vec<PathBuf>, seen: &mut HashSet<(u64, u64)>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
        if kind.is_dir() {
            find(&path, files, seen);
            continue;
        }
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if kind.is_file()
            && (name.ends_with(".so") || name.contains(".so."))
            && let Ok(status) = entry.metadata()
            && is_shared_object(&path)
            && seen.insert((status.dev(), status.ino()))
        {
            files.push(path);
        }
    }
}

/// Whether it begins like a shared object for 64 bits.
fn is_shared_object(path: &Path) -> bool {
    let mut head = [0; 20];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head.starts_with(b"\x7fELF\x02\x01") && head[16..20] == [3, 0, 62, 0]
}

#[cfg(test)]
mod tests {
    use super::{Outcome, is_alike};

    #[test]
    fn a_process_that_ends_is_not_like_one_that_refuses() {
        let opened = || Outcome::Opened(String::new());
        let refused = |why: &str| Outcome::Refused(why.to_owned());
        assert!(is_alike(&[opened(), opened(), Outcome::Opened("needed".to_owned())]));
        assert!(is_alike(&[refused("a"), refused("b"), refused("c")]));
        assert!(!is_alike(&[opened(), opened(), refused("")]));
        assert!(!is_alike(&[refused(""), Outcome::Died(String::new()), refused("")]));
    }
}
