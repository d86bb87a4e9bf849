//! `bench programs --soak MINUTES`: servers under load for long, all at the same time, each under `underbar run` with its defaults.
//!
//! ```text
//! each server    underbar run -- server        load after load, until the time is over
//!                  every second: memory           each load: operations, seconds
//! ```
//!
//! Invariant: every load succeeds and every server ends by its signal, with status 0; else the run is an error.
//! Not here: how a server is started and ended (`server`), the line of the memory (`memory_line`), the servers of the catalog
//! (`catalog`). The server of requests with ECBs that leak has its own soak (`ecb::soak`).

mod table;

use super::catalog::{PROGRAMS, Work};
use super::server::Server;
use super::tree::Tree;
use super::{prepared, provide, shell};
use crate::busy::Busy;
use crate::ecb::soak::{server as http_server, wrk};
use crate::host::Host;
use crate::measure::beside;
use crate::memory_line::Second;
use crate::{Error, results};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Our own server, which is not in the catalog: `zoo/http`.
const HTTP: &str = "http";
/// The servers of a soak that names none.
const DEFAULT: [&str; 2] = ["mariadb", HTTP];
/// Seconds of one load of our own server.
const WINDOW: u64 = 10;

/// The request on the command line.
#[derive(Debug, Clone)]
pub struct Request {
    /// How long the servers are under load.
    pub minutes: u64,
    /// Servers of the catalog, or `http`; empty: `mariadb` and `http`.
    pub programs: Vec<String>,
    /// Words between `underbar run` and `--`.
    pub options: Vec<String>,
    /// Whether text and CSV are written below `bench/runs`.
    pub record: bool,
}

/// One load of a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loaded {
    /// The second of the run at its end.
    pub end: u64,
    /// Operations, as the load counts them: transactions, requests.
    pub operations: u64,
    /// Seconds that it took.
    pub seconds: f64,
}

/// What was seen of a server.
#[derive(Debug, Clone)]
pub struct Soaked {
    /// Its name.
    pub name: String,
    /// Its load, in a few words.
    pub about: String,
    /// All loads.
    pub loads: Vec<Loaded>,
    /// Its memory, of all its processes: each page once, shared ones in parts.
    pub seconds: Vec<Second>,
}

/// A whole run.
#[derive(Debug)]
pub struct Run {
    /// Its host.
    pub host: Host,
    /// Its request.
    pub request: Request,
    /// Each server.
    pub servers: Vec<Soaked>,
    /// Part of all processors' time that neither servers nor loads used, 0 to 1.
    pub others: f64,
}

