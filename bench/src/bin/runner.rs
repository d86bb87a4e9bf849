//! `underbar-bench heap|lines|accounts|command|lock|load|ecb|sites|sort|switches|programs [FLAGS]`: what `cargo xtask bench` calls.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use underbar_bench::heap::Request;
use underbar_bench::{
    Error, accounts, command, ecb, heap, lines, load, lock, programs, rounds, sites, sort, switches,
};

const USAGE: &str = "\
cargo xtask bench heap      CPU time and peak memory against other allocators
cargo xtask bench lines     cache lines that threads take from each other in allocators, from 2 to 64 threads (valgrind)
cargo xtask bench accounts  what accounts cost: instructions (valgrind) and CPU time, with and without them
cargo xtask bench command   what the command adds: to a start, to each followed child, by a profile
cargo xtask bench lock      locks under contention: throughput, CPU per operation, waits, fairness
cargo xtask bench load      LOAD, call and DELETE of programs against dlopen and dlclose
cargo xtask bench ecb       a heap for each unit of work against other heaps, arenas, contexts and pools; TLS; names
cargo xtask bench ecb --soak MINUTES    a server whose requests leak, with an ECB for each, under load by wrk: its memory by the second
cargo xtask bench sites     what sampled call sites cost, and their error, next to heaptrack, jemalloc's and tcmalloc's samples
cargo xtask bench sort      underbar sort against GNU sort: time, CPU, memory, kernel entries; also with a tenth of the memory
cargo xtask bench switches  what counting switches costs, next to strace -c and Darshan; lines, records and fetches with and without caches
cargo xtask bench programs  real programs and servers, plain against underbar run; installs what they need (root, apt-get)
cargo xtask bench programs --soak MINUTES   MariaDB and a server of our own under load, at the same time: their memory by the second

  --quick               three rounds of a tenth of the work; nothing is recorded
  --rounds N            rounds of each workload (10)
  --workloads A,B       only these
  --allocators A,B      only these; with accounts: whose pairs are counted beside ours (glibc)
  --library NAME=PATH   one more allocator, by the path of its shared library
  --seed N              the first round's seed (1)
  --require-all         a missing allocator is an error
  --no-record           write nothing below bench/runs

Of bench lines:
  --threads A,B         with so many threads (2,8,32,64)
  --allocators, --library, --require-all, --no-record as above

Of bench lock:
  --quick               three short rounds; nothing is recorded
  --rounds N            rounds of each cell (15)
  --cells A,B           only these sections: short, long, blocking, uncontended, open
  --threads A,B         only with so many threads (1,2,8,32)
  --locks A,B           only these; std, parking_lot, pthread, pthread-adaptive, naive, simple, small, fifo;
                        one_rmw only where it is named
  --through NAME=WORDS  pthread once more, started through a command (underbar run ... --)
  --ms N                length of one run in milliseconds (400); of more than 8 threads longer in proportion
  --seed N, --no-record as above

Of bench load, command and switches:
  --quick               three rounds, of load and switches with a tenth of the turns; nothing is recorded
  --rounds N            rounds (of load 15, of command 20, of switches 12)
  --seed N, --no-record as above

Of bench ecb:
  --quick               three rounds of a fifth of the turns; nothing is recorded
  --rounds N            rounds of each row (15)
  --rows A,B            only these: unit, several, handshake, threads, live, locate-10, locate-1000, locate-100000, tls
  --arms A,B            only those whose names contain one of these: ECB, APR, malloc, glibc ...
  --seed N, --no-record, --require-all as above
  --soak MINUTES        none of these rows, but the server under load; only --no-record goes with it

Of bench sites:
  --quick               three rounds of a tenth of the work; nothing is recorded
  --rounds N            rounds of each program (10)
  --programs A,B        only these: workloads, and jq, python3 json, perl, ruby, sqlite3
  --arms A,B            only these, and those that they are compared with: underbar SITES, underbar heap, jemalloc prof ...
  --parts A,B           only these: cost, instructions, errors
  --divisor N           divides the steps of workloads (1)
  --seed N, --no-record, --require-all as above

