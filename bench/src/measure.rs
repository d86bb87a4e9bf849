//! One sample: a workload run once under one allocator, through the small launcher.
//!
//! Invariant: a sample exists only for a run that ended with status 0 and printed the workload's line.

use crate::Error;
use crate::peers::Allocator;
use crate::workloads::Workload;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The usage of one run, from the kernel's own accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Time in the program and its libraries, in microseconds.
    pub user_us: u64,
    /// Time in the kernel on its behalf, in microseconds.
    pub system_us: u64,
    /// Most memory resident at once, in KiB.
    pub peak_kib: u64,
    /// Page faults served without reading a disk.
    pub faults: u64,
    /// The workload's output.
    pub printed: String,
}

impl Sample {
    /// User and system time together, in microseconds.
    #[must_use]
    pub fn cpu_us(&self) -> u64 {
        self.user_us + self.system_us
    }
}

/// The two programs of a sample.
#[derive(Debug, Clone)]
pub struct Programs {
    /// `underbar-bench-launch`.
    pub launch: PathBuf,
    /// `underbar-bench-workload`.
    pub workload: PathBuf,
}

impl Programs {
    /// Finds them next to the running program.
    ///
    /// # Errors
    /// [`Error::Missing`] when they were not built.
    pub fn beside_us() -> Result<Self, Error> {
        Ok(Self { launch: beside("underbar-bench-launch")?, workload: beside("underbar-bench-workload")? })
    }
}

/// A program next to the running one, built by the same call.
///
/// # Errors
/// [`Error::Missing`] when it was not built.
pub fn beside(name: &str) -> Result<PathBuf, Error> {
    let own = std::env::current_exe().map_err(|error| Error::system("finding the own program", &error))?;
    let path = own.with_file_name(name);
    if path.exists() {
        return Ok(path);
    }
    Err(Error::Missing(format!("{name}: cargo build --release -p underbar-bench -p underbar-cli")))
}

/// Runs `workload` once.
///
/// # Errors
/// [`Error::Workload`] when it failed or the loader complained, [`Error::System`] when it could not be started.
pub fn sample(
    programs: &Programs,
    allocator: &Allocator,
    workload: &Workload,
    steps: usize,
    seed: u64,
) -> Result<Sample, Error> {
    let mut command = Command::new(&programs.launch);
    for (name, value) in allocator.variables {
        command.arg(format!("{name}={value}"));
    }
    if let Some(preload) = &allocator.preload {
        command.arg(format!("LD_PRELOAD={}", preload.display()));
    }
    let done = command
        .arg("--")
        .args(&allocator.before)
        .arg(&programs.workload)
        .args([workload.name, &steps.to_string(), &seed.to_string()])
        .stdin(Stdio::null())
        .env_remove("LD_PRELOAD")
        .output()
        .map_err(|error| Error::system("starting the launcher", &error))?;
    let complaint = String::from_utf8_lossy(&done.stderr);
    // If a library cannot be preloaded the loader only prints a complaint: the run would measure glibc.
    if !done.status.success() || complaint.contains("cannot be preloaded") {
        return Err(Error::Workload(format!(
            "{} under {}: {}: {}",
            workload.name,
            allocator.name,
            done.status,
            complaint.trim_end()
        )));
    }
    parse(&String::from_utf8_lossy(&done.stdout)).ok_or_else(|| {
        Error::Workload(format!("{} under {} printed no usage line", workload.name, allocator.name))
    })
}

/// Parses the launcher's last line.
fn parse(text: &str) -> Option<Sample> {
    let (printed, line) = text.trim_end().rsplit_once('\n')?;
    let [user_us, system_us, peak_kib, faults] = usage(line)?;
    Some(Sample { user_us, system_us, peak_kib, faults, printed: printed.to_owned() })
}

/// The figures of the launcher's line: microseconds of user and system time, the peak in KiB, and page faults.
#[must_use]
pub fn usage(line: &str) -> Option<[u64; 4]> {
    let numbers = line.trim_end().strip_prefix("usage ")?.split(' ').map(str::parse);
    numbers.collect::<Result<Vec<u64>, _>>().ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::{Sample, parse};

    #[test]
    fn the_usage_line_is_the_last_one() {
        let sample = parse("lifo 1 2 00ff\nusage 10 20 3000 44\n");
        let printed = "lifo 1 2 00ff".to_owned();
        assert_eq!(sample, Some(Sample { user_us: 10, system_us: 20, peak_kib: 3_000, faults: 44, printed }));
        assert_eq!(parse("lifo 1 2 00ff\n"), None);
        assert_eq!(parse("lifo\nusage 1 2 3\n"), None);
    }
}
