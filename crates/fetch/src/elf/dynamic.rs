//! The dynamic section: the addresses of tables, and the program's requirements.
//!
//! Invariant: the section has an end within its segment, and the size of a table is a multiple of its entry's size. The
//! addresses are not checked here; a caller that asks for a table gets one within a segment, or [`Damage::Table`].
//! Not here: the content of the tables.

use super::{Damage, Layout, Memory, Table};

/// Maximum number of needed libraries.
pub const MOST_NEEDED: usize = 64;

/// Tags of entries that are read.
pub(super) mod tag {
    pub const NEEDED: u64 = 1;
    pub const JUMP_SIZE: u64 = 2;
    pub const HASH: u64 = 4;
    pub const STRINGS: u64 = 5;
    pub const SYMBOLS: u64 = 6;
    pub const RELA: u64 = 7;
    pub const RELA_SIZE: u64 = 8;
    pub const RELA_ENTRY: u64 = 9;
    pub const STRINGS_SIZE: u64 = 10;
    pub const SYMBOL_ENTRY: u64 = 11;
    pub const INIT: u64 = 12;
    pub const FINI: u64 = 13;
    pub const SONAME: u64 = 14;
    pub const RPATH: u64 = 15;
    pub const SYMBOLIC: u64 = 16;
    pub const REL: u64 = 17;
    pub const TEXTREL: u64 = 22;
    pub const JUMP: u64 = 23;
    pub const INIT_ARRAY: u64 = 25;
    pub const FINI_ARRAY: u64 = 26;
    pub const INIT_ARRAY_SIZE: u64 = 27;
    pub const FINI_ARRAY_SIZE: u64 = 28;
    pub const RUNPATH: u64 = 29;
    pub const FLAGS: u64 = 30;
    pub const RELR_SIZE: u64 = 35;
    pub const RELR: u64 = 36;
    pub const RELR_ENTRY: u64 = 37;
    pub const GNU_HASH: u64 = 0x6fff_fef5;
    pub const VERSYM: u64 = 0x6fff_fff0;
    pub const FLAGS_1: u64 = 0x6fff_fffb;
    pub const VERDEF: u64 = 0x6fff_fffc;
    pub const VERDEF_COUNT: u64 = 0x6fff_fffd;
    pub const VERNEED: u64 = 0x6fff_fffe;
    pub const VERNEED_COUNT: u64 = 0x6fff_ffff;
    pub const AUXILIARY: u64 = 0x7fff_fffd;
    pub const FILTER: u64 = 0x7fff_ffff;
}

/// The content of the section. Addresses are those in the file; 0 if absent.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each is named for its tag")]
pub struct Dynamic {
    pub symbols: u64,
    pub strings: (u64, u64),
    pub hash: u64,
    pub gnu_hash: u64,
    pub versym: u64,
    pub verneed: (u64, u64),
    pub verdef: (u64, u64),
    pub rela: (u64, u64),
    pub jump: (u64, u64),
    pub relr: (u64, u64),
    pub init: u64,
    pub fini: u64,
    pub init_array: (u64, u64),
    pub fini_array: (u64, u64),
    /// Offsets in the table of names.
    pub soname: Option<u64>,
    pub rpath: Option<u64>,
    pub runpath: Option<u64>,
    needed: [u64; MOST_NEEDED],
    needed_count: usize,
    /// It needs more libraries than are kept.
    pub needs_more: bool,
    /// Its own symbols come before the program's.
    pub is_symbolic: bool,
    /// Code has to be changed.
    pub has_text_relocations: bool,
    /// Its thread storage must be next to that of the program.
    pub has_static_threads: bool,
    /// Never to be unloaded.
    pub is_kept: bool,
    /// A position-independent executable, not a library.
    pub is_program: bool,
    /// It replaces another library.
    pub is_filter: bool,
    /// Relocations of the form that x86-64 does not have.
    pub has_rel: bool,
}

impl Dynamic {
    /// Reads the section.
    ///
    /// # Errors
    /// The damage of the section.
    pub fn read(layout: &Layout, memory: &impl Memory) -> Result<Dynamic, Damage> {
        let (address, size) = layout.dynamic;
        if size == 0 {
            return Err(Damage::NoDynamic);
        }
        let section = memory.table(address, size).ok_or(Damage::NoDynamic)?;
        let mut dynamic = Dynamic::NONE;
        let mut at = 0;
        loop {
            let [tag, value] = section.read::<[u64; 2]>(at).ok_or(Damage::DynamicWithoutEnd)?;
            if tag == 0 {
                break;
            }
            dynamic.take(tag, value)?;
            at += 16;
        }
        for (tag, size, entry) in [
            (tag::RELA, dynamic.rela.1, 24),
            (tag::JUMP, dynamic.jump.1, 24),
            (tag::RELR, dynamic.relr.1, 8),
            (tag::INIT_ARRAY, dynamic.init_array.1, 8),
            (tag::FINI_ARRAY, dynamic.fini_array.1, 8),
        ] {
            if size % entry != 0 {
                return Err(Damage::Table(tag));
            }
        }
        Ok(dynamic)
    }

