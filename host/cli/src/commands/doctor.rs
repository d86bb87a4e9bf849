//! `underbar doctor [-- PROGRAM [ARGUMENT...]]`: what works here and what does not, and why.
//!
//! ```text
//! verdict        can underbar serve PROGRAM, or any program?
//! this machine   library placed, ledger placed, a trial run of underbar itself, kernel settings
//! costs          costs of pages, system calls and hand-overs here
//! PROGRAM        found, can carry the library, brings an allocator along
//! ```
//!
//! Invariant: PROGRAM is read and never run. Each line says what was found, and what is lost, if anything.
//! Not here: how costs are measured (`costs`), where the library and the ledger are placed (`launch`), which files carry the
//! library (`runtime::follow`).

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use underbar_shown::Shown;

use clap::Args;
use serde_json::json;
use underbar_launch::{Launch, LedgerFile, Library, Reason};
use underbar_options::Base;
use underbar_profile::{DEFAULT_RATE, Sampler};
use underbar_sys::machine::{Resource, limit};
use underbar_sys::syscall::access;

use crate::costs::{self, Measured};
use crate::embedded;
use crate::exit::ExitCode;
use crate::printing::Printing;
use underbar_launch::find;
use underbar_runner::Runner;
use underbar_runner::layers::Layers;
use underbar_symbols::brought::Brought;

/// Name and version of the form that the answer has in JSON.
const SCHEMA: &str = "underbar.doctor/1";

/// The program would run as if plain, or no accounts would be kept.
const NOT_SERVED: u8 = 1;

/// The check of whether the program can carry the library.
const CARRIES: &str = "carries";

/// The flags of `doctor`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar doctor
  underbar doctor -- ./prog
  underbar doctor --json -- /usr/bin/ssh

PROGRAM is read, not run. A cost is the time of one operation: the median and the best of several batches, whose number
and size each line gives. Other work on the machine makes it larger.

Exit status: 0 programs (or PROGRAM) will be served, perhaps with limits; 1 they would run plain or without accounts;
2 wrong usage, or there is no such program.")]
pub struct Doctor {
    /// A program to check; its arguments are ignored
    #[arg(last = true, value_name = "PROGRAM [ARGUMENT]")]
    program: Vec<OsString>,

    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    printing: Printing,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ok,
    /// It works, but not all of it.
    Limited,
    /// It does not work.
    No,
    /// It could not be found out.
    Unknown,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Limited => "limited",
            State::No => "no",
            State::Unknown => "unknown",
        }
    }
}

/// One thing that was checked.
struct Check {
    name: &'static str,
    state: State,
    found: String,
}

impl Check {
    fn new(name: &'static str, state: State, found: impl Into<String>) -> Check {
        Check { name, state, found: found.into() }
    }
}

impl Doctor {
    /// Checks, and prints what it found.
    pub fn run(self) -> ExitCode {
        let library = embedded::library(true);
        let mut checks = machine(&library);
        if let Some(name) = self.program.first() {
            let Some(path) = find(name).filter(|path| path.exists()) else {
                return self.printing.fail(format_args!("{}: no such program", name.shown()));
            };
            if !may_be_executed(&path) {
                return self.printing.fail(format_args!("{}: it may not be executed", path.shown()));
            }
            checks.extend(program(&path, library.as_ref().ok()));
        }
        let verdict = verdict(self.program.first().map(|name| name.shown().to_string()), &checks);
        let code = if checks.iter().any(|check| check.state == State::No) { NOT_SERVED } else { 0 };
        let costs = costs::measure();
        let text = if self.printing.json {
            in_json(&verdict, &checks, &costs)
        } else {
            in_words(&verdict, &checks, &costs)
        };
        self.printing.print_words(&text, self.output.as_deref(), code)
    }
}

fn may_be_executed(path: &Path) -> bool {
    const EXECUTE: u32 = 1;
    let name = std::ffi::CString::new(path.as_os_str().as_encoded_bytes());
    path.is_file() && name.is_ok_and(|name| access(&name, EXECUTE).is_ok())
}