/// How a server is loaded.
enum Load {
    /// A text for the shell, with so many operations each time.
    Shell { text: &'static str, operations: u64 },
    /// wrk, with the script of `zoo/http`.
    Wrk { script: PathBuf },
}

/// A server before it is started.
struct Prepared {
    name: String,
    about: String,
    words: Vec<String>,
    ready: &'static str,
    stop: &'static str,
    load: Load,
    folder: PathBuf,
}

/// Loads the servers, prints the table and writes the files.
///
/// # Errors
/// Everything in [`Error`].
pub fn run(request: Request, workspace: &Path, target: &Path) -> Result<(), Error> {
    let underbar = beside("underbar")?;
    let names: Vec<&str> = match &request.programs[..] {
        [] => DEFAULT.to_vec(),
        names => names.iter().map(String::as_str).collect(),
    };
    let mut servers = Vec::new();
    for name in names {
        servers.push(prepare(name, workspace, target)?);
    }
    let mut before = vec![underbar.display().to_string(), "run".to_owned(), "-q".to_owned()];
    before.extend(request.options.iter().cloned());
    before.push("--".to_owned());

    let busy = Busy::now();
    let results: Vec<Result<Soaked, Error>> = std::thread::scope(|scope| {
        let each = servers.iter().map(|one| {
            let (before, underbar) = (&before, &underbar);
            scope.spawn(move || soak(one, before, underbar, request.minutes))
        });
        let running: Vec<_> = each.collect();
        let ended = |_| Err(Error::System("a thread of the soak ended early".to_owned()));
        running.into_iter().map(|thread| thread.join().unwrap_or_else(ended)).collect()
    });
    let host = Host::here();
    let others = busy.others(host.processors);
    let servers = results.into_iter().collect::<Result<Vec<_>, _>>()?;
    let run = Run { host, request, servers, others };
    let text = table::text(&run);
    print!("{text}");
    if run.request.record {
        let files = [("programs-soak.txt", text), ("programs-soak.csv", table::csv(&run))];
        results::record(&run.host, &files, workspace)?;
    }
    Ok(())
}

/// Builds or installs a server, and prepares its folder.
fn prepare(name: &str, workspace: &Path, target: &Path) -> Result<Prepared, Error> {
    let scratch = target.join("programs-soak");
    if name == HTTP {
        let version = wrk::version()?;
        eprintln!("building the server");
        let program = http_server(workspace, target)?;
        let folder = scratch.join(HTTP);
        std::fs::create_dir_all(&folder).map_err(|error| Error::system("creating a folder", &error))?;
        let script = workspace.join("zoo/http/load.lua");
        return Ok(Prepared {
            name: HTTP.to_owned(),
            about: format!("a server on hyper, {version} over {} connections", wrk::CONNECTIONS),
            words: vec![program.display().to_string()],
            ready: "test -s printed",
            stop: "TERM",
            load: Load::Wrk { script },
            folder,
        });
    }
    let program = PROGRAMS.iter().find(|program| program.name == name);
    let Some((program, Work::Server { words, ready, load, operations, stop })) =
        program.map(|program| (program, &program.work))
    else {
        return Err(Error::Usage(format!("no server is called {name}")));
    };
    provide(&[program], false)?;
    Ok(Prepared {
        name: name.to_owned(),
        about: program.about.to_owned(),
        words: words.iter().map(|&word| word.to_owned()).collect(),
        ready,
        stop,
        load: Load::Shell { text: load, operations: *operations },
        folder: prepared(program, &scratch)?,
    })
}

/// One server, from its start to its end.
fn soak(one: &Prepared, before: &[String], underbar: &Path, minutes: u64) -> Result<Soaked, Error> {
    let words: Vec<&str> = one.words.iter().map(String::as_str).collect();
    let server = Server { name: &one.name, words: &words, ready: one.ready, load: "", stop: one.stop };
    let mut child = server.start(before, &one.folder)?;
    let seen =
        server.until_ready(&mut child, &one.folder).and_then(|()| under_load(one, &child, underbar, minutes));
    let status = server.end(&mut child);
    let (loads, seconds) = seen?;
    let status = status?;
    if !status.success() {
        return Err(Error::Workload(format!("{} ended with {status}", one.name)));
    }
    Ok(Soaked { name: one.name.clone(), about: one.about.clone(), loads, seconds })
}

/// Loads a server again and again until the time is over, and reads its memory every second meanwhile.
fn under_load(
    one: &Prepared,
    child: &Child,
    underbar: &Path,
    minutes: u64,
) -> Result<(Vec<Loaded>, Vec<Second>), Error> {
    let (over, began, root) = (AtomicBool::new(false), Instant::now(), child.id());
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| look(root, underbar, began, &over));
        let loads = loads(one, minutes, began);
        // Relaxed: the flag publishes nothing else.
        over.store(true, Ordering::Relaxed);
        let seconds = looking.join().unwrap_or_default();
        loads.map(|loads| (loads, seconds))
    })
}

/// The loads, one after the other.
fn loads(one: &Prepared, minutes: u64, began: Instant) -> Result<Vec<Loaded>, Error> {
    let mut loads: Vec<Loaded> = Vec::new();
    let mut said = 0;
    while began.elapsed() < Duration::from_secs(60 * minutes) {
        let start = Instant::now();
        let (operations, seconds) = match &one.load {
            Load::Shell { text, operations } => match shell(&format!("set -eu\n{text}"), &one.folder)? {
                (true, _) => (*operations, start.elapsed().as_secs_f64()),
                (false, words) => {
                    return Err(Error::Workload(format!("{}: the load failed: {words}", one.name)));
                }
            },
            Load::Wrk { script } => {
                let printed = std::fs::read_to_string(one.folder.join("printed"))
                    .map_err(|error| Error::system("reading the server's port", &error))?;
                let port = printed.split_whitespace().next().and_then(|word| word.parse().ok());
                let port = port.ok_or_else(|| Error::Workload("the server named no port".to_owned()))?;
                let load = wrk::load(port, script, WINDOW)?;
                (load.requests, load.seconds)
            }
        };
        loads.push(Loaded { end: began.elapsed().as_secs(), operations, seconds });
        let now = began.elapsed().as_secs() / 60;
        if now > said {
            eprintln!("{}: {now} of {minutes} minutes", one.name);
            said = now;
        }
    }
    Ok(loads)
}

/// Reads the memory of a server's processes every second, until the run is over.
fn look(root: u32, underbar: &Path, began: Instant, over: &AtomicBool) -> Vec<Second> {
    let mut seconds = Vec::new();
    for second in 0.. {
        std::thread::sleep(Duration::from_secs(second).saturating_sub(began.elapsed()));
        if over.load(Ordering::Relaxed) {
            break;
        }
        let resident_kib = Tree::of(root, underbar).memory_kib();
        if resident_kib > 0 {
            seconds.push(Second { second, resident_kib });
        }
    }
    seconds
}
