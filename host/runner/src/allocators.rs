//! Allocators that are linked into a program under their own function names, such as jemalloc in a Rust program. The process does
//! not show them, but the program's file does.
//!
//! Invariant: an allocator that the process reported stays in the report; a file without known functions changes nothing. Only the
//! programs with the most memory are read, since reading symbols takes time, and large files only if the memory is elsewhere. A
//! stripped file shows nothing. The paths come from a ledger, which another user may have written.
//! Not here: reading files ([`underbar_symbols::brought`]).

use std::collections::HashMap;
use std::path::Path;

use underbar_launch::foreign_file;
use underbar_ledger::Key;
use underbar_report::{Allocator, Process, Report, Role};
use underbar_symbols::brought::Brought;

/// The most programs of a run whose files are read.
const MOST: usize = 4;
/// A larger file takes longer to read than many programs run.
const LARGE: u64 = 16 << 20;

/// Names the allocators inside the programs of a report.
pub fn name(report: &mut Report) {
    let leading: Vec<String> = report.programs().into_iter().take(MOST).map(|program| program.name).collect();
    let mut known: HashMap<(String, u64), Option<&'static str>> = HashMap::new();
    for process in &mut report.processes {
        let serves_itself = process.allocator.as_ref().is_some_and(is_the_program);
        if !leading.iter().any(|name| name == process.name()) || process.allocator.is_some() && !serves_itself
        {
            continue;
        }
        let most = if is_elsewhere(process) { u64::MAX } else { LARGE };
        let found = *known
            .entry((process.program.clone(), most))
            .or_insert_with_key(|(path, most)| inside_file(Path::new(path), *most));
        if let Some(name) = found {
            process.allocator = Some(if serves_itself {
                Allocator { name: format!("{name} in the program itself"), role: Role::Serves }
            } else {
                Allocator { name: name.to_owned(), role: Role::Inside }
            });
        }
    }
}

/// Did the process find more than a quarter of its memory outside this heap?
fn is_elsewhere(process: &Process) -> bool {
    let anonymous = process.counters.get(Key::CoverageAnonymous);
    process.counters.get(Key::CoverageHeap) < anonymous - anonymous / 4
}

/// The allocator inside a file of `most` bytes. A path that was too long for the ledger gives None.
fn inside_file(path: &Path, most: u64) -> Option<&'static str> {
    if !path.is_absolute() {
        return None;
    }
    let file = foreign_file::open(path).ok()?;
    if file.metadata().ok()?.len() > most {
        return None;
    }
    inside(&Brought::of_file(&file)?)
}

fn is_the_program(allocator: &Allocator) -> bool {
    allocator.name == "the program itself"
}

/// The allocator whose own functions a program defines.
#[must_use]
pub fn inside(brought: &Brought) -> Option<&'static str> {
    const FUNCTIONS: [(&str, &str); 7] = [
        ("mallocx", "jemalloc"),
        ("je_malloc", "jemalloc"),
        ("_rjem_malloc", "jemalloc"),
        ("tc_malloc", "tcmalloc"),
        ("mi_malloc", "mimalloc"),
        ("mi_heap_malloc", "mimalloc"),
        ("sn_malloc", "snmalloc"),
    ];
    let has = |function: &str| brought.exported.iter().chain(&brought.inside).any(|known| known == function);
    FUNCTIONS.iter().find(|(function, _)| has(function)).map(|&(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocators_are_known_by_their_own_functions() {
        let brought = |inside: &[&str]| Brought {
            inside: inside.iter().map(|&name| name.to_owned()).collect(),
            ..Brought::default()
        };
        assert_eq!(inside(&brought(&["_rjem_malloc"])), Some("jemalloc"));
        assert_eq!(inside(&brought(&["malloc", "mi_malloc"])), Some("mimalloc"));
        assert_eq!(inside(&brought(&["malloc", "_Znwm"])), None);
    }
}
