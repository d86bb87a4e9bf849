//! `bench ecb --soak MINUTES`: a server whose requests leak, with an ECB for each request, under load for long.
//!
//! ```text
//! underbar run --exec -o ledger -- underbar-http --ecb --leak 2048       wrk, window after window
//!   every second: its memory                                              every window: requests, latencies; from the ledger: ECBs
//! then a short load of the same server without ECBs: what would have stayed
//! ```
//!
//! Invariant: the server is the same in both runs, and every answer is a success; else the run is an error.
//! Not here: the server (`zoo/http`), and its tests (`zoo/tests/ecb_servers.rs`).

mod table;
pub(crate) mod wrk;

use crate::busy::Busy;
use crate::host::Host;
use crate::memory_line::Second;
use crate::{Error, build, results};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wrk::Load;

/// Bytes that the work of each request forgets.
const LEAK: u64 = 2_048;
/// Seconds of one load by wrk.
const WINDOW: u64 = 10;
/// Seconds of the load without ECBs: it grows by what leaks.
const WITHOUT: u64 = 5;

/// The request on the command line.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// How long the server with ECBs is under load.
    pub minutes: u64,
    /// Whether text, CSV and JSON are written below `bench/runs`.
    pub record: bool,
}

/// One load by wrk.
#[derive(Debug, Clone)]
pub struct Window {
    /// The second of the run at its end.
    pub end: u64,
    /// What wrk measured.
    pub load: Load,
    /// ECBs that were created and that ended since the server's start, as far as its threads have told.
    pub ecbs: [u64; 2],
}

/// A whole run.
#[derive(Debug)]
pub struct Run {
    /// Its host.
    pub host: Host,
    /// Minutes that were asked for.
    pub minutes: u64,
    /// wrk's version.
    pub wrk: String,
    /// All loads with ECBs.
    pub windows: Vec<Window>,
    /// All seconds with ECBs.
    pub seconds: Vec<Second>,
    /// Requests that the server says it answered.
    pub answered: u64,
    /// The accounts of its class of ECBs at the end.
    pub class: Value,
    /// Without ECBs: requests, and KiB that the memory grew by.
    pub without: (u64, u64),
    /// Part of all processors' time that other programs used meanwhile, 0 to 1.
    pub others: f64,
}

/// Builds the server, loads it, prints the table and writes the files.
///
/// # Errors
/// Everything in [`Error`].
pub fn run(request: Request, workspace: &Path, target: &Path) -> Result<(), Error> {
    let wrk = wrk::version()?;
    eprintln!("building the server");
    let server = server(workspace, target)?;
    let script = workspace.join("zoo/http/load.lua");
    let folder = target.join("ecb-soak");
    std::fs::create_dir_all(&folder).map_err(|error| Error::system("creating a folder", &error))?;
    let ledger = folder.join("accounts.ledger");
    let underbar = target.join("release/underbar");

    let before = Busy::now();
    let mut with = Running::start(&underbar, &ledger, &server, &["--ecb"])?;
    let over = AtomicBool::new(false);
    let began = Instant::now();
    let process = with.process;
    let (windows, seconds) = std::thread::scope(|scope| {
        let looking = scope.spawn(|| look(process, began, &over));
        let windows = windows(&with, &script, request.minutes, began, || classes(&underbar, &ledger));
        // Relaxed: the flag publishes nothing else.
        over.store(true, Ordering::Relaxed);
        (windows, looking.join().unwrap_or_default())
    });
    let windows = windows?;
    let answered = with.end()?;
    let class = classes(&underbar, &ledger)?;

    eprintln!("without ECBs");
    let mut without = Running::start(&underbar, &ledger, &server, &[])?;
    wrk::load(without.port, &script, 1)?;
    let start = resident_kib(without.process)?;
    let load = wrk::load(without.port, &script, WITHOUT)?;
    let grown = resident_kib(without.process)?.saturating_sub(start);
    without.end()?;

    let host = Host::here();
    let others = before.others(host.processors);
    let without = (load.requests, grown);
    let run = Run { host, minutes: request.minutes, wrk, windows, seconds, answered, class, without, others };
    let text = table::text(&run);
    print!("{text}");
    if request.record {
        let files = [
            ("ecb-soak.txt", text),
            ("ecb-soak.csv", table::csv(&run)),
            ("ecb-soak.json", table::json(&run)),
        ];
        results::record(&run.host, &files, workspace)?;
    }
    Ok(())
}

