//! What is run: the workloads, which request storage and do little else, and real programs.
//!
//! Each has a folder of its own, prepared once, plain.

use crate::Error;
use crate::programs::catalog::{PROGRAMS, Work};
use crate::programs::{self, Sample, batch};
use crate::workloads;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::arms::Arm;

/// The real programs, by their names in the catalog. Each is one process, and requests the same storage in each run.
pub const REAL: [&str; 5] = ["jq", "python3 json", "perl", "ruby", "sqlite3"];

/// Hash tables of these programs have the same form in each run.
pub const FIXED: [&str; 2] = ["PERL_HASH_SEED=0", "PYTHONHASHSEED=0"];

/// A program to be run.
#[derive(Debug)]
pub struct Subject {
    /// Its name.
    pub name: &'static str,
    /// The command; for a workload without steps and seed.
    words: Vec<String>,
    /// A workload's steps.
    pub steps: Option<usize>,
    /// Its folder.
    pub folder: PathBuf,
}

impl Subject {
    /// Runs it by this command, silently and in its folder.
    ///
    /// # Errors
    /// It could not be started, or failed: then as `wrong` says.
    pub fn run(&self, command: &mut Command, wrong: &dyn Fn(&str) -> Error) -> Result<(), Error> {
        let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let started = silent.current_dir(&self.folder).env("LC_ALL", "C").status();
        let status = started.map_err(|error| Error::system("starting a program", &error))?;
        if status.success() { Ok(()) } else { Err(wrong(&status.to_string())) }
    }
}

/// Programs that are ready, and those that are not here, with the reason.
pub type Ready = (Vec<Subject>, Vec<(&'static str, String)>);

/// Whether a subject of that name is wanted; no names: all are.
pub fn is_wanted(names: &[String], name: &str) -> bool {
    names.is_empty() || names.iter().any(|one| one == name)
}

/// The subjects of these names, prepared; and real programs that are not here, with the reason.
///
/// # Errors
/// [`Error::Usage`] for a name that there is not.
pub fn all(names: &[String], workload: &Path, scratch: &Path) -> Result<Ready, Error> {
    let known = || workloads::TABLE.iter().map(|workload| workload.name).chain(REAL);
    if let Some(unknown) = names.iter().find(|name| !known().any(|known| known == name.as_str())) {
        let all: Vec<&str> = known().collect();
        return Err(Error::Usage(format!("no program {unknown}; there are {}", all.join(", "))));
    }
    let mut subjects = Vec::new();
    for one in workloads::TABLE.iter().filter(|one| is_wanted(names, one.name)) {
        let folder = scratch.join(one.name);
        std::fs::create_dir_all(&folder).map_err(|error| Error::system("making a folder", &error))?;
        let words = vec![workload.display().to_string(), one.name.to_owned()];
        subjects.push(Subject { name: one.name, words, steps: Some(one.steps), folder });
    }
    let chosen: Vec<_> = PROGRAMS
        .iter()
        .filter(|program| REAL.contains(&program.name) && is_wanted(names, program.name))
        .collect();
    programs::provide(&chosen, false)?;
    let mut missing = Vec::new();
    for program in chosen {
        let Work::Batch { words, .. } = program.work else { continue };
        match programs::prepared(program, scratch) {
            Ok(folder) => {
                let words = words.iter().map(|word| (*word).to_owned()).collect();
                subjects.push(Subject { name: program.name, words, steps: None, folder });
            }
            Err(error @ (Error::Missing(_) | Error::Workload(_))) => {
                missing.push((program.name, error.to_string()));
            }
            Err(error) => return Err(error),
        }
    }
    Ok((subjects, missing))
}

impl Subject {
    /// The whole command, with a part of the steps.
    #[must_use]
    pub fn command(&self, divisor: usize, seed: u64) -> Vec<String> {
        let mut words = self.words.clone();
        if let Some(steps) = self.steps {
            words.extend([(steps / divisor).max(1).to_string(), seed.to_string()]);
        }
        words
    }

    /// Runs it once in that way.
    ///
    /// # Errors
    /// Those of [`batch::sample`].
    pub fn sample(&self, arm: &Arm, divisor: usize, seed: u64, launch: &Path) -> Result<Sample, Error> {
        let words = self.command(arm.divisor * divisor, seed);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let sample = batch::sample(self.name, &words, 1, arm.front(), launch, &self.folder)?;
        if sample.outcome.0 != 0 {
            let status = sample.outcome.0;
            return Err(Error::Workload(format!("{} under {}: status {status}", self.name, arm.name)));
        }
        Ok(sample)
    }
}

#[cfg(test)]
mod tests {
    use super::{REAL, Subject};
    use crate::programs::catalog::{PROGRAMS, Work};

    #[test]
    fn the_real_programs_are_in_the_catalog_and_end_by_themselves() {
        for name in REAL {
            let program = PROGRAMS.iter().find(|program| program.name == name).expect("in the catalog");
            assert!(matches!(program.work, Work::Batch { turns: 1, .. }), "{name}");
        }
    }

    #[test]
    fn a_workload_has_a_part_of_its_steps() {
        let words = vec!["workload".to_owned(), "lifo".to_owned()];
        let subject = Subject { name: "lifo", words, steps: Some(25), folder: "/".into() };
        assert_eq!(subject.command(10, 7), ["workload", "lifo", "2", "7"]);
        assert_eq!(subject.command(100, 7)[2], "1");
    }
}
