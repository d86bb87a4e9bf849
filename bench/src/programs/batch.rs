//! One sample of a program that ends by itself.
//!
//! Two launchers, one around the other: the outer one has the CPU time of everything, underbar's command among it; the inner
//! one has the peak and the CPU time of the program and of what it starts, without underbar's command.
//!
//! Invariant: both arms have both launchers.

use super::Sample;
use crate::Error;
use crate::measure::usage;
use std::fs::File;
use std::hash::Hasher as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// What is in front of a program: words, and variables that the program alone gets.
#[derive(Debug, Clone, Copy, Default)]
pub struct Front<'a> {
    /// Words before the inner launcher.
    pub before: &'a [String],
    /// Variables, each as `NAME=VALUE`.
    pub variables: &'a [String],
}

/// Runs the command this many times, one after another, with `front` in front of it.
///
/// # Errors
/// [`Error::System`] if it could not be started, [`Error::Workload`] if a launcher left no figures.
pub fn sample(
    name: &str,
    words: &[&str],
    turns: usize,
    front: Front<'_>,
    launch: &Path,
    folder: &Path,
) -> Result<Sample, Error> {
    let system = |attempt: &'static str| move |error: std::io::Error| Error::system(attempt, &error);
    let [outer, inner, printed, said] =
        ["usage-outer", "usage-inner", "printed", "said"].map(|file| folder.join(file));
    let mut sum = Sample::default();
    let mut hash = std::hash::DefaultHasher::new();
    for _ in 0..turns {
        let stdout = File::create(&printed).map_err(system("making a file"))?;
        let stderr = File::create(&said).map_err(system("making a file"))?;
        for file in [&outer, &inner] {
            let _ = std::fs::remove_file(file);
        }
        let began = Instant::now();
        let status = Command::new(launch)
            .arg(format!("--to={}", outer.display()))
            .arg("--")
            .args(front.before)
            .arg(launch)
            .arg(format!("--to={}", inner.display()))
            .args(front.variables)
            .arg("--")
            .args(words)
            .current_dir(folder)
            .env("LC_ALL", "C")
            .env_remove("LD_PRELOAD")
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr)
            .status()
            .map_err(system("starting a launcher"))?;
        sum.elapsed_us += began.elapsed().as_secs_f64() * 1e6;
        let figures =
            |file: &Path| Some(usage(&std::fs::read_to_string(file).ok()?)?.map(|figure| figure as f64));
        let Some(([user, system_time, ..], [own_user, own_system, peak, _])) =
            figures(&outer).zip(figures(&inner))
        else {
            let said = std::fs::read_to_string(&said).unwrap_or_default();
            return Err(Error::Workload(format!("{name}: {status}: {}", said.trim_end())));
        };
        sum.cpu_us += user + system_time;
        sum.program_us += own_user + own_system;
        sum.peak_kib = sum.peak_kib.max(peak);
        sum.outcome.0 = sum.outcome.0.max(status.code().unwrap_or(255));
        hash.write(&std::fs::read(&printed).map_err(system("reading what was printed"))?);
    }
    sum.outcome.1 = hash.finish();
    Ok(sum)
}
