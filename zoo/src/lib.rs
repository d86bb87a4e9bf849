//! Small awkward programs that every change must leave unharmed.
//!
//! ```text
//! zoo/programs/NAME.c ── cc ──> target/zoo/NAME ──┬─ bare          the user's view without us
//!                                                 └─ underbar run  the view with us: the same
//! ```
//!
//! Tests compare the two, or state the required result. They wait for a program's output, never for time.
//! If a machine lacks something (root, a tool), the test is skipped loudly; with UNDERBAR_REQUIRE_ALL set it fails.
#![forbid(unsafe_code)]

pub mod browser;
pub mod executable;
pub mod heap;
pub mod locks;
pub mod postgres;
pub mod real;
pub mod served;
pub mod terminal;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Mutex, Once, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use underbar_sys::signal::{Disposition, name, set_disposition};

/// The folder of the tests' build outputs, in the target folder: on a file system that allows programs.
///
/// # Panics
/// If it cannot be made.
#[must_use]
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = profile_folder().join("zoo");
        fs::create_dir_all(&folder).expect("the folder of the zoo");
        folder
    })
}

/// `target/debug` or the like: the test program is in `deps` below it.
fn profile_folder() -> PathBuf {
    let test = std::env::current_exe().expect("the path of the test program");
    test.ancestors().nth(2).expect("target/PROFILE/deps/TEST").to_path_buf()
}

/// `target`, or the folder in its place.
fn target_folder() -> PathBuf {
    profile_folder().parent().expect("a target folder").to_path_buf()
}

/// The `underbar` command: that of UNDERBAR_BIN, or built now, in the profile of the test.
///
/// # Panics
/// If it cannot be built.
#[must_use]
pub fn underbar() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        if let Some(path) = std::env::var_os("UNDERBAR_BIN") {
            return path.into();
        }
        let folder = profile_folder();
        let profile = match folder.file_name().and_then(OsStr::to_str) {
            Some("debug") | None => "dev",
            Some(name) => name,
        };
        let target = folder.parent().expect("a target folder");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(cargo)
            .args(["build", "--quiet", "--package", "underbar-cli", "--profile", profile, "--target-dir"])
            .arg(target)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .expect("cargo");
        assert!(status.success(), "building underbar");
        folder.join("underbar")
    })
}

/// The program from `programs/NAME.c`.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    compiled(name, name, &[])
}

/// The program `result` from `programs/SOURCE.c` with these flags of the C compiler.
///
/// # Panics
/// If it cannot be compiled.
#[must_use]
pub fn compiled(source: &str, result: &str, flags: &[&str]) -> PathBuf {
    try_compiled(source, result, flags).unwrap_or_else(|error| panic!("{source}.c: {error}"))
}

/// Like [`compiled`], for flags that this machine's compiler may not support.
///
/// # Errors
/// The compiler's output.
///
/// # Panics
/// If there is no C compiler.
pub fn try_compiled(source: &str, result: &str, flags: &[&str]) -> Result<PathBuf, String> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let path = folder().join(result);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(source).with_extension("c");
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let time = |path: &Path| fs::metadata(path).and_then(|status| status.modified()).ok();
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let shared = [
        "filter.h",
        "heap/waits.h",
        "caches/endings.h",
        "../../api/capi/include/underbar/ceeedcct.h",
        "../../api/capi/include/underbar/malloc31.h",
    ]
    .iter()
    .filter_map(|header| time(&programs.join(header)))
    .max();
    if time(&path).is_some_and(|made| Some(made) > time(&source).max(shared)) {
        return Ok(path);
    }
    // Test programs run at the same time: written under another name and renamed, so that no test runs half a file.
    let beside = folder().join(format!("{result}.{}", std::process::id()));
    let output = Command::new("cc")
        .args(["-O1", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&beside)
        .arg(&source)
        .args(flags)
        .output()
        .expect("a C compiler");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    fs::rename(&beside, &path).expect("renamed");
    Ok(path)
}

