//! Debug data that the compiler puts into files of their own (`-gsplit-dwarf`), or the linker into one beside the program.
//!
//! ```text
//! program's unit: id, name, folder of the compilation
//!     PROGRAM.dwp                        the unit with this id
//!     FOLDER/NAME, else beside PROGRAM   the first unit must have this id
//! ```
//!
//! Invariant: data with another id is not taken, since it is of another compilation. Only regular files are opened, each once.
//! Not here: the meaning of the data ([`crate::inlined`]).

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use gimli::{DwarfPackageSections, DwarfSections, DwoId, EndianSlice, LittleEndian, SectionId};
use object::read::{ReadCache, ReadRef};

use crate::debug_file::open_regular;
use crate::dwarf::{Dwarf, Unit, section};

/// Where a unit of a program has its data.
pub struct Reference {
    id: DwoId,
    name: PathBuf,
    folder: PathBuf,
}

impl Reference {
    /// None for a unit that has its data itself.
    pub fn of(dwarf: &Dwarf<'_>, unit: &Unit<'_>) -> Option<Reference> {
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        let name = dwarf.attr_string(unit, unit.dwo_name().ok()??).ok()?;
        let folder = unit.comp_dir.map_or_else(PathBuf::new, |folder| path(folder.slice()));
        Some(Reference { id: unit.dwo_id?, name: path(name.slice()), folder })
    }
}

/// The data that was found.
#[derive(Default)]
pub struct Found {
    package: Option<DwarfPackageSections<Vec<u8>>>,
    files: HashMap<u64, DwarfSections<Vec<u8>>>,
}

impl Found {
    /// Reads the data of these units of a program; of no more than `left` bytes, which it makes less.
    pub fn read(program: Option<&Path>, references: &[Reference], left: &mut u64) -> Found {
        let mut found = Found::default();
        if references.is_empty() {
            return found;
        }
        found.package = program.and_then(|program| {
            let mut name = program.as_os_str().to_owned();
            name.push(".dwp");
            sections_of(Path::new(&name), |load| {
                DwarfPackageSections::load(|id| Ok::<_, gimli::Error>(load(id, left))).ok()
            })
        });
        if found.package.is_some() {
            return found;
        }
        for reference in references {
            let read = |path: PathBuf| {
                sections_of(&path, |load| {
                    DwarfSections::load(|id| Ok::<_, gimli::Error>(load(id, left))).ok()
                })
            };
            let beside = program.and_then(Path::parent).zip(reference.name.file_name());
            let beside = beside.map(|(folder, name)| folder.join(name));
            let mut paths = [Some(reference.folder.join(&reference.name)), beside].into_iter().flatten();
            if let Some(sections) = paths.find_map(read) {
                found.files.insert(reference.id.0, sections);
            }
        }
        found
    }

    /// The data of a unit of the program with these sections.
    pub fn dwarf<'a>(&'a self, id: DwoId, program: &Dwarf<'a>) -> Option<Dwarf<'a>> {
        let slice = |bytes: &'a Vec<u8>| EndianSlice::new(bytes, LittleEndian);
        if let Some(package) = &self.package {
            let package = package.borrow(slice, EndianSlice::new(&[], LittleEndian)).ok()?;
            return package.find_cu(id, program).ok()?;
        }
        let mut dwarf = self.files.get(&id.0)?.borrow(slice);
        let first = dwarf.units().next().ok()??;
        if dwarf.unit(first).ok()?.dwo_id != Some(id) {
            return None;
        }
        dwarf.make_dwo(program);
        Some(dwarf)
    }
}

/// Reads sections of an ELF file through `load`; None if there is none.
fn sections_of<T>(
    path: &Path,
    load: impl FnOnce(&dyn Fn(SectionId, &mut u64) -> Vec<u8>) -> Option<T>,
) -> Option<T> {
    let cache = ReadCache::new(open_regular(path)?);
    let file = object::File::parse(&cache).ok()?;
    load(&|id, left| named(&file, id, left))
}

/// A section by the name that it has in such files.
fn named<'a>(file: &object::File<'a, impl ReadRef<'a>>, id: SectionId, left: &mut u64) -> Vec<u8> {
    id.dwo_name()
        .and_then(|name| section(file, name, left))
        .map(|bytes| bytes.into_owned())
        .unwrap_or_default()
}
