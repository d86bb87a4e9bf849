//! The symbols of a file: its functions and variables, from `.symtab`, or from `.dynsym` if there is no other table.
//!
//! ```text
//! symbol ── function, data       by its kind
//!        └─ of no kind: a label  by its section: executable code, or mapped bytes
//! ```
//!
//! Invariant: the bytes are untrusted; a wrong table gives None or less. The tables' bytes are read once each,
//! and a name is read only on request.
//! Not here: the order of names ([`crate::table`]).

use std::ops::Range;

use object::elf;
use object::read::elf::{ElfFile, FileHeader, SectionHeader, Sym, SymbolTable};
use object::read::{ReadRef, SectionIndex, SymbolIndex};

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

/// The symbols of a file; None if that table is missing, or has no names.
pub fn read<'a>(
    file: &object::File<'a, impl ReadRef<'a>>,
    which: Which,
    sections: &[Range<u64>],
) -> Option<Names> {
    match file {
        object::File::Elf32(file) => read_elf(file, which, sections),
        object::File::Elf64(file) => read_elf(file, which, sections),
        _ => None,
    }
}

fn read_elf<'a, Elf: FileHeader>(
    file: &ElfFile<'a, Elf, impl ReadRef<'a>>,
    which: Which,
    sections: &[Range<u64>],
) -> Option<Names> {
    let symbols = match which {
        Which::All => file.elf_symbol_table(),
        Which::Exported => file.elf_dynamic_symbol_table(),
    };
    if symbols.is_empty() {
        return None;
    }
    let texts = file.elf_section_table().section(symbols.string_section()).ok()?;
    let texts = Texts::new(texts.data(file.endian(), file.data()).ok()?);
    let (mut functions, mut variables) = (Vec::new(), Vec::new());
    for (index, symbol) in symbols.enumerate() {
        let Some(kind) = kind(file, symbols, index, symbol) else { continue };
        let name = symbol.st_name(file.endian());
        // `$x` and similar names distinguish code from data on arm64.
        if matches!(texts.first(name), None | Some(0 | b'$')) {
            continue;
        }
        let rank = match symbol.st_bind() {
            elf::STB_LOCAL => Rank(2),
            elf::STB_WEAK => Rank(1),
            _ => Rank(0),
        };
        let start = symbol.st_value(file.endian()).into();
        let entry = Entry { start, size: symbol.st_size(file.endian()).into(), name, rank };
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
