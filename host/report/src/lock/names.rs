//! Gives places their names: from a file and an address in it to a symbol.
//!
//! Places get names once, when a report is made on the machine that ran the program. The names are saved with the report.
//! Invariant: an existing name stays; a file without a name for the place leaves the place unchanged.
//! Not here: reading files (implementations of [`Naming`]).

use std::path::Path;

use crate::locks::{Locks, Place};
use crate::model::Report;

/// A name and the place in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name {
    /// The function or variable.
    pub symbol: String,
    /// Distance from its beginning.
    pub displacement: u64,
    /// Source file and line, where known.
    pub line: Option<String>,
}

/// Knows the symbols of files.
pub trait Naming {
    /// The function at that address of the file.
    fn code(&mut self, file: &Path, address: u64) -> Option<Name>;
    /// The variable at that address of the file.
    fn data(&mut self, file: &Path, address: u64) -> Option<Name>;
}

impl Report {
    /// Names all places of all locks.
    pub fn name_locks(&mut self, naming: &mut dyn Naming) {
        let sections = self.processes.iter_mut().filter_map(|process| process.locks.as_mut());
        for locks in sections.chain(&mut self.tree.other_locks) {
            name(locks, naming);
        }
    }
}

fn name(locks: &mut Locks, naming: &mut dyn Naming) {
    for lock in &mut locks.locks {
        data(&mut lock.place, naming);
        let sites = lock.waiters.iter_mut().chain(&mut lock.holders).map(|site| &mut site.place);
        sites.chain([&mut lock.first_site]).for_each(|place| code(place, naming));
    }
    locks.edges.iter_mut().for_each(|edge| code(&mut edge.site, naming));
}

fn data(place: &mut Place, naming: &mut dyn Naming) {
    if let (Some(file), None) = (&place.file, &place.symbol)
        && let Some(name) = naming.data(Path::new(file), place.offset)
    {
        take(place, name, 0);
    }
}

/// A call returns to the address after it, which may be in the next function. So the name is that of the byte before.
fn code(place: &mut Place, naming: &mut dyn Naming) {
    if let (Some(file), None) = (&place.file, &place.symbol)
        && let Some(before) = place.offset.checked_sub(1)
        && let Some(name) = naming.code(Path::new(file), before)
    {
        take(place, name, 1);
    }
}

fn take(place: &mut Place, name: Name, behind: u64) {
    place.symbol = Some(name.symbol);
    place.displacement = name.displacement.saturating_add(behind);
    place.line = name.line;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::sample;

    #[test]
    fn calls_and_variables_get_names_once() {
        let mut report = sample::report();
        report.name_locks(&mut sample::Symbols);
        let locks = report.processes[0].locks.as_ref().expect("locks");
        let worst = locks.worst().expect("a lock");
        assert_eq!(worst.name(), "audit_lock (driver)");
        assert_eq!(worst.waiters[0].place.words(), "append+0x20 (driver)");
        assert_eq!(locks.locks[1].name(), "lock of libaudit.so.1+0x2040", "it has no symbols");
        assert_eq!(locks.edges[0].site.words(), "append+0x88 (driver)");

        struct Other;
        impl Naming for Other {
            fn code(&mut self, _: &Path, _: u64) -> Option<Name> {
                Some(Name { symbol: "other".to_owned(), ..Name::default() })
            }
            fn data(&mut self, _: &Path, _: u64) -> Option<Name> {
                None
            }
        }
        report.name_locks(&mut Other);
        let locks = report.processes[0].locks.as_ref().expect("locks");
        assert_eq!(locks.locks[0].waiters[0].place.words(), "append+0x20 (driver)");
        assert_eq!(locks.locks[1].name(), "lock of other+0x1 (libaudit.so.1)");
    }
}