    /// The names of needed libraries, as offsets in the table of names.
    #[must_use]
    pub fn needed(&self) -> &[u64] {
        self.needed.get(..self.needed_count).unwrap_or_default()
    }

    /// A table of so many bytes.
    pub(super) fn table<'a>(
        memory: &'a impl Memory,
        tag: u64,
        (address, size): (u64, u64),
    ) -> Result<Table<'a>, Damage> {
        if size == 0 {
            return Ok(Table::EMPTY);
        }
        memory.table(address, size).ok_or(Damage::Table(tag))
    }

    const NONE: Dynamic = Dynamic {
        symbols: 0,
        strings: (0, 0),
        hash: 0,
        gnu_hash: 0,
        versym: 0,
        verneed: (0, 0),
        verdef: (0, 0),
        rela: (0, 0),
        jump: (0, 0),
        relr: (0, 0),
        init: 0,
        fini: 0,
        init_array: (0, 0),
        fini_array: (0, 0),
        soname: None,
        rpath: None,
        runpath: None,
        needed: [0; MOST_NEEDED],
        needed_count: 0,
        needs_more: false,
        is_symbolic: false,
        has_text_relocations: false,
        has_static_threads: false,
        is_kept: false,
        is_program: false,
        is_filter: false,
        has_rel: false,
    };

    fn take(&mut self, tag: u64, value: u64) -> Result<(), Damage> {
        let entry_of = |size| if value == size { Ok(()) } else { Err(Damage::Table(tag)) };
        match tag {
            tag::NEEDED => match self.needed.get_mut(self.needed_count) {
                Some(place) => (*place, self.needed_count) = (value, self.needed_count + 1),
                None => self.needs_more = true,
            },
            tag::HASH => self.hash = value,
            tag::GNU_HASH => self.gnu_hash = value,
            tag::STRINGS => self.strings.0 = value,
            tag::STRINGS_SIZE => self.strings.1 = value,
            tag::SYMBOLS => self.symbols = value,
            tag::SYMBOL_ENTRY => entry_of(24)?,
            tag::RELA => self.rela.0 = value,
            tag::RELA_SIZE => self.rela.1 = value,
            tag::RELA_ENTRY => entry_of(24)?,
            tag::JUMP => self.jump.0 = value,
            tag::JUMP_SIZE => self.jump.1 = value,
            tag::RELR => self.relr.0 = value,
            tag::RELR_SIZE => self.relr.1 = value,
            tag::RELR_ENTRY => entry_of(8)?,
            tag::INIT => self.init = value,
            tag::FINI => self.fini = value,
            tag::INIT_ARRAY => self.init_array.0 = value,
            tag::INIT_ARRAY_SIZE => self.init_array.1 = value,
            tag::FINI_ARRAY => self.fini_array.0 = value,
            tag::FINI_ARRAY_SIZE => self.fini_array.1 = value,
            tag::SONAME => self.soname = Some(value),
            tag::RPATH => self.rpath = Some(value),
            tag::RUNPATH => self.runpath = Some(value),
            tag::VERSYM => self.versym = value,
            tag::VERNEED => self.verneed.0 = value,
            tag::VERNEED_COUNT => self.verneed.1 = value,
            tag::VERDEF => self.verdef.0 = value,
            tag::VERDEF_COUNT => self.verdef.1 = value,
            tag::SYMBOLIC => self.is_symbolic = true,
            tag::TEXTREL => self.has_text_relocations = true,
            tag::REL => self.has_rel = true,
            tag::AUXILIARY | tag::FILTER => self.is_filter = true,
            tag::FLAGS => {
                self.is_symbolic |= value & 2 != 0;
                self.has_text_relocations |= value & 4 != 0;
                self.has_static_threads |= value & 16 != 0;
            }
            tag::FLAGS_1 => {
                self.is_kept |= value & 8 != 0;
                self.is_program |= value & 0x0800_0000 != 0;
            }
            _ => {}
        }
        Ok(())
    }
}
