//! One sample of a server: started, loaded from outside, measured, ended.
//!
//! ```text
//! start ── ready? ── ticks ── load ───────────── ticks ── a second ── one request ── a second ── memory ── end
//!                             memory every 100 ms: the most
//! ```
//!
//! Invariant: the server is ended in any case, by the number of its process.

use super::tree::Tree;
use super::{Sample, shell};
use crate::Error;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Clock ticks of /proc/N/stat in a second: the same on all current architectures of Linux.
const TICKS: f64 = 100.0;
/// The limits of a server's time until it answers, and until it has ended.
const PATIENCE: Duration = Duration::from_secs(60);
/// The interval of reading its memory under load.
const LOOK: Duration = Duration::from_millis(100);

/// The commands that start, load and end a server.
#[derive(Debug)]
pub struct Server<'a> {
    /// The program's name.
    pub name: &'a str,
    /// The command.
    pub words: &'a [&'a str],
    /// Shell text that succeeds when it answers.
    pub ready: &'a str,
    /// Shell text that loads it.
    pub load: &'a str,
    /// The signal that ends it.
    pub stop: &'a str,
}

impl Server<'_> {
    /// Runs it once, with `before` in front of it.
    ///
    /// # Errors
    /// [`Error::Workload`] if it did not come up, the load failed, or it did not end.
    pub fn sample(&self, before: &[String], underbar: &Path, folder: &Path) -> Result<Sample, Error> {
        let mut server = self.start(before, folder)?;
        let sample = self.loaded(&mut server, underbar, folder);
        let ended = self.end(&mut server);
        let mut sample = sample?;
        sample.outcome = (ended?.code().unwrap_or(255), 0);
        Ok(sample)
    }

    /// Starts it, with `before` in front of it. What it prints is in the files `printed` and `said` of its folder.
    ///
    /// # Errors
    /// [`Error::System`] if the system did not start it.
    pub fn start(&self, before: &[String], folder: &Path) -> Result<Child, Error> {
        let words: Vec<&str> = before.iter().map(String::as_str).chain(self.words.iter().copied()).collect();
        let making = |error| Error::system("making a file", &error);
        let printed = File::create(folder.join("printed")).map_err(making)?;
        let said = File::create(folder.join("said")).map_err(making)?;
        Command::new(words[0])
            .args(&words[1..])
            .current_dir(folder)
            .env("LC_ALL", "C")
            .env_remove("LD_PRELOAD")
            .stdin(Stdio::null())
            .stdout(printed)
            .stderr(said)
            .spawn()
            .map_err(|error| Error::system("starting a server", &error))
    }

    /// Waits until it answers.
    ///
    /// # Errors
    /// [`Error::Workload`] if it ended, or did not answer within a minute.
    pub fn until_ready(&self, server: &mut Child, folder: &Path) -> Result<(), Error> {
        let began = Instant::now();
        while !shell(self.ready, folder)?.0 {
            if began.elapsed() > PATIENCE || !matches!(server.try_wait(), Ok(None)) {
                return Err(Error::Workload(format!("{} does not answer", self.name)));
            }
        }
        Ok(())
    }

    /// Waits until it answers, loads it, and measures.
    fn loaded(&self, server: &mut Child, underbar: &Path, folder: &Path) -> Result<Sample, Error> {
        self.until_ready(server, folder)?;
        let root = server.id();
        let tree = || Tree::of(root, underbar);
        let is_over = AtomicBool::new(false);
        let (before, faults_before, began) = (tree().ticks(), tree().faults(), Instant::now());
        let (done, elapsed, peak) = std::thread::scope(|scope| {
            let looking = scope.spawn(|| {
                let mut peak = 0;
                while !is_over.load(Ordering::Relaxed) {
                    peak = peak.max(tree().memory_kib());
                    std::thread::sleep(LOOK);
                }
                peak
            });
            let done = shell(&format!("set -eu\n{}", self.load), folder);
            let elapsed = began.elapsed();
            // Relaxed: the flag publishes nothing else.
            is_over.store(true, Ordering::Relaxed);
            (done, elapsed, looking.join().unwrap_or(0))
        });
        let ticks = tree().ticks().saturating_sub(before);
        let faults = tree().faults().saturating_sub(faults_before);
        if let (false, said) = done? {
            return Err(Error::Workload(format!("{}: the load failed: {said}", self.name)));
        }
        std::thread::sleep(Duration::from_secs(1));
        shell(self.ready, folder)?;
        std::thread::sleep(Duration::from_secs(1));
        let final_kib = tree().memory_kib();
        Ok(Sample {
            cpu_us: ticks as f64 / TICKS * 1e6,
            program_us: 0.0,
            elapsed_us: elapsed.as_secs_f64() * 1e6,
            peak_kib: peak.max(final_kib) as f64,
            final_kib: final_kib as f64,
            faults: faults as f64,
            outcome: (0, 0),
        })
    }

    /// Ends it: by its signal, and by KILL if that does not help.
    ///
    /// # Errors
    /// [`Error::Workload`] if it needed SIGKILL.
    pub fn end(&self, server: &mut Child) -> Result<ExitStatus, Error> {
        let system = |error| Error::system("ending a server", &error);
        shell(&format!("kill -{} {}", self.stop, server.id()), Path::new("/"))?;
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if let Some(status) = server.try_wait().map_err(system)? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        server.kill().map_err(system)?;
        server.wait().map_err(system)?;
        Err(Error::Workload(format!("{} did not end within a minute of SIG{}", self.name, self.stop)))
    }
}
