//! The arms: the same sort by each program, with much and with little memory.

use super::Sample;
use super::data::{Folder, are_equal};
use crate::Error;
use crate::measure::{beside, usage};
use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

/// One arm.
#[derive(Debug, Clone)]
pub struct Arm {
    /// Its name in files and goals.
    pub name: &'static str,
    /// One line for the table.
    pub about: String,
    /// Is it one with a tenth of the memory?
    pub is_small: bool,
    /// The command line.
    words: Vec<String>,
}

/// The programs.
#[derive(Debug)]
pub struct Programs {
    underbar: String,
    launch: String,
}

impl Programs {
    /// Finds them next to the running program.
    ///
    /// # Errors
    /// [`Error::Missing`] when they were not built.
    pub fn beside_us() -> Result<Self, Error> {
        let find = |name: &str| beside(name).map(|path| path.display().to_string());
        Ok(Self { underbar: find("underbar")?, launch: find("underbar-bench-launch")? })
    }

    #[cfg(test)]
    pub fn named() -> Self {
        Self { underbar: "underbar".to_owned(), launch: "launch".to_owned() }
    }

    /// The first line of `sort --version`.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no GNU sort.
    pub fn gnu_version(&self) -> Result<String, Error> {
        let missing = || Error::Missing("GNU sort (apt-get install coreutils)".to_owned());
        let done = Command::new("sort").arg("--version").output().map_err(|_| missing())?;
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        text.lines().next().filter(|line| line.contains("GNU")).map(str::to_owned).ok_or_else(missing)
    }
}

/// All arms, with three times the file's size as memory, and with a tenth of that.
pub fn all(programs: &Programs, folder: &Folder, bytes: u64, processors: usize) -> Vec<Arm> {
    let mut arms = Vec::new();
    let [input, output] = [folder.input(), folder.output()].map(|path| path.display().to_string());
    let place = folder.path().display().to_string();
    let threads = processors.to_string();
    for (is_small, names, memory) in [
        (false, ["gnu-key", "gnu-line", "ours"], 3 * bytes),
        (true, ["gnu-key-small", "gnu-line-small", "ours-small"], 3 * bytes / 10),
    ] {
        let kib = memory.max(1 << 20) >> 10;
        let mut add = |name, about: &str, words: &[&str]| {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            arms.push(Arm { name, about: about.to_owned(), is_small, words });
        };
        let size = format!("{kib}K");
        let parallel = format!("--parallel={threads}");
        let gnu = ["sort", "-S", &size, &parallel, "-T", &place, "-o", &output];
        add(names[0], "GNU sort -s -k1.1,1.10", &[&gnu[..], &["-s", "-k1.1,1.10", &input]].concat());
        add(names[1], "GNU sort, whole lines", &[&gnu[..], &[&input]].concat());
        let ours = ["sort", "--quiet", "--format", "F(100)", "-e", "SORT FIELDS=(1,10,CH,A)"];
        let with = ["--memory", &size, "--threads", &threads, "--work", &place, &input, &output];
        add(names[2], "underbar sort", &[&[programs.underbar.as_str()][..], &ours, &with].concat());
    }
    arms
}

impl Arm {
    /// Runs it once, and compares its output.
    ///
    /// # Errors
    /// [`Error::Workload`] when it did not end well or its output differs; [`Error::System`].
    pub fn sample(&self, programs: &Programs, folder: &Folder) -> Result<Sample, Error> {
        let _ = fs::remove_file(folder.output());
        let mut command = Command::new(&programs.launch);
        command.arg("--").args(&self.words).env("LC_ALL", "C").stdin(Stdio::null());
        let began = Instant::now();
        let done = command.output().map_err(|error| Error::system("starting the launcher", &error))?;
        let seconds = began.elapsed().as_secs_f64();
        let wrong = |what: &str| Error::Workload(format!("{}: {what}", self.words.join(" ")));
        let text = String::from_utf8_lossy(&done.stdout);
        let Some([user, system, peak_kib, _]) =
            text.lines().find_map(usage).filter(|_| done.status.success())
        else {
            return Err(wrong(String::from_utf8_lossy(&done.stderr).trim_end()));
        };
        self.check(folder)?;
        Ok(Sample { seconds, cpu: (user + system) as f64 / 1e6, peak_kib })
    }

    /// Keeps the first output, and compares the others with it.
    fn check(&self, folder: &Folder) -> Result<(), Error> {
        let first = folder.first();
        if !first.exists() {
            return fs::rename(folder.output(), first)
                .map_err(|error| Error::system("keeping an output", &error));
        }
        if are_equal(&folder.output(), &first)? {
            return Ok(());
        }
        Err(Error::Workload(format!("{}: its output differs", self.words.join(" "))))
    }

    /// Kernel entries of one run, as strace counts them; None without strace.
    ///
    /// # Errors
    /// [`Error::System`] when its answer cannot be read.
    pub fn entries(&self, folder: &Folder) -> Result<Option<u64>, Error> {
        let _ = fs::remove_file(folder.output());
        let counts = folder.path().join("counts");
        let mut command = Command::new("strace");
        command.args(["-f", "-c", "-U", "calls", "-o"]).arg(&counts).args(&self.words).env("LC_ALL", "C");
        match command.stdin(Stdio::null()).status() {
            Ok(status) if status.success() => {
                let text =
                    fs::read_to_string(&counts).map_err(|error| Error::system("reading counts", &error))?;
                Ok(total(&text))
            }
            _ => Ok(None),
        }
    }
}

/// The last line of strace's table of calls: their sum.
fn total(text: &str) -> Option<u64> {
    text.lines().next_back()?.split_whitespace().find_map(|word| word.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_of_a_size_have_the_same_memory_and_threads() {
        let arms = all(&Programs::named(), &Folder::named(), 100_000_000, 2);
        assert_eq!(arms.len(), 6);
        for arm in &arms {
            assert_eq!(arms.iter().filter(|other| other.name == arm.name).count(), 1);
            let size = if arm.is_small { "29296K" } else { "292968K" };
            assert!(arm.words.iter().any(|word| word == size), "{arm:?}");
            assert!(arm.words.iter().any(|word| word == "2" || word == "--parallel=2"), "{arm:?}");
        }
    }

    #[test]
    fn the_sum_of_calls_is_read() {
        assert_eq!(total("calls\n-----\n 12\n  3\n-----\n 15 total\n"), Some(15));
        assert_eq!(total(""), None);
    }
}
