//! The arms: the commands, and the measure of each.

use crate::Error;
use crate::measure::{beside, usage};
use crate::samples::{Counts, Turns};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Children of the shell in one arm.
pub const CHILDREN: usize = 100;
/// Samples a second of the arms that sample.
pub const RATE: u32 = 1_000;
/// Turns of the sampled program: long enough that its start does not count, and without memory, whose speed
/// changes with other programs' work.
const TURNS: &str = "150000000";

/// The measure of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// From before its start until its end is known.
    Start,
    /// The same, for a shell with children.
    Children,
    /// CPU time of the program alone, as the launcher prints it.
    Work,
}

impl Kind {
    /// Its runs in each round.
    pub fn turns(self) -> Turns {
        let (number, counts) = match self {
            Kind::Start => (25, Counts::Middle),
            Kind::Children => (3, Counts::Middle),
            Kind::Work => (8, Counts::Least),
        };
        Turns { number, counts }
    }
}

/// One arm.
#[derive(Debug, Clone)]
pub struct Arm {
    /// Its name in files and goals.
    pub name: &'static str,
    /// One line for the table.
    pub about: String,
    /// Its measure.
    pub kind: Kind,
    /// The command line.
    words: Vec<String>,
}

/// The programs of the arms.
#[derive(Debug)]
pub struct Programs {
    underbar: String,
    launch: String,
    unread: String,
    spin: String,
    /// The path of `perf`, if it is installed.
    perf: bool,
}

impl Programs {
    /// Finds them next to the running program.
    ///
    /// # Errors
    /// [`Error::Missing`] when they were not built.
    pub fn beside_us() -> Result<Self, Error> {
        let find = |name: &str| beside(name).map(|path| path.display().to_string());
        let perf = Command::new("perf").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        Ok(Self {
            underbar: installed(&beside("underbar")?)?.display().to_string(),
            launch: find("underbar-bench-launch")?,
            unread: find("underbar-bench-unread")?,
            spin: find("underbar-bench-spin")?,
            perf: perf.is_ok_and(|status| status.success()),
        })
    }

    #[cfg(test)]
    pub fn named() -> Self {
        let [underbar, launch, unread, spin] = ["underbar", "launch", "unread", "spin"].map(str::to_owned);
        Self { underbar, launch, unread, spin, perf: true }
    }
}

/// A copy of a program, as installing makes it: written at once. The output of a linker is in the kernel's cache
/// page by page, and mapping that takes a tenth of a millisecond.
fn installed(program: &Path) -> Result<PathBuf, Error> {
    let folder = program.with_file_name("installed");
    let copy = folder.join(program.file_name().unwrap_or_default());
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::copy(program, &copy))
        .map_err(|error| Error::system("copying the command", &error))?;
    Ok(copy)
}

/// All arms that can run here.
pub fn all(programs: &Programs) -> Vec<Arm> {
    let mut arms = Vec::new();
    let mut add = |name, about: &str, kind, words: &[&str]| {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        arms.push(Arm { name, about: about.to_owned(), kind, words });
    };
    let underbar = programs.underbar.as_str();
    add("true", "true", Kind::Start, &["true"]);
    add(
        "timeout",
        "timeout 9 true: a process more, and nothing else",
        Kind::Start,
        &["timeout", "9", "true"],
    );
    add("run", "underbar run -- true", Kind::Start, &[underbar, "run", "--", "true"]);
    add("quiet", "underbar run -q -- true", Kind::Start, &[underbar, "run", "-q", "--", "true"]);

    let none = children(0);
    let all = children(CHILDREN);
    for (name, about, script) in
        [("shell", "a shell", &none), ("children", "a shell with 100 children, one by one", &all)]
    {
        add(name, about, Kind::Children, &["sh", "-c", script]);
    }
    for (name, about, script) in [
        ("shell-followed", "the same under run -q", &none),
        ("children-followed", "the same under run -q, each child followed", &all),
    ] {
        add(name, about, Kind::Children, &[underbar, "run", "-q", "--", "sh", "-c", script]);
    }

    let work = [programs.launch.as_str(), "--", &programs.spin, TURNS];
    let rate = RATE.to_string();
    let profile = [underbar, "profile", "-q", "-o", "/dev/null", "--rate", &rate, "--"];
    add("work", "a program that computes", Kind::Work, &work);
    let unread = [programs.unread.as_str(), &rate, "--"];
    add("unread", "sampled by the kernel at 1 kHz, nobody reads", Kind::Work, &[&unread[..], &work].concat());
    add("profile", "underbar profile at 1 kHz", Kind::Work, &[&profile[..], &work].concat());
    if programs.perf {
        let perf = ["perf", "record", "-q", "-e", "task-clock:u", "-c", "1000000", "-o", "/dev/null", "--"];
        add("perf", "perf record at 1 kHz", Kind::Work, &[&perf[..], &work].concat());
    }
    arms
}

/// A script that starts this many children, each when the previous one has ended.
fn children(count: usize) -> String {
    format!("i=0; while [ $i -lt {count} ]; do /bin/true; i=$((i+1)); done")
}

impl Arm {
    /// Runs it once: microseconds.
    ///
    /// # Errors
    /// [`Error::Workload`] when it did not end well, [`Error::System`] when it could not be started.
    pub fn sample(&self) -> Result<f64, Error> {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).stdin(Stdio::null());
        let wrong = |what: &str| Error::Workload(format!("{}: {what}", self.words.join(" ")));
        let starting = |error| Error::system("starting a run", &error);
        if self.kind == Kind::Work {
            let done = command.output().map_err(starting)?;
            let text = String::from_utf8_lossy(&done.stdout);
            return match text.lines().find_map(usage).filter(|_| done.status.success()) {
                Some([user, system, ..]) => Ok((user + system) as f64),
                None => Err(wrong(String::from_utf8_lossy(&done.stderr).trim_end())),
            };
        }
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let began = Instant::now();
        let status = command.status().map_err(starting)?;
        let elapsed = began.elapsed();
        if status.success() { Ok(elapsed.as_secs_f64() * 1e6) } else { Err(wrong(&status.to_string())) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Programs, all};

    #[test]
    fn names_are_unique_and_a_run_that_fails_is_no_sample() {
        let arms = all(&Programs::named());
        for arm in &arms {
            assert_eq!(arms.iter().filter(|other| other.name == arm.name).count(), 1);
        }
        let mut arm = arms[0].clone();
        assert!(arm.sample().expect("true") > 0.0);
        arm.words = vec!["false".to_owned()];
        assert!(arm.sample().is_err());
        arm.kind = Kind::Work;
        arm.words = ["echo", "usage 3 4 5 6"].map(str::to_owned).to_vec();
        assert!((arm.sample().expect("a usage line") - 7.0).abs() < 1e-9);
        arm.words = vec!["true".to_owned()];
        assert!(arm.sample().is_err(), "it printed nothing");
    }
}