/// All checks in one sentence: the worst decides, and the first of its kind gives the reason.
fn verdict(program: Option<String>, checks: &[Check]) -> String {
    let subject = program.unwrap_or_else(|| "programs".to_owned());
    let first = |state: State| checks.iter().find(|check| check.state == state);
    let words = match (first(State::No), first(State::Limited)) {
        // A program that cannot carry the library is the subject already, so the check's name would repeat it.
        (Some(Check { name: CARRIES, found, .. }), _) => format!("will not be served: {found}"),
        (Some(check), _) => format!("will not be served: {}: {}", check.name, check.found),
        (None, Some(check)) => format!("will be served, with limits: {}: {}", check.name, check.found),
        (None, None) => "will be served".to_owned(),
    };
    format!("{subject} {words}").replace(char::is_control, "?")
}

fn in_words(verdict: &str, checks: &[Check], costs: &[Measured]) -> String {
    let lines = checks.iter().map(|check| {
        let (state, found) = (check.state.word(), check.found.replace(char::is_control, "?"));
        format!("{state:<8} {:<14} {found}\n", check.name)
    });
    std::iter::once(format!("{verdict}\n")).chain(lines).chain(costs.iter().map(Measured::text)).collect()
}

fn in_json(verdict: &str, checks: &[Check], costs: &[Measured]) -> String {
    let checks: Vec<_> = checks
        .iter()
        .map(|check| json!({"name": check.name, "state": check.state.word(), "found": check.found}))
        .collect();
    let costs: Vec<_> = costs.iter().map(Measured::json).collect();
    format!("{}\n", json!({"schema": SCHEMA, "verdict": verdict, "checks": checks, "costs": costs}))
}

fn machine(library: &Result<Library, underbar_launch::LibraryError>) -> Vec<Check> {
    let mut checks = vec![placed(library)];
    checks.push(match LedgerFile::create(b"") {
        Ok(ledger) => Check::new("ledger", State::Ok, folder(ledger.path())),
        Err(error) => Check::new("ledger", State::No, format!("no place for it, so no accounts: {error}")),
    });
    checks.push(trial(library.as_ref().ok()));
    checks.extend([
        c_library(),
        huge_pages(),
        mappings(),
        low_addresses(),
        overcommit(),
        address_space(),
        seccomp(),
        tracing(),
        samples(),
    ]);
    checks.extend(other_preload());
    checks
}

fn folder(path: &Path) -> String {
    path.parent().unwrap_or(path).shown().to_string()
}

fn placed(library: &Result<Library, underbar_launch::LibraryError>) -> Check {
    const NAME: &str = "library";
    match library {
        Ok(library) if library.path().starts_with("/proc") => Check::new(
            NAME,
            State::Limited,
            "in memory, since code may not run from any cache folder: it serves neither `run --exec` nor programs that \
             outlive underbar",
        ),
        Ok(library) => Check::new(NAME, State::Ok, library.path().shown().to_string()),
        Err(error) => Check::new(NAME, State::No, format!("programs run plain: {error}")),
    }
}

/// Runs this command with the library in it: one check that accounts are kept.
fn trial(library: Option<&Library>) -> Check {
    const NAME: &str = "trial run";
    let Some(library) = library else { return Check::new(NAME, State::Unknown, "not without the library") };
    let null = || File::options().read(true).write(true).open("/dev/null");
    let (own, null) = match (env::current_exe(), null()) {
        (Ok(own), Ok(null)) => (own, null),
        (Err(error), _) | (_, Err(error)) => return Check::new(NAME, State::Unknown, error.to_string()),
    };
    let layers = Layers::new(Base::Underbar);
    let runner = Runner {
        library: Some(library),
        layers: &layers,
        follow: true,
        leaves: false,
        streams: [Some(&null), Some(&null), Some(&null)],
    };
    match runner.run(own.as_os_str(), &["--version".into()]) {
        Err(failure) => Check::new(NAME, State::No, failure.to_string()),
        Ok(finished) if !finished.report.processes.is_empty() => {
            Check::new(NAME, State::Ok, "`underbar --version` kept accounts")
        }
        Ok(finished) => {
            let reason = finished.ended.not_carried.map(|reason| reason.texts().1.to_owned());
            let reason =
                reason.or(finished.no_accounts).unwrap_or_else(|| "its loader did not load it".to_owned());
            let state = if finished.ended.not_carried.is_some() { State::Unknown } else { State::No };
            Check::new(NAME, state, format!("`underbar --version` kept no accounts: {reason}"))
        }
    }
}

