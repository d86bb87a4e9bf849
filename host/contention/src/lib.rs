//! Locks side by side: many threads on one lock, and what each of them then costs.
//!
//! ```text
//! locks ──┬── contend      threads of a cell: lock, work inside, unlock, work outside; for a while
//!         ├── uncontended  one thread, pairs of lock and unlock
//!         └── open         tasks that log so many records a second each, under one lock
//!                │ each in a process of its own, so that its CPU time is the lock's and nobody else's
//!                └──> figures   `name=number` on one line, for whoever started the process
//! ```
//!
//! Invariant: every lock does the same work, asked for by the same words; and each run asserts that as many were added
//! to what the lock protects as there were acquisitions.
//! Not here: rounds, ratios and tables (`bench lock`, `underbar demo lock`).
//!
//! `unsafe` is allowed in this crate for three files alone: glibc's mutexes can be had from C only, our own lock's bare
//! calls promise nothing about who unlocks, and the restartable sequence of the lock that was tried is assembly.

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

/// What the program understands.
pub const USAGE: &str = "contend LOCK CELL THREADS MILLISECONDS RATE SEED | uncontended LOCK | \
                         open LOCK TASKS PER_SECOND MILLISECONDS SEED | membarrier THREADS";

/// The program that measures one lock, by its words: see [`USAGE`].
///
/// # Errors
/// What is wrong with the words.
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
            let asked = contend::Asked {
                cell,
                threads: usize::try_from(number(threads)?).unwrap_or(0).clamp(1, contend::MOST_THREADS),
                milliseconds: number(milliseconds)?,
                rate: work::Rate(number(rate)?.max(1)),
                seed: number(seed)?,
            };
            Ok((lock(name)?.contend)(&asked))
        }
        ["uncontended", name] => Ok((lock(name)?.uncontended)()),
        ["open", name, tasks, per_second, milliseconds, seed] => {
            let asked = open::Asked {
                tasks: number(tasks)?.clamp(1, contend::MOST_THREADS as u64),
                per_second: number(per_second)?.clamp(1, 1_000_000),
                milliseconds: number(milliseconds)?,
                seed: number(seed)?,
            };
            Ok((lock(name)?.open)(&asked))
        }
        ["membarrier", others] => {
            let others = usize::try_from(number(others)?).unwrap_or(0).min(contend::MOST_THREADS);
            Ok(locks::price(others))
        }
        _ => Err(USAGE.to_owned()),
    }
}
