//! Ways to load, call and unload a program. Each process runs one way a given number of times.
//!
//! ```text
//! WAY LIBRARY MEMBER TIMES  ──>  once, not timed ──> TIMES times, timed ──> "elapsed_ns N"
//! ```
//!
//! Invariant: every turn calls the program and checks its result. With underbar's loader, every turn takes the program from the
//! source that the way names (`check`), and none falls back to the system's loader.
//! Not here: the loaded programs, and the meaning of the times (`underbar-bench`).

mod ours;
mod peers;

use std::ffi::CString;
use std::time::Instant;

/// The owner of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Other loaders, which load from files.
    Peer,
    /// underbar's loader, which loads from libraries.
    Ours,
}

/// A way of loading.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// Its name on the command line and in files.
    pub name: &'static str,
    /// The name in tables.
    pub about: &'static str,
    /// Its owner.
    pub role: Role,
    open: fn(&Program) -> Result<Box<dyn Turns>, String>,
}

/// All ways.
pub const TABLE: &[Way] = &[
    Way { name: "dlopen", about: "dlopen, dlclose", role: Role::Peer, open: peers::dlopen },
    Way { name: "memfd", about: "memfd, dlopen, dlclose", role: Role::Peer, open: peers::memfd },
    Way { name: "elf_loader", about: "crate elf_loader 0.18", role: Role::Peer, open: peers::elf_loader },
    Way {
        name: "shared",
        about: "shared, from VLF",
        role: Role::Ours,
        open: |program| ours::open(program, ours::SHARED, true),
    },
    Way {
        name: "fresh",
        about: "fresh, from VLF",
        role: Role::Ours,
        open: |program| ours::open(program, ours::FRESH, true),
    },
    Way {
        name: "nothing",
        about: "nothing kept",
        role: Role::Ours,
        open: |program| ours::open(program, ours::NOTHING, true),
    },
    Way {
        name: "shared-searched",
        about: "shared, from VLF, without LLA",
        role: Role::Ours,
        open: |program| ours::open(program, ours::SHARED, false),
    },
    Way {
        name: "fresh-searched",
        about: "fresh, from VLF, without LLA",
        role: Role::Ours,
        open: |program| ours::open(program, ours::FRESH, false),
    },
    Way {
        name: "nothing-searched",
        about: "nothing kept, without LLA",
        role: Role::Ours,
        open: |program| ours::open(program, ours::NOTHING, false),
    },
];

/// The way with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Way> {
    TABLE.iter().find(|way| way.name == name)
}

/// The object to load: a file, or a member of a library.
struct Program {
    path: CString,
    member: String,
}

/// The function of every measured program: `int entry(int x) { return x + 1; }`.
type Entry = unsafe extern "C" fn(i32) -> i32;

/// A loader that loads, calls and unloads the program.
trait Turns {
    /// One turn: the program's result for 41.
    fn turn(&mut self) -> Result<i32, String>;

    /// Checks that the turns after the first, `times` in number, were done in the stated way.
    fn check(&self, times: u64) -> Result<(), String>;
}

/// Runs the arguments of a command line, and returns the output.
///
/// # Errors
/// Invalid arguments, or a program that could not be loaded in the stated way.
pub fn program(words: &[&str]) -> Result<String, String> {
    let [way, path, member, times] = words else { return Err("WAY LIBRARY MEMBER TIMES".to_owned()) };
    let way = find(way).ok_or_else(|| format!("no way {way}"))?;
    let times: u64 = times.parse().ok().filter(|times| *times > 0).ok_or("TIMES of at least 1")?;
    let path = CString::new(*path).map_err(|_| "a path with a zero")?;
    let mut turns = (way.open)(&Program { path, member: (*member).to_owned() })?;
    let mut right = turns.turn()? == 42;
    let start = Instant::now();
    for _ in 0..times {
        right &= turns.turn()? == 42;
    }
    let elapsed = start.elapsed().as_nanos();
    turns.check(times)?;
    if right {
        Ok(format!("elapsed_ns {elapsed}"))
    } else {
        Err("the program gave something else".to_owned())
    }
}