/// The version of the C library that this process uses, from the text in its file.
fn c_library() -> Check {
    const NAME: &str = "C library";
    let version = || {
        let maps = fs::read_to_string("/proc/self/maps").ok()?;
        let path = maps
            .lines()
            .find_map(|line| line.split_whitespace().nth(5).filter(|p| p.ends_with("/libc.so.6")))?;
        let bytes = fs::read(path).ok()?;
        let words = b"release version ";
        let at = bytes.windows(words.len()).position(|window| window == words)? + words.len();
        let number = bytes[at..].iter().take(12).take_while(|byte| byte.is_ascii_digit() || **byte == b'.');
        let number: String = number.map(|&byte| char::from(byte)).collect();
        Some(format!("glibc {}, {path}", number.trim_end_matches('.')))
    };
    match version() {
        Some(found) => Check::new(NAME, State::Ok, found),
        None => Check::new(NAME, State::Unknown, "its version is not known"),
    }
}

fn huge_pages() -> Check {
    const NAME: &str = "huge pages";
    let read = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let chosen = read.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word);
    match chosen {
        Some("madvise") => Check::new(NAME, State::Ok, "madvise: used where HUGEPAGES asks for them"),
        Some("always") => {
            Check::new(NAME, State::Ok, "always: the kernel uses them everywhere, whatever HUGEPAGES says")
        }
        Some(word) => Check::new(NAME, State::Limited, format!("{word}: HUGEPAGES has no effect")),
        None => Check::new(NAME, State::Unknown, "not known; HUGEPAGES may have no effect"),
    }
}

/// The kernel's usual limit on mappings, which the heap relies on (`runtime::heap::space`).
const USUAL_MAPPINGS: u64 = 65_530;

fn mappings() -> Check {
    const NAME: &str = "mappings";
    match number("/proc/sys/vm/max_map_count") {
        Some(most) if most < USUAL_MAPPINGS => Check::new(
            NAME,
            State::Limited,
            format!(
                "vm.max_map_count is {most}, less than the usual {USUAL_MAPPINGS}: many small segments may fail"
            ),
        ),
        Some(most) => Check::new(NAME, State::Ok, format!("vm.max_map_count is {most}")),
        None => Check::new(NAME, State::Unknown, "vm.max_map_count cannot be read"),
    }
}

/// Whether the kernel gives addresses below 16 MiB, for `__malloc24`.
fn low_addresses() -> Check {
    const NAME: &str = "low addresses";
    const LINE: u64 = 16 << 20;
    const USUAL: u64 = 64 << 10;
    match number("/proc/sys/vm/mmap_min_addr") {
        Some(least) if least >= LINE => Check::new(
            NAME,
            State::Limited,
            format!("vm.mmap_min_addr is {least}: there is no storage below 16M (__malloc24)"),
        ),
        Some(least) if least > USUAL => Check::new(
            NAME,
            State::Limited,
            format!("vm.mmap_min_addr is {least}: less storage below 16M (__malloc24) than usual"),
        ),
        Some(least) => Check::new(NAME, State::Ok, format!("from {least} on (vm.mmap_min_addr)")),
        None => Check::new(NAME, State::Unknown, "vm.mmap_min_addr cannot be read"),
    }
}

