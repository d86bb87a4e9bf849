//! The symbols of a file: its functions and variables, from `.symtab`, or from `.dynsym` if there is no other table.
//!
//! ```text
//! symbol ── function, data       by its kind
//!        └─ of no kind: a label  by its section: executable code, or mapped bytes
//! ```
//!
//! Invariant: the bytes are untrusted; a wrong table gives None or less. The tables' bytes are read once each,
//! and a name is read only on request.
//! Not here: the order of names ([`crate::table`]), and which symbols name a few addresses ([`crate::few`]).

use std::ops::Range;

use object::elf;
use object::read::elf::{ElfFile, FileHeader, SectionHeader, Sym, SymbolTable};
use object::read::{ReadRef, SectionIndex, SymbolIndex};

use crate::few::{Kept, Wanted};
use crate::table::{Entry, Rank, Table, Texts};

/// Functions and variables.
#[derive(Default)]
pub struct Names {
    /// Code.
    pub functions: Table,
    /// Data.
    pub variables: Table,
}

/// Which of a file's tables.
#[derive(Clone, Copy)]
pub enum Which {
    /// All names, which `strip` removes.
    All,
    /// Those for the dynamic linker.
    Exported,
}

/// The symbols of a file; None if that table is missing, or has no names. With `wanted`, only those that name these addresses.
pub fn read<'a>(
    file: &object::File<'a, impl ReadRef<'a>>,
    which: Which,
    sections: &[Range<u64>],
    wanted: Option<&Wanted>,
) -> Option<Names> {
    match file {
        object::File::Elf32(file) => read_elf(file, which, sections, wanted),
        object::File::Elf64(file) => read_elf(file, which, sections, wanted),
        _ => None,
    }
}

fn read_elf<'a, Elf: FileHeader>(
    file: &ElfFile<'a, Elf, impl ReadRef<'a>>,
    which: Which,
    sections: &[Range<u64>],
    wanted: Option<&Wanted>,
) -> Option<Names> {
    let symbols = match which {
        Which::All => file.elf_symbol_table(),
        Which::Exported => file.elf_dynamic_symbol_table(),
    };
    if symbols.is_empty() {
        return None;
    }
    match wanted {
        None => all(file, symbols, sections),
        Some(wanted) => Some(few(file, symbols, sections, wanted)),
    }
}

fn all<'a, Elf: FileHeader, R: ReadRef<'a>>(
    file: &ElfFile<'a, Elf, R>,
    symbols: &SymbolTable<'a, Elf, R>,
    sections: &[Range<u64>],
) -> Option<Names> {
    let texts = file.elf_section_table().section(symbols.string_section()).ok()?;
    let texts = Texts::new(texts.data(file.endian(), file.data()).ok()?);
    let (mut functions, mut variables) = (Vec::new(), Vec::new());
    for (index, symbol) in symbols.enumerate() {
        let Some((kind, entry)) = entry(file, symbols, index, symbol) else { continue };
        let first = texts.first(entry.name);
        if matches!(first, None | Some(0)) || is_mark(file, first) {
            continue;
        }
        match kind {
            Kind::Function => functions.push(entry),
            Kind::Variable => variables.push(entry),
        }
    }
    (!functions.is_empty() || !variables.is_empty()).then(|| Names {
        functions: Table::new(functions, texts.clone(), sections),
        variables: Table::new(variables, texts, sections),
    })
}