Of bench sort:
  --quick               three rounds of 100,000 records; nothing is recorded
  --rounds N            rounds (10)
  --records N           records of 100 bytes (1,000,000)
  --seed N, --no-record as above

Of bench programs:
  --quick               one turn of each; nothing is recorded
  --rounds N            rounds of each program (10)
  --programs A,B        only these
  --peers               with jemalloc, tcmalloc and mimalloc of Debian preloaded, too
  --with 'WORDS'        words between underbar run and --
  --soak MINUTES        no comparison, but servers under load; --programs, --with and --no-record go with it
  --seed N, --no-record, --require-all as above";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match obey(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Parses the arguments and runs the benchmark.
fn obey(words: &[String]) -> Result<(), Error> {
    let Some((what, flags)) = words.split_first() else { return Err(Error::Usage(USAGE.to_owned())) };
    if what == "lock" {
        return lock::run(parse_lock(flags)?, &workspace()?);
    }
    if what == "load" {
        return load::run(parse_rounds(flags, load::ROUNDS)?, &workspace()?);
    }
    if what == "command" {
        return command::run(parse_rounds(flags, command::ROUNDS)?, &workspace()?);
    }
    if what == "switches" {
        let workspace = workspace()?;
        return switches::run(parse_rounds(flags, switches::ROUNDS)?, &workspace, &target(&workspace)?);
    }
    if what == "programs" {
        let workspace = workspace()?;
        let ((request, soak), target) = (parse_programs(flags)?, target(&workspace)?);
        return match soak {
            Some(minutes) => {
                let programs::Request { programs, options, record, .. } = request;
                let request = programs::soak::Request { minutes, programs, options, record };
                programs::soak::run(request, &workspace, &target)
            }
            None => programs::run(request, &workspace, &target),
        };
    }
    if what == "sites" {
        let workspace = workspace()?;
        return sites::run(parse_sites(flags)?, &workspace, &target(&workspace)?);
    }
    if what == "sort" {
        let workspace = workspace()?;
        return sort::run(parse_sort(flags)?, &workspace, &target(&workspace)?);
    }
    if what == "ecb" {
        let (workspace, request) = (workspace()?, parse_ecb(flags)?);
        let target = target(&workspace)?;
        return match request.soak {
            Some(minutes) => {
                let request = ecb::soak::Request { minutes, record: request.record };
                ecb::soak::run(request, &workspace, &target)
            }
            None => ecb::run(request, &workspace, &target),
        };
    }
    let mut threads = lines::THREADS.to_vec();
    let mut request = parse(flags, &mut threads)?;
    let workspace = workspace()?;
    let target = target(&workspace)?;
    match what.as_str() {
        "lines" => lines::run(lines::Request { threads, heap: request }, &workspace, &target),
        "heap" => heap::run(request, &workspace, &target),
        "accounts" => {
            if request.allocators.is_empty() {
                request.allocators = vec!["glibc".to_owned()];
            }
            accounts::run(request, &workspace, &target)
        }
        _ => Err(Error::Usage(USAGE.to_owned())),
    }
}

/// Flags into a request, and into numbers of threads.
fn parse(flags: &[String], threads: &mut Vec<usize>) -> Result<Request, Error> {
    let mut request = Request { seed: 1, record: true, ..Request::default() };
    let mut words = flags.iter();
    while let Some(flag) = words.next() {
        let mut value = || words.next().ok_or_else(|| Error::Usage(format!("{flag} needs a value")));
        match flag.as_str() {
            "--quick" => (request.quick, request.record) = (true, false),
            "--require-all" => request.require_all = true,
            "--no-record" => request.record = false,
            "--rounds" => request.rounds = number(flag, value()?)?,
            "--seed" => request.seed = number(flag, value()?)? as u64,
            "--workloads" => request.workloads = value()?.split(',').map(str::to_owned).collect(),
            "--allocators" => request.allocators = value()?.split(',').map(str::to_owned).collect(),
            "--threads" => {
                let each = value()?.split(',').map(|text| number(flag, text));
                *threads = each.collect::<Result<_, _>>()?;
            }
            "--library" => {
                let (name, path) = value()?
                    .split_once('=')
                    .ok_or_else(|| Error::Usage("--library wants NAME=PATH".to_owned()))?;
                request.libraries.push((name.to_owned(), path.to_owned()));
            }
            _ => return Err(Error::Usage(format!("unknown flag {flag}\n{USAGE}"))),
        }
    }
    if request.rounds == 0 {
        request.rounds = if request.quick { 3 } else { 10 };
    }
    Ok(request)
}

