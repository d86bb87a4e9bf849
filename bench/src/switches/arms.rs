//! The arms: programs of known calls, plain, counted in several ways, and with caches.

use crate::Error;
use crate::measure::beside;
use crate::samples::{Counts, Turns};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Lines of print and records of a work file: the document's.
pub const LINES: u64 = 10_000;
pub const RECORDS: u64 = 10_478;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Microseconds from before its start until its end is known.
    Start,
    /// Nanoseconds of a call that does next to nothing in the kernel.
    Call,
    /// Nanoseconds of a line to a file that no option names.
    Unnamed,
    /// Nanoseconds of a line that is flushed.
    Print,
    /// Nanoseconds of a record.
    WorkFile,
}

impl Group {
    /// Its runs in each round.
    pub fn turns(self) -> Turns {
        let (number, counts) = if self == Self::Start { (15, Counts::Middle) } else { (4, Counts::Least) };
        Turns { number, counts }
    }

    /// The kernel's calls that are counted.
    fn calls(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Print => Some(("write", "kernel_write_calls")),
            Self::WorkFile => Some(("read", "kernel_read_calls")),
            Self::Start | Self::Call | Self::Unnamed => None,
        }
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
    pub group: Group,
    /// Words before the program: what it runs under.
    before: Vec<String>,
    /// Options of underbar; None: it does not run under underbar.
    options: Option<String>,
    /// The program and its arguments.
    program: Vec<String>,
}

/// The programs, and a folder for files.
#[derive(Debug)]
pub struct Programs {
    underbar: String,
    calls: String,
    /// Of C++; None without such a compiler.
    endl: Option<String>,
    folder: PathBuf,
    /// Names of options that this build of underbar has.
    options: Vec<&'static str>,
    has_strace: bool,
    darshan: Option<String>,
}

/// Options of which not every build has all.
const CACHES: [&str; 2] = ["PRINT", "WORKFILE"];
/// Where distributions put Darshan's library.
const DARSHAN: [&str; 3] =
    ["/usr/lib/x86_64-linux-gnu/libdarshan.so", "/usr/lib64/libdarshan.so", "/usr/local/lib/libdarshan.so"];

impl Programs {
    /// Compiles them.
    ///
    /// # Errors
    /// [`Error::Missing`] without a C compiler or the command; [`Error::System`].
    pub fn make(target: &Path) -> Result<Self, Error> {
        let folder = target.join("bench-switches");
        let system = |error| Error::system("writing programs", &error);
        fs::create_dir_all(&folder).map_err(system)?;
        let compile = |compiler: &str, name: &str, source: &str| {
            let (file, to) = (folder.join(name), folder.join(name).with_extension(""));
            fs::write(&file, source).map_err(system)?;
            let done = Command::new(compiler).arg("-O2").arg(&file).arg("-o").arg(&to).status();
            Ok(done.is_ok_and(|status| status.success()).then(|| to.display().to_string()))
        };
        let calls = compile("cc", "calls.c", include_str!("calls.c"))?;
        let underbar = beside("underbar")?.display().to_string();
        let works = |program: &str, words: &[&str]| {
            let run = Command::new(program).args(words).stdout(Stdio::null()).stderr(Stdio::null()).status();
            run.is_ok_and(|status| status.success())
        };
        fs::write(folder.join("80.records"), vec![b'r'; 80 * RECORDS as usize]).map_err(system)?;
        Ok(Self {
            calls: calls.ok_or_else(|| Error::Missing("a C compiler (apt-get install gcc)".to_owned()))?,
            endl: compile("c++", "endl.cc", include_str!("endl.cc"))?,
            options: CACHES.into_iter().filter(|name| works(&underbar, &["explain", name])).collect(),
            has_strace: works("strace", &["-V"]),
            darshan: DARSHAN.into_iter().find(|path| Path::new(path).exists()).map(str::to_owned),
            underbar,
            folder,
        })
    }

