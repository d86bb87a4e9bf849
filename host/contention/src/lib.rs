//! Locks in comparison: many threads on one lock, and its cost for each of them.
//!
//! ```text
//! locks ──┬── contend      threads of a cell: lock, work inside, unlock, work outside; for a while
//!         ├── uncontended  one thread, pairs of lock and unlock
//!         └── open         tasks that log a given number of records a second, under one lock
//!                │ each in a process of its own, so that its CPU time is the lock's alone
//!                └──> figures   `name=number` on one line, for the parent process
//! ```
//!
//! Invariant: every lock does the same work, with the same parameters; and each run asserts that the number of additions
//! to the protected data equals the number of acquisitions.
//! Not here: rounds, ratios and tables (`bench lock`, `underbar demo lock`).
//!
//! `unsafe` is allowed in three files of this crate only: glibc's mutexes are available from C only, the bare calls of
//! underbar's lock do not check who unlocks, and the restartable sequence of the experimental lock is assembly.

pub mod contend;
pub mod figures;
pub mod histogram;
pub mod lock;
pub mod locks;
pub mod open;
pub mod threads;
pub mod uncontended;
pub mod work;

pub use figures::Figures;

/// The command-line usage.
pub const USAGE: &str = "contend LOCK CELL THREADS MILLISECONDS RATE SEED | uncontended LOCK | \
                         open LOCK TASKS PER_SECOND MILLISECONDS SEED | membarrier THREADS";

/// The program that measures one lock, by its arguments: see [`USAGE`].
///
/// # Errors
/// The fault in the arguments.
pub fn program(words: &[&str]) -> Result<Figures, String> {
    let lock = |name: &str| {
        locks::find(name).ok_or_else(|| {
            let known: Vec<&str> = locks::TABLE.iter().map(|entry| entry.name).collect();
            format!("no lock {name}; there are {}", known.join(", "))
        })
    };
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("{text} is no number"));
    match words {
        ["contend", name, cell, threads, milliseconds, rate, seed] => {
            let cell = contend::find(cell).ok_or_else(|| format!("no cell {cell}"))?;
            let parameters = contend::Parameters {
                cell,
                threads: usize::try_from(number(threads)?).unwrap_or(0).clamp(1, contend::MOST_THREADS),
                milliseconds: number(milliseconds)?,
                rate: work::Rate(number(rate)?.max(1)),
                seed: number(seed)?,
            };
            Ok((lock(name)?.contend)(&parameters))
        }
        ["uncontended", name] => Ok((lock(name)?.uncontended)()),
        ["open", name, tasks, per_second, milliseconds, seed] => {
            let parameters = open::Parameters {
                tasks: number(tasks)?.clamp(1, contend::MOST_THREADS as u64),
                per_second: number(per_second)?.clamp(1, 1_000_000),
                milliseconds: number(milliseconds)?,
                seed: number(seed)?,
            };
            Ok((lock(name)?.open)(&parameters))
        }
        ["membarrier", others] => {
            let others = usize::try_from(number(others)?).unwrap_or(0).min(contend::MOST_THREADS);
            Ok(locks::price(others))
        }
        _ => Err(USAGE.to_owned()),
    }
}
