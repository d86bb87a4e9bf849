//! What a loader finds in a shared object: its segments, and the functions that it exports.
//!
//! ```text
//! bytes ── ELF, 64-bit, this machine, shared object? ── no ──> Refused
//!      └─ segments: loadable bytes from the front, storage, writable?, thread storage?
//!      └─ functions exported: entry points
//! ```
//!
//! Invariant: untrusted bytes give a reason or less, never a panic.
//! Not here: whether our loader takes it (`crates/fetch`), members of libraries (`host/store`).

use object::LittleEndian;
use object::elf::{
    EM_X86_64, ET_DYN, ET_EXEC, ET_REL, FileHeader64, PF_W, PT_DYNAMIC, PT_LOAD, PT_TLS, SHN_UNDEF,
    SHT_DYNSYM, STB_GLOBAL, STB_GNU_UNIQUE, STB_WEAK, STT_FUNC, Sym64,
};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};

use crate::texts;

/// Why a file is no shared object that could be loaded here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Not a 64-bit ELF file.
    NotElf64,
    /// For another kind of machine.
    OtherMachine,
    /// An executable.
    Executable,
    /// An object file that was not linked.
    NotLinked,
    /// Another kind of file, such as a core dump.
    NotShared,
    /// Cut or broken.
    Broken,
    /// It has no segments to load.
    NothingToLoad,
}

/// The facts in a shared object's bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedObject {
    /// Bytes from the front that are loaded.
    pub loadable: u64,
    /// Bytes of storage.
    pub storage: u64,
    /// Bytes of read-only segments.
    pub text: u64,
    /// Bytes of writable segments.
    pub data: u64,
    /// Has it a writable segment, even one without bytes?
    pub is_written: bool,
    /// Has it thread-local storage?
    pub has_thread_storage: bool,
    /// Exported functions with their addresses, in the order of their names.
    pub functions: Vec<(Vec<u8>, u64)>,
}

impl SharedObject {
    /// Reads bytes. A function with a name of more than `longest` bytes is left out.
    ///
    /// # Errors
    /// A file that is no shared object for this machine, or is broken.
    pub fn of(bytes: &[u8], longest: usize) -> Result<SharedObject, Refused> {
        let header = FileHeader64::<LittleEndian>::parse(bytes).map_err(|_| Refused::NotElf64)?;
        if header.endian().is_err() || header.e_machine(LittleEndian) != EM_X86_64 {
            return Err(Refused::OtherMachine);
        }
        match header.e_type(LittleEndian) {
            ET_DYN => {}
            ET_EXEC => return Err(Refused::Executable),
            ET_REL => return Err(Refused::NotLinked),
            _ => return Err(Refused::NotShared),
        }
        let mut found = SharedObject::default();
        let (mut low, mut high, mut has_dynamic) = (u64::MAX, 0, false);
        // A program with an interpreter that is a shared object, too: it can be loaded like one.
        for segment in header.program_headers(LittleEndian, bytes).map_err(|_| Refused::Broken)? {
            match segment.p_type(LittleEndian) {
                PT_LOAD => {
                    let sum = |from: u64, length| from.checked_add(length).ok_or(Refused::Broken);
                    let memory = segment.p_memsz(LittleEndian);
                    let end = sum(segment.p_offset(LittleEndian), segment.p_filesz(LittleEndian))?;
                    if end > bytes.len() as u64 {
                        return Err(Refused::Broken);
                    }
                    found.loadable = found.loadable.max(end);
                    low = low.min(segment.p_vaddr(LittleEndian));
                    high = high.max(sum(segment.p_vaddr(LittleEndian), memory)?);
                    if segment.p_flags(LittleEndian).contains(PF_W) {
                        found.is_written = true;
                        found.data = sum(found.data, memory)?;
                    } else {
                        found.text = sum(found.text, memory)?;
                    }
                }
                PT_DYNAMIC => has_dynamic = true,
                PT_TLS => found.has_thread_storage = true,
                _ => {}
            }
        }
        if low > high || !has_dynamic {
            return Err(Refused::NothingToLoad);
        }
        found.storage = high - low;
        found.functions = functions(header, bytes, longest).ok_or(Refused::Broken)?;
        Ok(found)
    }
}

/// Exported functions, by the section of dynamic symbols. None are found in a file without sections.
fn functions(
    header: &FileHeader64<LittleEndian>,
    bytes: &[u8],
    longest: usize,
) -> Option<Vec<(Vec<u8>, u64)>> {
    let sections = header.section_headers(LittleEndian, bytes).ok()?;
    let mut functions = Vec::new();
    // There is one such section; another would have the same names.
    if let Some(section) = sections.iter().find(|section| section.sh_type(LittleEndian) == SHT_DYNSYM) {
        let symbols: &[Sym64<LittleEndian>] = section.data_as_array(LittleEndian, bytes).ok()?;
        let names = sections.get(usize::try_from(section.sh_link(LittleEndian)).ok()?)?;
        let (from, length) = names.file_range(LittleEndian)?;
        let end = usize::try_from(from.checked_add(length)?).ok()?;
        let names = bytes.get(usize::try_from(from).ok()?..end).unwrap_or_default();
        for symbol in symbols {
            let is_exported = symbol.st_shndx(LittleEndian) != SHN_UNDEF
                && matches!(symbol.st_bind(), STB_GLOBAL | STB_WEAK | STB_GNU_UNIQUE)
                && symbol.st_type() == STT_FUNC;
            if is_exported
                && let Some(name) = texts::at(names, symbol.st_name(LittleEndian).into(), longest)
                && !name.is_empty()
            {
                functions.push((name.to_vec(), symbol.st_value(LittleEndian)));
            }
        }
    }
    functions.sort();
    functions.dedup_by(|one, other| one.0 == other.0);
    Some(functions)
}