/// Flags of `lock` into a request.
fn parse_lock(flags: &[String]) -> Result<lock::Request, Error> {
    let mut request = lock::Request::default();
    let mut words = flags.iter();
    while let Some(flag) = words.next() {
        let mut value = || words.next().ok_or_else(|| Error::Usage(format!("{flag} needs a value")));
        let list = |text: &String| text.split(',').map(str::to_owned).collect::<Vec<String>>();
        match flag.as_str() {
            "--quick" => request.quick(),
            "--no-record" => request.record = false,
            "--rounds" => request.rounds = number(flag, value()?)?,
            "--seed" => request.seed = number(flag, value()?)? as u64,
            "--ms" => request.milliseconds = number(flag, value()?)? as u64,
            "--cells" => request.cells = list(value()?),
            "--locks" => request.locks = list(value()?),
            "--through" => {
                let (name, command) = value()?
                    .split_once('=')
                    .ok_or_else(|| Error::Usage("--through wants NAME=WORDS".to_owned()))?;
                let words = command.split_whitespace().map(str::to_owned).collect();
                request.through.push((name.to_owned(), words));
            }
            "--threads" => {
                request.threads =
                    list(value()?).iter().map(|text| number(flag, text)).collect::<Result<_, _>>()?;
            }
            _ => return Err(Error::Usage(format!("unknown flag {flag}\n{USAGE}"))),
        }
    }
    Ok(request)
}

/// Flags of `load`, `command` and `switches` into a request; with this default number of rounds.
fn parse_rounds(flags: &[String], rounds: usize) -> Result<rounds::Request, Error> {
    let mut request = rounds::Request::of(rounds);
    let mut words = flags.iter();
    while let Some(flag) = words.next() {
        let mut value = || words.next().ok_or_else(|| Error::Usage(format!("{flag} needs a value")));
        match flag.as_str() {
            "--quick" => request.quick(),
            "--no-record" => request.record = false,
            "--rounds" => request.rounds = number(flag, value()?)?,
            "--seed" => request.seed = number(flag, value()?)? as u64,
            _ => return Err(Error::Usage(format!("unknown flag {flag}\n{USAGE}"))),
        }
    }
    Ok(request)
}

/// Flags of `ecb` into a request.
fn parse_ecb(flags: &[String]) -> Result<ecb::Request, Error> {
    let mut request = ecb::Request::default();
    let mut words = flags.iter();
    while let Some(flag) = words.next() {
        let mut value = || words.next().ok_or_else(|| Error::Usage(format!("{flag} needs a value")));
        match flag.as_str() {
            "--quick" => request.quick(),
            "--no-record" => request.record = false,
            "--require-all" => request.require_all = true,
            "--rounds" => request.rounds = number(flag, value()?)?,
            "--seed" => request.seed = number(flag, value()?)? as u64,
            "--soak" => request.soak = Some(number(flag, value()?)? as u64),
            "--rows" => request.rows = value()?.split(',').map(str::to_owned).collect(),
            "--arms" => request.arms = value()?.split(',').map(str::to_owned).collect(),
            _ => return Err(Error::Usage(format!("unknown flag {flag}\n{USAGE}"))),
        }
    }
    Ok(request)
}