/// Builds the server of `zoo/http`.
pub(crate) fn server(workspace: &Path, target: &Path) -> Result<PathBuf, Error> {
    let target = target.join("zoo-http");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--release", "--locked", "--manifest-path"]);
    cargo.arg(workspace.join("zoo/http/Cargo.toml")).arg("--target-dir").arg(&target);
    build::run(&mut cargo)?;
    Ok(target.join("release/underbar-http"))
}

/// Loads the server window after window, until the time is over.
fn windows(
    server: &Running,
    script: &Path,
    minutes: u64,
    began: Instant,
    classes: impl Fn() -> Result<Value, Error>,
) -> Result<Vec<Window>, Error> {
    let mut windows = Vec::new();
    while began.elapsed() < Duration::from_secs(60 * minutes) {
        let load = wrk::load(server.port, script, WINDOW)?;
        let class = classes()?;
        let count = |key: &str| class[key].as_u64().unwrap_or(0);
        let ecbs = [count("created"), count("ended")];
        windows.push(Window { end: began.elapsed().as_secs(), load, ecbs });
        if windows.len() % 6 == 0 {
            eprintln!("{} of {minutes} minutes", windows.len() / 6);
        }
    }
    Ok(windows)
}

/// Reads the server's memory every second, until the run is over.
fn look(process: u32, began: Instant, over: &AtomicBool) -> Vec<Second> {
    let mut seconds = Vec::new();
    for second in 0.. {
        let wait = Duration::from_secs(second).saturating_sub(began.elapsed());
        std::thread::sleep(wait);
        if over.load(Ordering::Relaxed) {
            break;
        }
        if let Ok(resident_kib) = resident_kib(process) {
            seconds.push(Second { second, resident_kib });
        }
    }
    seconds
}

/// KiB of memory that a process has.
fn resident_kib(process: u32) -> Result<u64, Error> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status"))
        .map_err(|error| Error::system("reading the server's memory", &error))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
        .ok_or_else(|| Error::Workload("the server has ended".to_owned()))
}

/// The accounts of the class of ECBs in a ledger, also of a program that still runs.
fn classes(underbar: &Path, ledger: &Path) -> Result<Value, Error> {
    let text = build::run(Command::new(underbar).args(["report", "--json"]).arg(ledger))?;
    let report: Value = serde_json::from_str(&text)
        .map_err(|error| Error::Workload(format!("underbar report printed no JSON: {error}")))?;
    let class = report["processes"].as_array().into_iter().flatten().find_map(|one| one["ecbs"].get(0));
    class.cloned().ok_or_else(|| Error::Workload("the report has no class of ECBs".to_owned()))
}

/// A running server.
#[derive(Debug)]
struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
    port: u16,
    process: u32,
}

impl Running {
    fn start(underbar: &Path, ledger: &Path, server: &Path, words: &[&str]) -> Result<Running, Error> {
        let _ = std::fs::remove_file(ledger);
        let mut command = Command::new(underbar);
        command.args(["run", "-q", "--exec", "-o"]).arg(ledger).arg("--").arg(server).args(words);
        command.args(["--leak", &LEAK.to_string()]).env_remove("LD_PRELOAD");
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| Error::system("starting the server", &error))?;
        let pipe = child.stdout.take().ok_or_else(|| Error::System("no pipe".to_owned()))?;
        let mut running = Running { process: child.id(), child, lines: BufReader::new(pipe), port: 0 };
        let mut line = String::new();
        let _ = running.lines.read_line(&mut line);
        let port = line.split_whitespace().next().and_then(|word| word.parse().ok());
        running.port =
            port.ok_or_else(|| Error::Workload(format!("the server said {line:?}, and no port")))?;
        Ok(running)
    }

    /// Ends it by the number of its process; how many requests it answered.
    fn end(&mut self) -> Result<u64, Error> {
        build::output("kill", &["-TERM", &self.process.to_string()])?;
        let mut text = String::new();
        let _ = self.lines.read_to_string(&mut text);
        let status = self.child.wait().map_err(|error| Error::system("waiting for the server", &error))?;
        let answered = text.trim().strip_prefix("answered ").and_then(|count| count.parse().ok());
        answered
            .filter(|_| status.success())
            .ok_or_else(|| Error::Workload(format!("the server ended with {status} and said {text:?}")))
    }
}

impl Drop for Running {
    /// Nothing runs on after an error.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