    #[cfg(test)]
    pub fn named() -> Self {
        let [underbar, calls] = ["underbar", "calls"].map(str::to_owned);
        let (endl, darshan) = (Some("endl".to_owned()), Some("libdarshan.so".to_owned()));
        let (folder, options) = (PathBuf::from("/folder"), CACHES.to_vec());
        Self { underbar, calls, endl, folder, options, has_strace: true, darshan }
    }
}

/// All arms that can run here. Fewer calls under strace, which takes long.
pub fn all(programs: &Programs, calls: u64) -> Vec<Arm> {
    let mut arms = Vec::new();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let mut add = |name, group, about: &str, before: &[&str], options: Option<&str>, program: &[String]| {
        arms.push(Arm {
            name,
            about: about.to_owned(),
            group,
            before: words(before),
            options: options.map(str::to_owned),
            program: program.to_vec(),
        });
    };
    let has = |option: &str| programs.options.contains(&option);
    let file = |name: &str| programs.folder.join(name).display().to_string();

    let nothing = words(&["true"]);
    add("start", Group::Start, "underbar run -q -- true", &[], Some(""), &nothing);
    add("start-counted", Group::Start, "the same under SWITCHES(ON)", &[], Some("SWITCHES(ON)"), &nothing);

    let null = |calls: u64| words(&[&programs.calls, "null", &calls.to_string()]);
    add("call", Group::Call, "a write to /dev/null, plain", &[], None, &null(calls));
    add("call-underbar", Group::Call, "under underbar, not counted", &[], Some(""), &null(calls));
    add("call-counted", Group::Call, "SWITCHES(ON)", &[], Some("SWITCHES(ON)"), &null(calls));
    if let Some(library) = &programs.darshan {
        let variables = [format!("LD_PRELOAD={library}"), "DARSHAN_ENABLE_NONMPI=1".to_owned()];
        let before = ["env", &variables[0], &variables[1]];
        add("call-darshan", Group::Call, "Darshan", &before, None, &null(calls));
    }
    if programs.has_strace {
        let before = ["strace", "-f", "-c", "-o", "/dev/null"];
        add("call-strace", Group::Call, "strace -c", &before, None, &null(calls / 100));
    }

    let unnamed = words(&[&programs.calls, "file", &(calls / 5).to_string(), &file("unnamed")]);
    add("unnamed", Group::Unnamed, "a line to a file, plain", &[], None, &unnamed);
    add("unnamed-underbar", Group::Unnamed, "under underbar", &[], Some(""), &unnamed);
    if has("WORKFILE") {
        let other = "WORKFILE(*.other,300,300)";
        add("unnamed-cache", Group::Unnamed, "a cache for another file", &[], Some(other), &unnamed);
    }

    let mut print = |names: [&'static str; 3], what: &str, program: &[String]| {
        add(names[0], Group::Print, &format!("{what}, plain"), &[], None, program);
        add(names[1], Group::Print, &format!("{what}, stdbuf -o 1M"), &["stdbuf", "-o", "1M"], None, program);
        if has("PRINT") {
            let about = format!("{what}, PRINT(132)");
            add(names[2], Group::Print, &about, &[], Some("PRINT(132)"), program);
        }
    };
    let lines = LINES.to_string();
    if let Some(endl) = &programs.endl {
        print(["endl", "endl-stdbuf", "endl-cache"], "std::endl", &words(&[endl, &lines]));
    }
    let flushed = words(&[&programs.calls, "lines", &lines]);
    print(["fflush", "fflush-stdbuf", "fflush-cache"], "fputs and fflush", &flushed);
    let puts = words(&[&programs.calls, "puts", &lines]);
    print(["puts", "puts-stdbuf", "puts-cache"], "fputs", &puts);

    let records = words(&[&programs.calls, "read", &RECORDS.to_string(), &file("80.records")]);
    add("read", Group::WorkFile, "a record of 80 bytes, plain", &[], None, &records);
    if has("WORKFILE") {
        let cache = "WORKFILE(*.records,300,300)";
        add(
            "read-cache",
            Group::WorkFile,
            "the same, WORKFILE(*.records,300,300)",
            &[],
            Some(cache),
            &records,
        );
    }
    arms
}