/// Flags of `sites` into a request.
fn parse_sites(flags: &[String]) -> Result<sites::Request, Error> {
    let mut request = sites::Request::default();
    let mut words = flags.iter();
    while let Some(flag) = words.next() {
        let mut value = || words.next().ok_or_else(|| Error::Usage(format!("{flag} needs a value")));
        match flag.as_str() {
            "--quick" => (request.rounds, request.divisor, request.record) = (3, 10, false),
            "--no-record" => request.record = false,
            "--divisor" => request.divisor = number(flag, value()?)?,
            "--parts" => request.parts = value()?.split(',').map(str::to_owned).collect(),
            "--require-all" => request.require_all = true,
            "--rounds" => request.rounds = number(flag, value()?)?,
            "--seed" => request.seed = number(flag, value()?)? as u64,
            "--programs" => request.programs = value()?.split(',').map(str::to_owned).collect(),
            "--arms" => request.arms = value()?.split(',').map(str::to_owned).collect(),
            _ => return Err(Error::Usage(format!("unknown flag {flag}\n{USAGE}"))),
        }
    }
    Ok(request)
}

/// Flags of `sort` into a request.
fn parse_sort(flags: &[String]) -> Result<sort::Request, Error> {
    let mut request = sort::Request::default();
    let mut words = flags.iter();
    while let Some(flag) = words.next() {
        let mut value = || words.next().ok_or_else(|| Error::Usage(format!("{flag} needs a value")));
        match flag.as_str() {
            "--quick" => request.quick(),
            "--no-record" => request.record = false,
            "--rounds" => request.rounds = number(flag, value()?)?,
            "--records" => request.records = number(flag, value()?)? as u64,
            "--seed" => request.seed = number(flag, value()?)? as u64,
            _ => return Err(Error::Usage(format!("unknown flag {flag}\n{USAGE}"))),
        }
    }
    Ok(request)
}

/// Flags of `programs` into a request, and the minutes of a soak.
fn parse_programs(flags: &[String]) -> Result<(programs::Request, Option<u64>), Error> {
    let (mut request, mut soak) = (programs::Request::default(), None);
    let mut words = flags.iter();
    while let Some(flag) = words.next() {
        let mut value = || words.next().ok_or_else(|| Error::Usage(format!("{flag} needs a value")));
        match flag.as_str() {
            "--quick" => (request.rounds, request.record) = (1, false),
            "--no-record" => request.record = false,
            "--require-all" => request.require_all = true,
            "--rounds" => request.rounds = number(flag, value()?)?,
            "--seed" => request.seed = number(flag, value()?)? as u64,
            "--programs" => request.programs = value()?.split(',').map(str::to_owned).collect(),
            "--soak" => soak = Some(number(flag, value()?)? as u64),
            "--peers" => request.peers = true,
            "--with" => request.options = value()?.split_whitespace().map(str::to_owned).collect(),
            _ => return Err(Error::Usage(format!("unknown flag {flag}\n{USAGE}"))),
        }
    }
    Ok((request, soak))
}

/// A whole number of at least one.
fn number(flag: &str, text: &str) -> Result<usize, Error> {
    text.parse()
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| Error::Usage(format!("{flag} wants a number of at least 1, not {text}")))
}

/// The workspace's root, where `cargo xtask` runs this program.
fn workspace() -> Result<PathBuf, Error> {
    let here =
        std::env::current_dir().map_err(|error| Error::system("finding the current folder", &error))?;
    if here.join("bench/peers/Cargo.toml").exists() {
        Ok(here)
    } else {
        Err(Error::Usage(format!("{} is not the workspace's root", here.display())))
    }
}

/// The target folder: where this program itself was built, two folders up (`target/release/underbar-bench`).
fn target(workspace: &Path) -> Result<PathBuf, Error> {
    let own = std::env::current_exe().map_err(|error| Error::system("finding the own program", &error))?;
    Ok(own.ancestors().nth(2).map_or_else(|| workspace.join("target"), Path::to_path_buf))
}
