//! Steps: commands that run one after another, with their names and durations, and the sum of their results.
//!
//! Invariant: passed + failed + skipped + not checked == checks and tests of a run. The last two are always
//! reported.

use std::io::{self, BufRead, BufReader, PipeReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::processes;

/// The results of a run so far.
#[derive(Debug, Default)]
pub struct Sum {
    /// Passed checks and tests.
    pub passed: usize,
    /// Failed ones.
    pub failed: usize,
    /// Skipped ones, each with its reason.
    pub skipped: Vec<String>,
    /// Names of failed steps, for the end of a long log.
    pub failures: Vec<String>,
    /// Checks that need something outside of the project that is missing; these are no failures.
    pub unchecked: Vec<String>,
}

impl Sum {
    /// Counts a check that passed or not.
    pub fn check(&mut self, name: &str, held: bool) {
        if held {
            self.passed += 1;
        } else {
            self.failed += 1;
            self.failures.push(name.to_owned());
        }
    }

    /// Counts a skipped check, and reports it at once.
    pub fn skip(&mut self, reason: String) {
        println!("SKIPPED: {reason}");
        self.skipped.push(reason);
    }

    /// Adds what another run found, by its output: names of failures, then its closing line. False where there is no such line.
    pub fn add(&mut self, output: &str) -> bool {
        let Some((passed, failed)) = output.lines().rev().find_map(counts) else { return false };
        self.passed += passed;
        self.failed += failed;
        self.failures
            .extend(output.lines().filter_map(|line| line.strip_prefix("FAILED: ")).map(str::to_owned));
        true
    }

    /// Says, now and once more at the end, what could not be checked here.
    pub fn not_checked(&mut self, what: &str) {
        println!("NOT CHECKED: {what}");
        self.unchecked.push(what.to_owned());
    }

    /// Prints the slowest steps, failures, skips and impossible checks, then the one closing line; true
    /// when the run is green.
    pub fn close(&self, require_all: bool) -> bool {
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner).clone();
        println!("slowest steps:");
        for line in slowest(taken) {
            println!("{line}");
        }
        for what in &self.unchecked {
            println!("NOT CHECKED: {what}");
        }
        for name in &self.failures {
            println!("FAILED: {name}");
        }
        for reason in &self.skipped {
            println!("SKIPPED{}: {reason}", if require_all { " (and all are required)" } else { "" });
        }
        println!("{}", self.closing_line());
        self.failed == 0 && (!require_all || self.skipped.is_empty())
    }

    fn closing_line(&self) -> String {
        let mut line =
            format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped.len());
        if !self.unchecked.is_empty() {
            line += &format!(", {} NOT CHECKED", self.unchecked.len());
        }
        line
    }
}

/// `17 passed, 0 failed, 0 skipped`: the first two.
fn counts(line: &str) -> Option<(usize, usize)> {
    let mut parts = line.split(", ");
    let mut number = |word: &str| parts.next()?.strip_suffix(word)?.parse().ok();
    Some((number(" passed")?, number(" failed")?))
}

/// Announces a step, runs it, and says how long it took.
pub fn step<T>(name: &str, work: impl FnOnce() -> T) -> T {
    println!("== {name}");
    let start = Instant::now();
    let result = work();
    let took = start.elapsed();
    taken(name, took);
    result
}

/// Says how long a step took.
pub fn taken(name: &str, took: Duration) {
    println!("== {name}: {}", seconds(took));
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner).push((took, name.to_owned()));
}

/// Every step so far, with its duration.
static TAKEN: Mutex<Vec<(Duration, String)>> = Mutex::new(Vec::new());
/// The number of steps named at the end.
const NAMED: usize = 10;

/// The slowest steps, the slowest first.
fn slowest(mut steps: Vec<(Duration, String)>) -> Vec<String> {
    steps.sort_by_key(|step| std::cmp::Reverse(step.0));
    steps.truncate(NAMED);
    steps.into_iter().map(|(took, name)| format!("{:>12}  {name}", seconds(took))).collect()
}

/// A duration for a reader: `3.4 s` or `2 min 05 s`.
fn seconds(duration: Duration) -> String {
    match duration.as_secs() {
        whole if whole >= 60 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{:.1} s", duration.as_secs_f64()),
    }
}

/// The workspace's root. This file is compiled in it, and Cargo names it when it runs this program.
pub fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map_or(package.clone(), PathBuf::from)
}

/// Cargo's target folder.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |path| root().join(path))
}

/// A command that runs in the workspace's root, without standard input.
pub fn command(program: &str, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(words).current_dir(root()).stdin(Stdio::null());
    command
}

/// Cargo itself: the one that runs this program, otherwise the one on the path.
pub fn cargo(words: &[&str]) -> Command {
    command(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()), words)
}

/// Runs a command with its output shown; true when it ended with status 0.
pub fn succeeds(command: &mut Command) -> bool {
    match command.status() {
        Ok(status) => status.success(),
        Err(error) => {
            println!("{}: {error}", command.get_program().to_string_lossy());
            false
        }
    }
}

/// Runs a command and returns its standard output, if it ended with status 0.
pub fn output(command: &mut Command) -> Option<String> {
    let done = command.stderr(Stdio::inherit()).output().ok()?;
    done.status.success().then(|| String::from_utf8_lossy(&done.stdout).into_owned())
}

/// A command without output for this long hangs: tests print their names as they end.
const QUIET: Duration = Duration::from_secs(15 * 60);

