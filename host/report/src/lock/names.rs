//! Gives places their names: from a file and an address in it to a symbol.
//!
//! Places get names once, when a report is made on the machine that ran the program. The names are saved with the report.
//! Invariant: an existing name stays; a file without a name for the place leaves the place unchanged.
//! Not here: reading files (implementations of [`Naming`]).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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
    /// Tells beforehand which addresses of the file will be asked about, in functions and in variables: few are found without a table
    /// of all.
    fn expect(&mut self, _file: &Path, _code: &[u64], _data: &[u64]) {}
    /// The function at that address of the file.
    fn code(&mut self, file: &Path, address: u64) -> Option<Name>;
    /// The variable at that address of the file.
    fn data(&mut self, file: &Path, address: u64) -> Option<Name>;
}

impl Report {
    /// Names all places of all locks.
    pub fn name_locks(&mut self, naming: &mut dyn Naming) {
        let mut wanted: BTreeMap<PathBuf, [Vec<u64>; 2]> = BTreeMap::new();
        for locks in self.locks_mut() {
            each_place(locks, &mut |kind, place| {
                if let Some((file, address)) = unnamed(kind, place) {
                    wanted.entry(file.into()).or_default()[kind as usize].push(address);
                }
            });
        }
        for (file, [code, data]) in &wanted {
            naming.expect(file, code, data);
        }
        for locks in self.locks_mut() {
            each_place(locks, &mut |kind, place| {
                let name = unnamed(kind, place).and_then(|(file, address)| match kind {
                    Kind::Code => naming.code(Path::new(file), address),
                    Kind::Data => naming.data(Path::new(file), address),
                });
                if let Some(name) = name {
                    take(place, name, kind);
                }
            });
        }
    }

    fn locks_mut(&mut self) -> impl Iterator<Item = &mut Locks> {
        let sections = self.processes.iter_mut().filter_map(|process| process.locks.as_mut());
        sections.chain(&mut self.tree.other_locks)
    }
}

/// What is at a place.
#[derive(Clone, Copy)]
enum Kind {
    Code,
    Data,
}

fn each_place(locks: &mut Locks, take: &mut impl FnMut(Kind, &mut Place)) {
    for lock in &mut locks.locks {
        take(Kind::Data, &mut lock.place);
        let sites = lock.waiters.iter_mut().chain(&mut lock.holders).map(|site| &mut site.place);
        sites.chain([&mut lock.first_site]).for_each(|place| take(Kind::Code, place));
    }
    locks.edges.iter_mut().for_each(|edge| take(Kind::Code, &mut edge.site));
}

/// The file and the address whose name a place needs; None if it has a name or cannot have one.
fn unnamed(kind: Kind, place: &Place) -> Option<(&str, u64)> {
    let file = place.file.as_deref().filter(|_| place.symbol.is_none())?;
    Some((file, place.offset.checked_sub(behind(kind))?))
}

/// A call returns to the address after it, which may be in the next function. So the name is that of the byte before.
fn behind(kind: Kind) -> u64 {
    match kind {
        Kind::Code => 1,
        Kind::Data => 0,
    }
}

fn take(place: &mut Place, name: Name, kind: Kind) {
    place.symbol = Some(name.symbol);
    place.displacement = name.displacement.saturating_add(behind(kind));
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
