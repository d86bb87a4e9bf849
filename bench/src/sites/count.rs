//! Instructions of the workloads, with SITES and without, counted by callgrind: no other program disturbs them.
//!
//! The library is preloaded and makes a ledger of its own (MSGFILE), since valgrind does not run `underbar run`. Nobody reads the samples.
//! The count of a program that starts, does nothing and ends is subtracted.
//!
//! | options | what is counted |
//! |---|---|
//! | `SITES(OFF)` | the program and its heap |
//! | `SITES(ON,1G)` | the same, looking for samples and finding next to none: a cost that nothing limits |
//! | `SITES(ON)` | also the samples, which the sampler limits by their share of CPU time |
//!
//! Time under valgrind is not that of the program: user code takes fifty times as long, and system calls and page faults as long as ever.
//! So the share of samples is only a hint here; the rounds measure it.
//! Not here: time.

use super::subjects::Subject;
use crate::Error;
use crate::peers;
use std::path::Path;
use std::process::{Command, Stdio};

/// Steps are divided by this: callgrind takes fifty times as long.
const DIVISOR: usize = 50;

/// Instructions of a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Counted {
    /// Its name.
    pub name: &'static str,
    /// Under underbar.
    pub without: u64,
    /// With SITES, and without a sample.
    pub between: u64,
    /// With SITES.
    pub with: u64,
}

impl Counted {
    /// How many times as many with SITES, as long as nothing is sampled.
    #[must_use]
    pub fn between(&self) -> f64 {
        self.between as f64 / self.without.max(1) as f64
    }

    /// How many times as many with SITES.
    #[must_use]
    pub fn with(&self) -> f64 {
        self.with as f64 / self.without.max(1) as f64
    }
}

/// Counts all workloads among the subjects.
///
/// # Errors
/// [`Error::Missing`] without valgrind or the library, [`Error::Workload`] when a program failed.
pub fn all(
    subjects: &[Subject],
    workload: &Path,
    target: &Path,
    divisor: usize,
) -> Result<Vec<Counted>, Error> {
    // Under its own name the library would leave valgrind's launcher alone, and what that starts.
    let library = workload.with_file_name("counted-sites.so");
    std::fs::copy(peers::underbar_mainframe(target)?, &library)
        .map_err(|error| Error::system("copying the library", &error))?;
    let divisor = DIVISOR * divisor;
    let mut all = Vec::new();
    for subject in subjects.iter().filter(|subject| subject.steps.is_some()) {
        eprintln!("{}: instructions", subject.name);
        let work = subject.command(divisor, 1);
        // This workload does nothing before its first step.
        let nothing: Vec<String> =
            [&workload.display().to_string(), "lifo", "0", "1"].map(str::to_owned).to_vec();
        let count = |options: &str| {
            let start = instructions(subject, &nothing, &library, options)?;
            Ok::<u64, Error>(instructions(subject, &work, &library, options)?.saturating_sub(start))
        };
        let [without, between, with] = ["SITES(OFF)", "SITES(ON,1G)", "SITES(ON)"].map(count);
        all.push(Counted { name: subject.name, without: without?, between: between?, with: with? });
    }
    Ok(all)
}

/// The instructions of one run.
fn instructions(subject: &Subject, words: &[String], library: &Path, options: &str) -> Result<u64, Error> {
    let ledger = subject.folder.join("ledger");
    let remove = || {
        for entry in std::fs::read_dir(&subject.folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("ledger") {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    };
    remove();
    let done = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .args(words)
        .current_dir(&subject.folder)
        .env("LD_PRELOAD", library)
        .env("UNDERBAR_OPTS", format!("MSGFILE({}),{options}", ledger.display()))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::Missing(format!("valgrind: {error}; apt-get install valgrind")))?;
    let has_accounts = ledger.exists();
    remove();
    let text = String::from_utf8_lossy(&done.stderr);
    let ended_well = done.status.success() && has_accounts && !text.contains("cannot be preloaded");
    crate::accounts::collected(&text).filter(|_| ended_well).ok_or_else(|| {
        Error::Workload(format!("{} under callgrind with {options}: {}", subject.name, done.status))
    })
}

#[cfg(test)]
mod tests {
    use super::Counted;

    #[test]
    fn a_ratio_of_counts_is_that_with_sites_to_that_without() {
        let counted = Counted { name: "lifo", without: 1000, between: 1004, with: 1010 };
        assert!((counted.between() - 1.004).abs() < 1e-12 && (counted.with() - 1.01).abs() < 1e-12);
    }
}