/// Runs a command and passes each line of its output and of its errors to `see`; true when it ended with status 0. A hanging
/// one is ended with all its descendants, after their waits were shown.
pub fn heard(command: &mut Command, see: impl FnMut(&str)) -> bool {
    heard_for(QUIET, command, see)
}

fn heard_for(quiet: Duration, command: &mut Command, mut see: impl FnMut(&str)) -> bool {
    let (mut child, pipe) = match spawn_with_pipe(command) {
        Ok(both) => both,
        Err(error) => {
            see(&format!("{}: {error}", command.get_program().to_string_lossy()));
            return false;
        }
    };
    let (send, lines) = mpsc::channel();
    // Not waited for: a descendant that outlives the command may keep the pipe open.
    thread::spawn(move || {
        let lines = BufReader::new(pipe).split(b'\n').map_while(Result::ok);
        lines.map(|line| send.send(line)).take_while(Result::is_ok).for_each(drop);
    });
    loop {
        match lines.recv_timeout(quiet) {
            Ok(line) => see(&String::from_utf8_lossy(&line)),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                see(&format!("== no output for {}; ended with all its processes", seconds(quiet)));
                processes::end_all_of(child.id());
                let _ = child.wait();
                return false;
            }
        }
    }
    child.wait().is_ok_and(|status| status.success())
}

/// Starts a command whose output and errors go into one pipe, in the order in which it writes them.
fn spawn_with_pipe(command: &mut Command) -> io::Result<(Child, PipeReader)> {
    let (pipe, writer) = io::pipe()?;
    let child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
    // The command would keep its ends of the pipe open.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Ok((child, pipe))
}

/// The output of `cargo metadata` about the workspace and all its dependencies here.
pub fn metadata() -> Option<serde_json::Value> {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let words = ["metadata", "--format-version", "1", "--locked", "--filter-platform", &platform];
    serde_json::from_str(&output(&mut cargo(&words))?).ok()
}

/// The path of a program, found in PATH.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::{NAMED, Sum, command, heard, heard_for, on_path, seconds, slowest};
    use std::time::Duration;

    #[test]
    fn a_skipped_check_fails_only_when_all_are_required() {
        let mut sum = Sum::default();
        sum.check("one", true);
        assert!(sum.close(true));
        sum.skip("two".to_owned());
        assert!(sum.close(false) && !sum.close(true));
        sum.check("three", false);
        assert!(!sum.close(false));
        assert_eq!((sum.passed, sum.failed, sum.skipped.len()), (1, 1, 1));
    }

    #[test]
    fn what_another_run_found_is_added() {
        let mut sum = Sum { passed: 1, failed: 1, failures: vec!["a".to_owned()], ..Sum::default() };
        assert!(sum.add("test x ... ok\nFAILED: b\n17 passed, 1 failed, 0 skipped\n"));
        assert_eq!((sum.passed, sum.failed, sum.failures.len()), (18, 2, 2));
        assert!(!sum.add("killed\n"), "no closing line");
        assert_eq!((sum.passed, sum.failed), (18, 2));
    }

    #[test]
    fn the_slowest_steps_come_first_and_are_few() {
        let steps = (1..=20).map(|second| (Duration::from_secs(second), format!("step {second}"))).collect();
        let lines = slowest(steps);
        assert_eq!(lines.len(), NAMED);
        assert!(lines[0].ends_with("20.0 s  step 20") && lines[9].ends_with("step 11"), "{lines:?}");
    }

    #[test]
    fn what_could_not_be_checked_stands_in_the_last_line() {
        let mut sum = Sum::default();
        sum.check("one", true);
        assert_eq!(sum.closing_line(), "1 passed, 0 failed, 0 skipped");
        sum.not_checked("advisories");
        assert_eq!(sum.closing_line(), "1 passed, 0 failed, 0 skipped, 1 NOT CHECKED");
        assert!(sum.close(true));
    }

    #[test]
    fn a_command_that_hangs_is_ended_with_what_it_started() {
        let mut lines = Vec::new();
        let mut hangs = command("sh", &["-c", "sleep 1000 & echo $!; wait"]);
        assert!(!heard_for(Duration::from_millis(200), &mut hangs, |line| lines.push(line.to_owned())));
        let [sleeper, end] = lines.as_slice() else { panic!("{lines:?}") };
        assert!(end.contains("no output"), "{end}");
        // Its new parent reaps it, sooner or later.
        let is_there = || {
            let state = std::fs::read_to_string(format!("/proc/{sleeper}/stat")).unwrap_or_default();
            !state.is_empty() && !state.contains(") Z ")
        };
        while is_there() {
            std::thread::yield_now();
        }

        lines.clear();
        let mut ends = command("sh", &["-c", "echo one; echo two >&2"]);
        assert!(heard(&mut ends, |line| lines.push(line.to_owned())));
        assert_eq!(lines, ["one", "two"]);
        assert!(!heard(&mut command("sh", &["-c", "exit 3"]), |_| ()));
    }

    #[test]
    fn durations_are_for_readers() {
        assert_eq!(seconds(Duration::from_millis(3_449)), "3.4 s");
        assert_eq!(seconds(Duration::from_secs(125)), "2 min 05 s");
    }

    #[test]
    fn programs_are_found_on_the_path() {
        assert!(on_path("sh").is_some() && on_path("no-program-of-this-name").is_none());
    }
}
