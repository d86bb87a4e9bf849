//! Demo programs: hidden sub-commands of this binary, so that a demo needs no compiler.
//!
//! ```text
//! underbar __program NAME [--seed N] [--write first|all] [--wait] [--lock NAME] [--rate N]
//!                         [--library PATH] [--member NAME] [--way NAME] [--times N] [--limit N] [--to PATH] [--block-size N]
//! ```
//!
//! A demo starts them as child processes under each set of options. Rust's own allocator calls the C library's
//! malloc, so the preloaded library serves their requests.
//!
//! Invariant: in its measured part a storage program makes only the requests that its document states:
//! arguments are read before, results are written at the end through a buffer on the stack, files under /proc
//! are read into such a buffer. The start of any Rust program adds about a dozen small requests.
//! Not here: how they are run and how their figures are printed (`demo`).

pub mod additional;
pub mod calls;
mod direct;
mod libraries;
mod loads;
pub mod lock;
pub mod nested;
mod remote;
mod simple;
mod sorting;
mod stacks;
pub mod storage;

use std::fs::File;
use std::io::{Read, Write};

use underbar_shown::door::{self, Form};
use underbar_verdict::random::Random;

/// The hidden sub-command.
pub const WORD: &str = "__program";

/// One program.
struct Program {
    name: &'static str,
    run: fn(&Parameters),
}

/// All programs.
const PROGRAMS: [Program; 23] = [
    Program { name: "getfree", run: storage::get_and_free },
    Program { name: "keepfree", run: storage::free_some_and_get_again },
    Program { name: "simple", run: simple::run },
    Program { name: "calls", run: calls::not_initialised },
    Program { name: "calls-initialised", run: calls::initialised },
    Program { name: "pooled", run: storage::get_and_free_of_few_sizes },
    Program { name: "fills", run: storage::get_and_free_small },
    Program { name: "large", run: storage::get_large },
    Program { name: "deep", run: stacks::deep },
    Program { name: "threads", run: stacks::many_threads },
    Program { name: "threads-deep", run: stacks::deep_threads },
    Program { name: "threads-together", run: stacks::threads_together },
    Program { name: "last-cell", run: remote::same_thread },
    Program { name: "last-cell-elsewhere", run: remote::another_thread },
    Program { name: "contended", run: lock::contended },
    Program { name: "logging", run: lock::logging },
    Program { name: "loads", run: loads::loads },
    Program { name: "copied", run: libraries::copied },
    Program { name: "surveyed", run: libraries::surveyed },
    Program { name: "additional", run: additional::additional },
    Program { name: "nested", run: nested::nested },
    Program { name: "one-after-the-other", run: nested::one_after_the_other },
    Program { name: "sorting", run: sorting::sorting },
];

/// The parameters of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Seed of the generator that fixes all sizes.
    seed: u64,
    /// Is every byte of a piece written, or only the first?
    write_all: bool,
    /// Does the program print its position, and wait for a byte on its standard input before it goes on?
    wait: bool,
    /// The name of a lock that threads contend for.
    lock: &'static str,
    /// Steps of work in a millisecond on this machine, measured by the process that starts the program.
    rate: u64,
    /// A library, a folder of libraries, or a shared object, for the programs that read one.
    library: &'static str,
    /// The program in it.
    member: &'static str,
    /// How it is loaded (`loads`).
    way: &'static str,
    /// The number of LOADs, of programs in each other, or of records.
    times: u64,
    /// Bytes of address space that the process may have more than at its start; 0: no limit.
    limit: u64,
    /// The path of a copy.
    to: &'static str,
    /// Its block size.
    block_size: u32,
}

impl Parameters {
    /// The defaults.
    const USUAL: Parameters = Parameters {
        seed: 1,
        write_all: false,
        wait: false,
        lock: "naive",
        rate: 1_000_000,
        library: "",
        member: "",
        way: "plain",
        times: 1,
        limit: 0,
        to: "",
        block_size: 32_760,
    };
}

/// How a program does its work: those of `loads`, of `nested`, of `additional` and of `sorting`.
const WAYS: [&str; 11] =
    ["plain", "lookaside", "kept", "direct", "system", "link", "call", "thread", "user", "each", "discard"];

/// The command line names an unknown program, or has invalid parameters.
pub struct NoSuchProgram;

/// Runs the program that the command line names. None: it names none.
///
/// Called first, so that none of the command's own code runs before the program.
#[must_use]
pub fn run_if_asked() -> Option<Result<(), NoSuchProgram>> {
    let (program, parameters) = {
        let mut words = std::env::args_os().skip(1);
        if words.next()?.to_str() != Some(WORD) {
            return None;
        }
        let words: Option<Vec<String>> = words.map(|word| word.into_string().ok()).collect();
        let found = words.and_then(|words| find(&words));
        let Some(found) = found else {
            complain(format_args!("{WORD}: no such program, or wrong arguments"));
            return Some(Err(NoSuchProgram));
        };
        found
    };
    (program.run)(&parameters);
    Some(Ok(()))
}