/// The names of the wanted addresses, by two passes over the symbols and without the texts of the others: a large program has 400,000
/// symbols, with texts of 40 MiB.
fn few<'a, Elf: FileHeader, R: ReadRef<'a>>(
    file: &ElfFile<'a, Elf, R>,
    symbols: &SymbolTable<'a, Elf, R>,
    sections: &[Range<u64>],
    wanted: &Wanted,
) -> Names {
    let (mut functions, mut variables) = (Kept::of(&wanted.code), Kept::of(&wanted.data));
    for (index, symbol) in symbols.enumerate() {
        match entry(file, symbols, index, symbol) {
            Some((Kind::Function, entry)) => functions.see(entry.start, entry.size),
            Some((Kind::Variable, entry)) => variables.see(entry.start, entry.size),
            None => {}
        }
    }
    let (functions, variables) = (functions.starts(), variables.starts());
    let (mut of_code, mut of_data, mut texts) = (Vec::new(), Vec::new(), vec![0]);
    for (index, symbol) in symbols.enumerate() {
        let start: u64 = symbol.st_value(file.endian()).into();
        if functions.binary_search(&start).is_err() && variables.binary_search(&start).is_err() {
            continue;
        }
        let Some((kind, mut entry)) = entry(file, symbols, index, symbol) else { continue };
        let text = symbols.strings().get(entry.name).unwrap_or_default();
        let Ok(name) = u32::try_from(texts.len()) else { break };
        if text.is_empty() || is_mark(file, text.first().copied()) {
            continue;
        }
        texts.extend(text.iter().chain(&[0]));
        entry.name = name;
        match kind {
            Kind::Function => of_code.push(entry),
            Kind::Variable => of_data.push(entry),
        }
    }
    let texts = Texts::new(&texts);
    Names {
        functions: Table::new(of_code, texts.clone(), sections),
        variables: Table::new(of_data, texts, sections),
    }
}

/// Is this the first byte of a mark that tells code from data, as ARM has them (`$x`)? On other machines such names are names.
fn is_mark<'a, Elf: FileHeader>(file: &ElfFile<'a, Elf, impl ReadRef<'a>>, first: Option<u8>) -> bool {
    let machine = file.elf_header().e_machine(file.endian());
    first == Some(b'$') && matches!(machine, elf::EM_ARM | elf::EM_AARCH64)
}

/// A symbol as an entry with the name's place in the file's texts; None for one that names neither code nor data.
fn entry<'a, Elf: FileHeader, R: ReadRef<'a>>(
    file: &ElfFile<'a, Elf, R>,
    symbols: &SymbolTable<'a, Elf, R>,
    index: SymbolIndex,
    symbol: &Elf::Sym,
) -> Option<(Kind, Entry)> {
    let order = file.endian();
    let name = symbol.st_name(order);
    let kind = kind(file, symbols, index, symbol).filter(|_| name != 0)?;
    let rank = match symbol.st_bind() {
        elf::STB_LOCAL => Rank(2),
        elf::STB_WEAK => Rank(1),
        _ => Rank(0),
    };
    let (start, size) = (symbol.st_value(order).into(), symbol.st_size(order).into());
    Some((kind, Entry { start, size, name, rank }))
}

#[derive(Clone, Copy)]
enum Kind {
    Function,
    Variable,
}

/// The kind of a symbol; None for one without a place in this file, and for names of files, sections and thread-locals.
fn kind<'a, Elf: FileHeader, R: ReadRef<'a>>(
    file: &ElfFile<'a, Elf, R>,
    symbols: &SymbolTable<'a, Elf, R>,
    index: SymbolIndex,
    symbol: &Elf::Sym,
) -> Option<Kind> {
    let place = symbol.st_shndx(file.endian());
    if place.is_special() && place != elf::SHN_XINDEX {
        return None;
    }
    match symbol.st_type() {
        elf::STT_FUNC => Some(Kind::Function),
        elf::STT_OBJECT => Some(Kind::Variable),
        // Labels of assembly: by their section.
        elf::STT_NOTYPE => kind_of_section(file, symbols.symbol_section(file.endian(), symbol, index).ok()??),
        _ => None,
    }
}

fn kind_of_section<'a, Elf: FileHeader>(
    file: &ElfFile<'a, Elf, impl ReadRef<'a>>,
    index: SectionIndex,
) -> Option<Kind> {
    let section = file.elf_section_table().section(index).ok()?;
    let flags = section.sh_flags(file.endian());
    let has = |flag| flags.contains(flag);
    match section.sh_type(file.endian()) {
        elf::SHT_PROGBITS if has(elf::SHF_ALLOC) && has(elf::SHF_EXECINSTR) => Some(Kind::Function),
        elf::SHT_PROGBITS | elf::SHT_NOBITS if has(elf::SHF_ALLOC) && !has(elf::SHF_TLS) => {
            Some(Kind::Variable)
        }
        _ => None,
    }
}
