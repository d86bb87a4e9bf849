//! One test: run plain, and if it passes under underbar in each way.
//!
//! The skeleton of the tests has its own time limit, the test's `TIMEOUT`. It is for a machine without other work, so it is
//! stretched to a multiple of the time that the test takes plain, here and now ([`Limits`]). A second limit outside ends a hang
//! before or after it.
//!
//! Invariant: each run has the same arguments, environment and folder, except for the command before it.

use std::fmt;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Row;
use super::compile::Test;
use super::table;

/// The options for tests.
pub const WAYS: [&str; 2] = ["LOCK(COUNT)", "LOCK(SIMPLE)"];
/// The least factor from a test's own limit to the one that it gets.
const STRETCH: u64 = 3;
/// The least limit in seconds: for plain runs, and where the plain one was short.
const LEAST: u64 = 300;
/// The factor from the time of the plain run to the limit under underbar.
const TIMES_PLAIN: u64 = 10;
/// Seconds of a test without its own limit; the skeleton's default.
const USUAL: u64 = 20;
/// Seconds from the inner limit to the outer one.
const REST: u64 = 30;
/// The skeleton's status of a test that this machine cannot run.
const UNSUPPORTED: i32 = 77;

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Unsupported,
    /// The result as text.
    Failed(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => to.write_str("passes"),
            Self::Unsupported => to.write_str("says that it cannot run here"),
            Self::Failed(how) => to.write_str(how),
        }
    }
}

/// The paths of everything.
pub struct Runner<'a> {
    pub command: &'a Path,
    pub programs: &'a Path,
    pub written: &'a Path,
}

impl Runner<'_> {
    /// All runs of a test. One that does not pass plain is not run again.
    pub fn row(&self, test: &Test) -> Row {
        let own = limit_of(&test.file, 0).unwrap_or(USUAL).max(1);
        let began = Instant::now();
        let plain = self.run(test, None, Limits::new(own, Duration::ZERO));
        let limits = Limits::new(own, began.elapsed());
        let ways: &[&str] = if plain == Outcome::Passed { &WAYS } else { &[] };
        let ours = ways.iter().map(|way| self.run(test, Some(way), limits)).collect();
        (plain, ours)
    }

    fn run(&self, test: &Test, way: Option<&str>, limits: Limits) -> Outcome {
        let program = self.programs.join(&test.name);
        let special = table::special(&test.name);
        let place = |text: &&str| text.replace("{programs}", &self.programs.display().to_string());
        let limit = limits.outer;
        let mut call = Command::new("timeout");
        call.args(["-s", "KILL", &limit.to_string()]);
        if let Some(way) = way {
            call.arg(self.command).args(["run", "--quiet", "--opts", way, "--"]);
        }
        call.arg(&program).args(special.arguments.iter().map(place));
        for (name, value) in special.environment {
            call.env(name, place(value));
        }
        call.env("LD_LIBRARY_PATH", self.programs).env("TIMEOUTFACTOR", limits.factor.to_string());
        call.env_remove("UNDERBAR_OPTS").env("LC_ALL", "C").current_dir(self.programs);
        let name = format!("{}.{}", test.name, way.unwrap_or("plain").replace(['(', ')'], ""));
        let written = self.written.join(name);
        let Ok((out, err)) = File::create(&written).and_then(|file| Ok((file.try_clone()?, file))) else {
            return Outcome::Failed(format!("{} cannot be written", written.display()));
        };
        call.stdin(Stdio::null()).stdout(out).stderr(err);
        match call.status() {
            Err(error) => Outcome::Failed(format!("timeout: {error}")),
            Ok(status) => match (status.code(), status.signal()) {
                (Some(0), _) => Outcome::Passed,
                (Some(UNSUPPORTED), _) => Outcome::Unsupported,
                (Some(137), _) | (_, Some(9)) => Outcome::Failed(format!("ended after {limit} s or killed")),
                (Some(code), _) => Outcome::Failed(format!("status {code}{}", last_line(&written))),
                (None, signal) => Outcome::Failed(format!("signal {}", signal.unwrap_or(0))),
            },
        }
    }
}

/// The time limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limits {
    /// The factor for the skeleton's own limit.
    factor: u64,
    /// Seconds after which the run is ended from outside.
    outer: u64,
}

impl Limits {
    /// For a test with this limit of its own, in seconds, that took so long plain.
    fn new(own: u64, plain: Duration) -> Self {
        let wanted = (plain.as_secs() + 1).saturating_mul(TIMES_PLAIN).max(LEAST);
        let factor = wanted.div_ceil(own).max(STRETCH);
        Self { factor, outer: own * factor + REST }
    }
}

/// The test's last output, in brackets.
fn last_line(written: &Path) -> String {
    let text = fs::read(written).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let shown: String = last.chars().filter(|one| !one.is_control()).take(120).collect();
    if shown.is_empty() { shown } else { format!(" ({shown})") }
}

/// The `TIMEOUT` of a test, which may be in the file of another one.
fn limit_of(file: &Path, depth: usize) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let number = |line: &str| {
        let value = line.trim().strip_prefix('#')?.trim().strip_prefix("define TIMEOUT")?;
        value.split_whitespace().next()?.trim_matches(['(', ')']).parse().ok()
    };
    if let Some(seconds) = text.lines().find_map(number) {
        return Some(seconds);
    }
    let included = text.lines().find_map(|line| {
        let name = line.strip_prefix("#include \"")?.split('"').next()?;
        (name.ends_with(".c") && depth < 4).then(|| file.parent().map(|folder| folder.join(name)))?
    })?;
    limit_of(&included, depth + 1)
}

#[cfg(test)]
mod tests {
    use super::{LEAST, Limits, REST, last_line, limit_of};
    use std::time::Duration;

    #[test]
    fn a_limit_grows_with_the_plain_run_and_is_never_below_the_least() {
        let short = Limits::new(20, Duration::from_millis(10));
        assert_eq!(short, Limits { factor: 15, outer: LEAST + REST });
        // On a machine with other work: a minute plain, so ten.
        let long = Limits::new(20, Duration::from_secs(60));
        assert!(long.factor * 20 >= 10 * 60 && long.outer > long.factor * 20, "{long:?}");
        assert_eq!(Limits::new(400, Duration::ZERO).factor, 3, "its own limit, stretched");
    }

    #[test]
    fn limits_come_from_the_file_or_the_one_that_it_includes() {
        let folder = std::env::temp_dir().join(format!("glibc-limits-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a file");
        write("a.c", "int x;\n# define TIMEOUT 40 /* why */\n");
        write("b.c", "#include \"a.c\"\n");
        write("c.c", "#include \"c.c\"\n");
        assert_eq!(limit_of(&folder.join("a.c"), 0), Some(40));
        assert_eq!(limit_of(&folder.join("b.c"), 0), Some(40));
        assert_eq!(limit_of(&folder.join("c.c"), 0), None);
        write("said", "one\ntwo\x1b[m\n\n");
        assert_eq!(last_line(&folder.join("said")), " (two[m)");
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