impl Arm {
    fn words(&self, programs: &Programs) -> Vec<String> {
        let mut words = self.before.clone();
        if let Some(options) = &self.options {
            words.extend([&programs.underbar, "run", "-q", "--opts", options, "--"].map(str::to_owned));
        }
        words.extend(self.program.iter().cloned());
        words
    }

    /// Runs it once: microseconds of a start, nanoseconds of a unit.
    ///
    /// # Errors
    /// [`Error::Workload`] when it did not end well, [`Error::System`] when it could not be started.
    pub fn sample(&self, programs: &Programs) -> Result<f64, Error> {
        let words = self.words(programs);
        let output = File::create(programs.folder.join("output"))
            .map_err(|error| Error::system("making a file", &error))?;
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(output);
        let began = Instant::now();
        let done = command.output().map_err(|error| Error::system("starting a run", &error))?;
        let elapsed = began.elapsed();
        let said = String::from_utf8_lossy(&done.stderr);
        let wrong = || Error::Workload(format!("{}: {}: {}", words.join(" "), done.status, said.trim_end()));
        if !done.status.success() {
            return Err(wrong());
        }
        if self.group == Group::Start {
            return Ok(elapsed.as_secs_f64() * 1e6);
        }
        took(&said).ok_or_else(wrong)
    }

    /// Calls of the kernel of one run, of the type that the group counts; None if they cannot be counted here.
    ///
    /// # Errors
    /// [`Error::System`] when the answer cannot be read.
    pub fn kernel_calls(&self, programs: &Programs) -> Result<Option<u64>, Error> {
        let Some((call, counter)) = self.group.calls() else { return Ok(None) };
        let to = programs.folder.join("counts");
        let name = to.display().to_string();
        let mut words: Vec<String> = match &self.options {
            Some(options) => {
                let all = format!("SWITCHES(ON) {options}");
                [&programs.underbar, "run", "--json", "-o", &name, "--opts", &all, "--"]
                    .map(str::to_owned)
                    .to_vec()
            }
            None if programs.has_strace => {
                let trace = format!("trace={call}");
                let strace = ["strace", "-f", "-c", "-U", "calls,name", "-e", &trace, "-o", &name];
                strace.map(str::to_owned).to_vec()
            }
            None => return Ok(None),
        };
        words.extend(self.before.iter().chain(&self.program).cloned());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if self.group == Group::Print {
            let output = File::create(programs.folder.join("output"));
            command.stdout(output.map_err(|error| Error::system("making a file", &error))?);
        }
        command.status().map_err(|error| Error::system("starting a run", &error))?;
        let text = fs::read_to_string(&to).map_err(|error| Error::system("reading counts", &error))?;
        if self.options.is_none() {
            return Ok(total(&text));
        }
        let report: Value = serde_json::from_str(&text).unwrap_or_default();
        let figure = &report["tree"]["counters"]["switches"][counter];
        Ok(figure["value"].as_u64().or(figure.as_u64()))
    }
}

/// Nanoseconds of a unit, as the program says.
fn took(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("took "))?;
    let (all, units) = line.split_once(' ')?;
    Some(all.parse::<f64>().ok()? / units.trim().parse::<f64>().ok().filter(|units| *units > 0.0)?)
}

/// The last line of strace's table of calls: their sum.
fn total(text: &str) -> Option<u64> {
    text.lines().next_back()?.split_whitespace().find_map(|word| word.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_have_names_of_their_own_and_run_what_they_say() {
        let (programs, mut names) = (Programs::named(), Vec::new());
        for arm in all(&programs, 1_000_000) {
            let words = arm.words(&programs);
            assert_eq!(words[0] == "underbar", arm.options.is_some(), "{words:?}");
            names.push(arm.name);
        }
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn what_programs_say_is_read() {
        assert_eq!(took("a warning\ntook 5000 10\n"), Some(500.0));
        assert_eq!(took("took 5000 0\n"), None);
        assert_eq!(total("calls syscall\n----- ----\n 12 write\n----- ----\n 12 total\n"), Some(12));
    }
}