fn find(words: &[String]) -> Option<(&'static Program, Parameters)> {
    let (name, mut rest) = words.split_first()?;
    let program = PROGRAMS.iter().find(|program| program.name == name)?;
    let mut parameters = Parameters::USUAL;
    // Words live as long as the process; only the given ones are kept.
    let kept = |word: &str| -> &'static str { word.to_owned().leak() };
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        if word == "--wait" {
            parameters.wait = true;
            continue;
        }
        let (value, after) = rest.split_first()?;
        rest = after;
        match (word.as_str(), value.as_str()) {
            ("--seed", seed) => parameters.seed = seed.parse().ok()?,
            ("--rate", rate) => parameters.rate = rate.parse().ok()?,
            ("--lock", lock) => parameters.lock = underbar_contention::locks::find(lock)?.name,
            ("--library", path) => parameters.library = kept(path),
            ("--member", name) => parameters.member = kept(name),
            ("--way", way) => parameters.way = WAYS.into_iter().find(|known| *known == way)?,
            ("--times", times) => parameters.times = times.parse().ok()?,
            ("--limit", bytes) => parameters.limit = bytes.parse().ok()?,
            ("--to", path) => parameters.to = kept(path),
            ("--block-size", size) => parameters.block_size = size.parse().ok()?,
            ("--write", "all") => parameters.write_all = true,
            ("--write", "first") => parameters.write_all = false,
            _ => return None,
        }
    }
    Some((program, parameters))
}

/// The stream of sizes of a seed. The demos compute their totals with the same stream.
#[must_use]
pub fn generator(seed: u64) -> Random {
    Random::new(seed)
}

/// Writes one line, through a buffer on the stack.
fn say(line: std::fmt::Arguments<'_>) {
    let mut room = [0_u8; 512];
    let mut rest = room.as_mut_slice();
    // A line that does not fit is cut. If the reader is gone, the error does not matter.
    let _ = rest.write_fmt(line);
    let left = rest.len();
    let length = room.len() - left;
    if let Ok(mut output) = File::options().append(true).open("/dev/stdout") {
        let _ = output.write_all(room.get(..length).unwrap_or_default());
    }
}

/// Prints an error on standard error. A failed write is ignored.
fn complain(what: std::fmt::Arguments<'_>) {
    let _ = door::to_error(Form::Text, &format!("underbar: error: {what}\n"));
}

/// Prints the program's position, and waits until the process that started it has looked.
fn wait(parameters: &Parameters, place: &str) {
    if parameters.wait {
        say(format_args!("{place}\n"));
        if let Ok(mut input) = File::open("/dev/stdin") {
            let _ = input.read(&mut [0]);
        }
    }
}

/// Bytes of this process that are resident now; 0 if the kernel does not report them.
///
/// From `smaps_rollup`, which walks the pages and is exact.
fn resident() -> u64 {
    let mut room = [0_u8; 1024];
    let length = File::open("/proc/self/smaps_rollup").and_then(|mut file| file.read(&mut room)).unwrap_or(0);
    resident_in(room.get(..length).unwrap_or_default()).unwrap_or_else(resident_soon)
}

/// The same from `statm`, which costs next to nothing and lags by some pages for each processor.
fn resident_soon() -> u64 {
    resident_by_statm().unwrap_or(0)
}

fn resident_in(rollup: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(rollup).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:"))?;
    Some(line.split_ascii_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

fn resident_by_statm() -> Option<u64> {
    statm(1)
}

/// Bytes of this process's address space that are in use; 0 if the kernel does not report them.
fn virtual_bytes() -> u64 {
    statm(0).unwrap_or(0)
}

/// A figure of `statm`, in bytes.
fn statm(at: usize) -> Option<u64> {
    let mut room = [0_u8; 128];
    let length = File::open("/proc/self/statm").and_then(|mut file| file.read(&mut room)).ok()?;
    let text = std::str::from_utf8(room.get(..length)?).ok()?;
    Some(text.split_ascii_whitespace().nth(at)?.parse::<u64>().ok()? * 4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_by_their_words() {
        let find = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            find(&words).map(|(program, parameters)| (program.name, parameters))
        };
        let plain = Parameters::USUAL;
        let loads = Parameters { library: "/x y", member: "M", way: "kept", times: 7, ..plain };
        let words = ["loads", "--library", "/x y", "--member", "M", "--way", "kept", "--times", "7"];
        assert_eq!(find(&words), Some(("loads", loads)));
        assert_eq!(find(&["getfree"]), Some(("getfree", plain)));
        let all = Parameters { seed: 7, write_all: true, wait: true, ..plain };
        let locked = Parameters { lock: "simple", rate: 5, ..plain };
        assert_eq!(find(&["contended", "--lock", "simple", "--rate", "5"]), Some(("contended", locked)));
        assert_eq!(find(&["keepfree", "--seed", "7", "--wait", "--write", "all"]), Some(("keepfree", all)));
        for wrong in [
            &["none"][..],
            &[],
            &["getfree", "--seed"],
            &["getfree", "--seed", "x"],
            &["simple", "y"],
            &["contended", "--lock", "none"],
            &["loads", "--way", "none"],
        ] {
            assert_eq!(find(wrong), None, "{wrong:?}");
        }
        for (at, program) in PROGRAMS.iter().enumerate() {
            assert!(PROGRAMS[..at].iter().all(|other| other.name != program.name));
        }
    }

    #[test]
    fn resident_memory_is_read_from_the_kernels_text() {
        assert_eq!(resident_in(b"00-ff ---p [rollup]\nRss:      12 kB\nPss: 1 kB\n"), Some(12 << 10));
        assert_eq!(resident_in(b"Pss: 1 kB\n"), None);
        assert!(resident() > 4096 && resident_by_statm().is_some_and(|bytes| bytes > 4096));
    }
}