fn overcommit() -> Check {
    const NAME: &str = "overcommit";
    match number("/proc/sys/vm/overcommit_memory") {
        Some(2) => Check::new(
            NAME,
            State::Limited,
            "vm.overcommit_memory is 2: all of an initial segment counts as used, touched or not",
        ),
        Some(mode) => Check::new(NAME, State::Ok, format!("vm.overcommit_memory is {mode}")),
        None => Check::new(NAME, State::Unknown, "vm.overcommit_memory cannot be read"),
    }
}

fn address_space() -> Check {
    const NAME: &str = "address space";
    match limit(Resource::AddressSpace) {
        Ok(None) => Check::new(NAME, State::Ok, "not limited"),
        Ok(Some(bytes)) => Check::new(
            NAME,
            State::Limited,
            format!(
                "limited to {bytes} bytes (ulimit -v): initial segments count against it, touched or not"
            ),
        ),
        Err(_) => Check::new(NAME, State::Unknown, "its limit cannot be read"),
    }
}

fn seccomp() -> Check {
    const NAME: &str = "seccomp";
    match status("Seccomp:").as_deref() {
        Some("0") => Check::new(NAME, State::Ok, "no filter on this process"),
        Some(_) => Check::new(
            NAME,
            State::Limited,
            "a filter is in force: underbar leaves out what it forbids, and the program still runs",
        ),
        None => Check::new(NAME, State::Unknown, "not known"),
    }
}

/// underbar traces nothing; the check is here because other tools of this kind need it.
fn tracing() -> Check {
    const NAME: &str = "ptrace";
    let scope = number("/proc/sys/kernel/yama/ptrace_scope")
        .map_or("not restricted by Yama".to_owned(), |scope| format!("kernel.yama.ptrace_scope is {scope}"));
    match status("TracerPid:").as_deref() {
        None | Some("0") => Check::new(NAME, State::Ok, format!("not needed; {scope}")),
        Some(tracer) => {
            Check::new(NAME, State::Ok, format!("not needed; this process is traced by {tracer}; {scope}"))
        }
    }
}

/// Can `underbar profile` take samples? Nothing else here needs them, so a refusal is no reason for exit status 1.
fn samples() -> Check {
    const NAME: &str = "samples";
    let level = underbar_profile::sampler::paranoid()
        .map_or(String::new(), |level| format!("; kernel.perf_event_paranoid is {level}"));
    match Sampler::begin(DEFAULT_RATE) {
        Ok(_) => Check::new(NAME, State::Ok, format!("`underbar profile` works, in user mode{level}")),
        Err(refused) => {
            Check::new(NAME, State::Limited, format!("`underbar profile` samples by timers only: {refused}"))
        }
    }
}

fn other_preload() -> Option<Check> {
    let others = env::var_os("LD_PRELOAD").filter(|text| !text.is_empty())?;
    let found = format!("{}: stays, after underbar's library", others.to_string_lossy());
    Some(Check::new("LD_PRELOAD", State::Limited, found))
}

fn number(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// A field of this process's status.
fn status(field: &str) -> Option<String> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    Some(line.trim().to_owned())
}

/// The checks of a program's file.
fn program(path: &Path, library: Option<&Library>) -> Vec<Check> {
    const LOST: &str = "it runs plain: no accounts, no options; times and peak memory only";
    let mut checks = vec![Check::new("program", State::Ok, path.shown().to_string())];
    let launch = Launch {
        program: path.as_os_str().to_owned(),
        arguments: Vec::new(),
        library,
        variables: Vec::new(),
        follow: true,
        streams: [None; 3],
    };
    checks.push(match (library, launch.not_carried()) {
        (None, _) => Check::new(CARRIES, State::No, format!("no library to carry: {LOST}")),
        (_, Some(reason)) => Check::new(CARRIES, State::No, format!("{}: {LOST}", reason.texts().1)),
        (_, None) => Check::new(CARRIES, State::Ok, "its loader loads the library"),
    });
    let (file, is_script) = underbar_launch::foreign_file::interpreter(path)
        .map_or((path.to_owned(), false), |path| (path, true));
    if is_script {
        checks.push(Check::new(
            "script",
            State::Ok,
            format!("run by {}, which is checked instead", file.shown()),
        ));
    }
    checks.push(match underbar_launch::foreign_file::open(&file).map(|file| Brought::of_file(&file)) {
        Ok(Some(brought)) => allocator(&brought),
        // A file of another kind has sections that this reader does not read.
        Ok(None) => match launch.not_carried() {
            Some(reason @ (Reason::Bits32 | Reason::OtherMachine | Reason::Malformed)) => {
                Check::new("allocator", State::Unknown, reason.texts().1)
            }
            _ => Check::new("allocator", State::Unknown, "the file has no sections"),
        },
        Err(error) => Check::new("allocator", State::Unknown, error.to_string()),
    });
    checks
}

