//! Descendants of a program that would outlive it if it is ended early.
//!
//! A process is identified by its number and its start time: a number alone may be reused.
//! Known limit: a process that detached itself before it was seen has no parent that shows its origin.

use std::fs;

use underbar_sys::signal::name;
use underbar_sys::syscall::kill;

/// Processes, each with its start time, in the kernel's ticks.
pub(crate) struct Started(pub(crate) Vec<(i32, u64)>);

impl Started {
    /// All descendants of a process, as far as they exist now.
    pub(crate) fn by(process: i32) -> Started {
        let all: Vec<(i32, Facts)> =
            numbers().filter_map(|number| Some((number, Facts::of(number)?))).collect();
        let mut found = vec![(process, 0)];
        let mut seen = 0;
        while let Some(&(parent, _)) = found.get(seen) {
            seen += 1;
            let children = all.iter().filter(|(_, facts)| facts.parent == parent);
            found.extend(children.map(|(number, facts)| (*number, facts.began)));
        }
        found.remove(0);
        Started(found)
    }

    /// Ends those that still exist.
    pub(crate) fn kill(self) {
        for (number, began) in self.0 {
            if Facts::of(number).is_some_and(|facts| facts.began == began) {
                let _ = kill(number, name::KILL);
            }
        }
    }
}

fn numbers() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

struct Facts {
    parent: i32,
    began: u64,
}

impl Facts {
    /// From `12 (a name) S 11 ...`, where the name may hold anything; the start is the 22nd word.
    fn of(process: i32) -> Option<Facts> {
        let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let words: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        Some(Facts { parent: words.get(1)?.parse().ok()?, began: words.get(19)?.parse().ok()? })
    }
}