/// A folder of one test, empty at first.
///
/// # Panics
/// If it cannot be made, or if another test has it: the two would empty it and write it under each other's hands, now and then.
#[must_use]
pub fn scratch(name: &str) -> PathBuf {
    static OWNERS: Mutex<BTreeMap<String, ThreadId>> = Mutex::new(BTreeMap::new());
    let me = thread::current().id();
    let owner = *OWNERS.lock().unwrap_or_else(PoisonError::into_inner).entry(name.to_owned()).or_insert(me);
    assert_eq!(owner, me, "two tests have the folder scratch-{name}");
    let folder = folder().join(format!("scratch-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// The ways of running a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By itself.
    Bare,
    /// `underbar run -q -- PROGRAM`.
    Wrapped,
    /// `underbar run --exec -- PROGRAM`.
    Replaced,
}

/// All ways.
pub const WAYS: [Way; 3] = [Way::Bare, Way::Wrapped, Way::Replaced];

/// The command line that runs `arguments` (a program and its arguments) in this way.
#[must_use]
pub fn line(way: Way, arguments: &[&str]) -> Vec<String> {
    let underbar = underbar().to_str().expect("a path of text");
    let before: &[&str] = match way {
        Way::Bare => &[],
        Way::Wrapped => &[underbar, "run", "-q", "--"],
        Way::Replaced => &[underbar, "run", "-q", "--exec", "--"],
    };
    before.iter().chain(arguments).map(ToString::to_string).collect()
}

/// A command that runs `arguments` in this way, without underbar's variables of the test's environment.
///
/// # Panics
/// Without arguments.
#[must_use]
pub fn command(way: Way, arguments: &[&str]) -> Command {
    let line = line(way, arguments);
    let mut command = Command::new(line.first().expect("a program"));
    command.args(&line[1..]).env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS");
    command
}

/// The number of files in the folder of ledgers for this XDG_RUNTIME_DIR, without the report of the last run.
///
/// # Panics
/// If there is no such folder.
#[must_use]
pub fn ledger_files(runtime: &Path) -> usize {
    let files = fs::read_dir(runtime.join("underbar")).expect("the folder of ledgers");
    files.flatten().filter(|file| file.file_name() != "last.json").count()
}

/// The program from `programs/faults/NAME.c`.
///
/// # Panics
/// If it does not compile.
#[must_use]
pub fn fault(name: &str) -> String {
    let program = compiled(&format!("faults/{name}"), &format!("faults-{name}"), &[]);
    program.to_str().expect("a path of text").to_owned()
}

/// `underbar run` with these flags, without underbar's variables of the test's environment.
#[must_use]
pub fn run(flags: &[&str], line: &[&str]) -> Command {
    let mut run = Command::new(underbar());
    run.arg("run").args(flags).arg("--").args(line);
    run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS").env_remove("UNDERBAR_LEDGER");
    run
}

/// The result of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Its wait status.
    pub status: ExitStatus,
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub error: String,
}

/// The command without the variables for the tests themselves: a user has none of them, and some tests
/// search a program's environment for variables of underbar.
pub fn as_user(command: &mut Command) -> &mut Command {
    as_in_the_foreground();
    ["UNDERBAR_BIN", "UNDERBAR_SKIPS", "UNDERBAR_REQUIRE_ALL"]
        .iter()
        .fold(command, |command, name| command.env_remove(name))
}

/// A shell without job control starts background programs with INT and QUIT ignored, nohup with HUP, and ignored signals
/// stay so in started programs: tests that wait for one of them would hang.
fn as_in_the_foreground() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for signal in [name::HUP, name::INT, name::QUIT] {
            set_disposition(signal, Disposition::Default).expect("a signal that has a default");
        }
    });
}

/// Runs a command to its end.
///
/// # Panics
/// If it cannot be started.
#[must_use]
pub fn left(command: &mut Command) -> Left {
    let output =
        as_user(command).stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Left { status: output.status, output: text(output.stdout), error: text(output.stderr) }
}

/// What a command printed, as JSON.
///
/// # Panics
/// If it is none.
#[must_use]
pub fn json(left: &Left) -> serde_json::Value {
    serde_json::from_str(&left.output).unwrap_or_else(|error| panic!("{error}: {left:?}"))
}

/// A path as an argument of a command.
///
/// # Panics
/// If it is no text.
#[must_use]
pub fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

/// The exit code; or for a death by signal, its negative number.
#[must_use]
pub fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| -status.signal().unwrap_or(0))
}

/// A running program, and its output, line by line.
pub struct Running {
    /// The started process: the wrapper, if there is one.
    pub child: Child,
    lines: BufReader<ChildStdout>,
}

impl Running {
    /// Starts a command.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn start(command: &mut Command) -> Running {
        let mut child =
            as_user(command).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("started");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
        Running { child, lines }
    }

    /// The next line of the program's output; empty at the end, when all writers are gone.
    ///
    /// # Panics
    /// If it is not text.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    }

    /// Sends a signal to the started process only.
    ///
    /// # Panics
    /// If it is gone.
    pub fn send(&self, signal: i32) {
        let pid = i32::try_from(self.child.id()).expect("a process number");
        underbar_sys::syscall::kill(pid, signal).expect("sent");
    }

    /// Waits for the end.
    ///
    /// # Panics
    /// If it is not our child.
    #[must_use]
    pub fn end(mut self) -> i32 {
        code(self.child.wait().expect("our child"))
    }
}

impl Drop for Running {
    /// A failing test leaves nothing running.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether this is root.
#[must_use]
pub fn is_superuser() -> bool {
    underbar_sys::syscall::geteuid() == 0
}

/// Whether this is root. If not, reports the skip; fails if nothing may be skipped.
#[must_use]
pub fn is_superuser_or_skips(what: &str) -> bool {
    let is = is_superuser();
    if !is {
        skip(&format!("{what}: needs the superuser"));
    }
    is
}

/// Shell words that mount the target folder a second time, at [`aside`], in a mount namespace of its own: for tests that mount
/// something over a folder that may contain this clone, such as /tmp.
#[must_use]
pub fn show_aside() -> String {
    format!("mount --bind '{}' {ASIDE}", target_folder().display())
}

/// The path of a program after [`show_aside`]; a program that is not in the target folder keeps its own.
///
/// # Panics
/// If the path is no text.
#[must_use]
pub fn aside(path: &Path) -> String {
    let moved =
        path.strip_prefix(target_folder()).map_or_else(|_| path.into(), |rest| Path::new(ASIDE).join(rest));
    moved.into_os_string().into_string().expect("a path of text")
}

/// A folder that every machine has and over which no test mounts anything else.
const ASIDE: &str = "/mnt";

/// Reports loudly that something is not tested here.
///
/// # Panics
/// With UNDERBAR_REQUIRE_ALL set.
pub fn skip(what: &str) {
    assert!(std::env::var_os("UNDERBAR_REQUIRE_ALL").is_none(), "may not be skipped: {what}");
    eprintln!("SKIPPED {what}");
    // The output of a passed test is not shown: `cargo xtask test` counts the lines of this file instead.
    if let Some(path) = std::env::var_os("UNDERBAR_SKIPS") {
        let mut file =
            fs::OpenOptions::new().create(true).append(true).open(path).expect("the list of the skipped");
        // One write: tests of several processes append to the same list.
        file.write_all(format!("{what}\n").as_bytes()).expect("the list of the skipped");
    }
}