/// Does this heap serve the program's storage, as far as its file shows?
fn allocator(brought: &Brought) -> Check {
    const NAME: &str = "allocator";
    let named = |names: &[&str]| {
        brought.needed.iter().find(|library| names.iter().any(|name| library.starts_with(name))).cloned()
    };
    let known = named(&["libjemalloc", "libtcmalloc", "libmimalloc", "libsnmalloc", "librpmalloc"]);
    let machine = named(&["libjvm", "libjli", "libmono", "libcoreclr"]);
    let is_c = |names: &[String]| names.iter().any(|name| name == "malloc");
    if brought.is_go {
        let found = "made by Go, whose heap asks the kernel itself: only its C code uses this heap";
        Check::new(NAME, State::Limited, found)
    } else if brought.has_runtime {
        Check::new(NAME, State::Ok, "underbar's, in the program itself: the report has its figures")
    } else if is_c(&brought.exported) {
        let found =
            "the program exports its own malloc, which takes precedence: its heap is not in the accounts";
        Check::new(NAME, State::Limited, found)
    } else if !brought.inside.is_empty() {
        let found =
            format!("{} inside the program: calls of it do not reach this heap", brought.inside.join(", "));
        Check::new(NAME, State::Limited, found)
    } else if let Some(library) = known {
        let found = format!(
            "{library} is linked; malloc and new reach this heap instead, calls by its own names do not"
        );
        Check::new(NAME, State::Limited, found)
    } else if let Some(library) = machine {
        let found = format!("{library}: a virtual machine gets most of its memory without malloc");
        Check::new(NAME, State::Limited, found)
    } else {
        let found = if brought.has_symbols {
            "none of its own; libraries that it loads later are not checked"
        } else {
            "none that it exports; it is stripped, so one inside would not be seen"
        };
        Check::new(NAME, State::Ok, found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(brought: &Brought, state: State, words: &str) {
        let check = allocator(brought);
        assert_eq!(check.state, state, "{}", check.found);
        assert!(check.found.contains(words), "{}", check.found);
    }

    #[test]
    fn allocators_are_told_apart() {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let plain = Brought { needed: words(&["libc.so.6"]), ..Brought::default() };
        check(&plain, State::Ok, "stripped");
        check(&Brought { has_symbols: true, ..plain.clone() }, State::Ok, "none of its own");
        check(&Brought { is_go: true, ..plain.clone() }, State::Limited, "Go");
        let linked = Brought { has_runtime: true, exported: words(&["malloc"]), ..plain.clone() };
        check(&linked, State::Ok, "in the program itself");
        check(
            &Brought { exported: words(&["malloc"]), ..plain.clone() },
            State::Limited,
            "exports its own malloc",
        );
        check(
            &Brought { inside: words(&["je_malloc"]), ..plain.clone() },
            State::Limited,
            "je_malloc inside",
        );
        check(
            &Brought { needed: words(&["libjemalloc.so.2"]), ..plain.clone() },
            State::Limited,
            "libjemalloc.so.2 is",
        );
        check(&Brought { needed: words(&["libjli.so"]), ..plain }, State::Limited, "virtual machine");
    }
}
