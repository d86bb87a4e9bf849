//! The symbols of a program, by number and by name.
//!
//! ```text
//! name ── gnu_hash ──> filter (two bits) ──> bucket ──> chain of hashes ──> symbol ──> its name, its version
//! ```
//!
//! Invariant: a search reads each link of a chain once, and chains end within their table: a circle is [`Damage::Hash`].
//! Cost: a name that is not found usually costs two loads, by the filter.
//! Not here: the choice among several programs' symbols (`image::bind`).

use super::dynamic::tag;
use super::table::Plain;
use super::{Damage, Dynamic, Memory, Table};

/// Undefined here.
const UNDEFINED: u16 = 0;
/// Its value is no address.
const ABSOLUTE: u16 = 0xfff1;

/// A symbol, as the file has it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Symbol {
    /// Offset in the table of names.
    pub name: u32,
    info: u8,
    other: u8,
    section: u16,
    /// Address in the file, or another value by its kind.
    pub value: u64,
    /// Bytes.
    pub size: u64,
}

// SAFETY: integers, 4 + 1 + 1 + 2 + 8 + 8 bytes without padding; any bytes are a value.
unsafe impl Plain for Symbol {}
const _: () = assert!(size_of::<Symbol>() == 24);

impl Symbol {
    /// Is it defined in this file?
    #[must_use]
    pub fn is_defined(&self) -> bool {
        self.section != UNDEFINED
    }

    /// Is its value a number rather than an address?
    #[must_use]
    pub fn is_absolute(&self) -> bool {
        self.section == ABSOLUTE
    }

    /// Known only in its file.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.info >> 4 == 0
    }

    /// May be missing.
    #[must_use]
    pub fn is_weak(&self) -> bool {
        self.info >> 4 == 2
    }

    /// Unique by its name in the whole process, so that its library stays forever (STB_GNU_UNIQUE).
    #[must_use]
    pub fn is_unique(&self) -> bool {
        self.info >> 4 == 10
    }

    /// Bound within its file, even if others have the name: hidden, internal or protected.
    #[must_use]
    pub fn is_bound_here(&self) -> bool {
        self.other & 3 != 0
    }

    /// A thread variable: its value is its offset in thread storage.
    #[must_use]
    pub fn is_of_threads(&self) -> bool {
        self.info & 15 == 6
    }

    /// A function that returns the address of the actual function.
    #[must_use]
    pub fn is_indirect(&self) -> bool {
        self.info & 15 == 10
    }

    /// A function.
    #[must_use]
    pub fn is_function(&self) -> bool {
        matches!(self.info & 15, 2 | 10)
    }

    /// Is it of a kind that a search may return: nothing, data, a function, common, thread-local, or indirect?
    fn is_candidate(&self) -> bool {
        let kind = self.info & 15;
        self.is_defined()
            && matches!(kind, 0 | 1 | 2 | 5 | 6 | 10)
            && (self.value != 0 || self.is_absolute() || self.is_of_threads())
            && matches!(self.info >> 4, 1 | 2 | 10)
            && !matches!(self.other & 3, 1 | 2)
    }
}

/// The tables of a program, each within its segment.
#[derive(Clone, Copy, Debug)]
pub struct Tables<'a> {
    symbols: Table<'a>,
    names: Table<'a>,
    hash: Table<'a>,
    gnu: Table<'a>,
    pub(super) versym: Table<'a>,
    pub(super) verneed: (Table<'a>, u64),
    pub(super) verdef: (Table<'a>, u64),
    rela: Table<'a>,
    jump: Table<'a>,
    relr: Table<'a>,
    count: u32,
}

impl<'a> Tables<'a> {
    /// Finds the tables of the dynamic section.
    ///
    /// # Errors
    /// The damage of the tables.
    pub fn read(dynamic: &Dynamic, memory: &'a impl Memory) -> Result<Tables<'a>, Damage> {
        let open = |tag, address| match address {
            0 => Ok(Table::EMPTY),
            address => memory.from(address).ok_or(Damage::Table(tag)),
        };
        let mut tables = Tables {
            symbols: open(tag::SYMBOLS, dynamic.symbols)?,
            names: Dynamic::table(memory, tag::STRINGS, dynamic.strings)?,
            hash: open(tag::HASH, dynamic.hash)?,
            gnu: open(tag::GNU_HASH, dynamic.gnu_hash)?,
            versym: open(tag::VERSYM, dynamic.versym)?,
            verneed: (open(tag::VERNEED, dynamic.verneed.0)?, dynamic.verneed.1),
            verdef: (open(tag::VERDEF, dynamic.verdef.0)?, dynamic.verdef.1),
            rela: Dynamic::table(memory, tag::RELA, dynamic.rela)?,
            jump: Dynamic::table(memory, tag::JUMP, dynamic.jump)?,
            relr: Dynamic::table(memory, tag::RELR, dynamic.relr)?,
            count: 0,
        };
        tables.count = tables.counted()?;
        Ok(tables)
    }

    /// Relocations with addends, in the order of their application.
    #[must_use]
    pub fn relocations(&self) -> [Table<'a>; 2] {
        [self.rela, self.jump]
    }

    /// Compressed relative relocations.
    #[must_use]
    pub fn relr(&self) -> Table<'a> {
        self.relr
    }

    /// The names.
    #[must_use]
    pub fn names(&self) -> Table<'a> {
        self.names
    }

    /// The number of symbols; 0 without a hash table.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// A symbol by its number.
    #[inline]
    #[must_use]
    pub fn symbol(&self, number: u32) -> Option<Symbol> {
        if self.count > 0 && number >= self.count && !self.hash.is_empty() {
            return None;
        }
        self.symbols.read((number as usize).checked_mul(24)?)
    }

    /// The name of a symbol: a text that ends with a zero byte, and its length without it.
    ///
    /// # Errors
    /// It has no end.
    pub fn name(&self, number: u32, symbol: &Symbol) -> Result<(Table<'a>, usize), Damage> {
        let at = symbol.name as usize;
        let length = self.names.text_length(at).ok_or(Damage::Name(number))?;
        Ok((self.names.after(at).ok_or(Damage::Name(number))?, length))
    }

    /// The symbol that a program gets for this name, chosen like the system's loader: without a version, the default
    /// one.
    ///
    /// # Errors
    /// The tables refer outside themselves.
    pub fn find(&self, name: &[u8], version: Option<&[u8]>) -> Result<Option<(u32, Symbol)>, Damage> {
        if !self.gnu.is_empty() {
            self.find_gnu(name, version)
        } else if !self.hash.is_empty() {
            self.find_old(name, version)
        } else {
            Ok(None)
        }
    }

    fn find_gnu(&self, name: &[u8], version: Option<&[u8]>) -> Result<Option<(u32, Symbol)>, Damage> {
        let gnu = Gnu::read(&self.gnu).ok_or(Damage::Hash)?;
        let hash = gnu_hash(name);
        let Some(mut number) = gnu.first(hash).ok_or(Damage::Hash)? else { return Ok(None) };
        let mut choice = Choice::default();
        loop {
            let link = gnu.link(number).ok_or(Damage::Hash)?;
            if link | 1 == hash | 1
                && let Some(found) = self.matches(number, name, version, &mut choice)?
            {
                return Ok(Some(found));
            }
            if link & 1 != 0 {
                return Ok(choice.only());
            }
            number = number.checked_add(1).ok_or(Damage::Hash)?;
        }
    }

    fn find_old(&self, name: &[u8], version: Option<&[u8]>) -> Result<Option<(u32, Symbol)>, Damage> {
        let word = |at: usize| self.hash.read::<u32>(at.checked_mul(4)?);
        let (Some(buckets), Some(chains)) = (word(0), word(1)) else { return Err(Damage::Hash) };
        if buckets == 0 {
            return Ok(None);
        }
        let bucket = old_hash(name) % buckets;
        let mut number = word(2 + bucket as usize).ok_or(Damage::Hash)?;
        let mut choice = Choice::default();
        // A chain cannot be longer than there are symbols, or it is a circle.
        for _ in 0..chains {
            if number == 0 {
                return Ok(choice.only());
            }
            if let Some(found) = self.matches(number, name, version, &mut choice)? {
                return Ok(Some(found));
            }
            number = word(2 + buckets as usize + number as usize).ok_or(Damage::Hash)?;
        }
        if number == 0 { Ok(choice.only()) } else { Err(Damage::Hash) }
    }

    /// The symbol of this number, if it matches; one of several versions is recorded in `choice`.
    fn matches(
        &self,
        number: u32,
        name: &[u8],
        version: Option<&[u8]>,
        choice: &mut Choice,
    ) -> Result<Option<(u32, Symbol)>, Damage> {
        let symbol = self.symbol(number).ok_or(Damage::Hash)?;
        if !symbol.is_candidate() || !self.names.is_text(symbol.name as usize, name) {
            return Ok(None);
        }
        let Some(index) = self.version_index(number) else { return Ok(Some((number, symbol))) };
        let (hidden, index) = (index & 0x8000 != 0, index & 0x7fff);
        if let Some(version) = version {
            let its = self.defined_version(index)?;
            let is_it = its.is_some_and(|at| self.names.is_text(at, version));
            // A library without symbol versions matches any version.
            return Ok((is_it || index < 2 && !hidden).then_some((number, symbol)));
        }
        if index < 2 {
            return Ok(Some((number, symbol)));
        }
        if !hidden {
            choice.take(number, symbol);
        }
        Ok(None)
    }

    /// The number of symbols, from a hash table.
    fn counted(&self) -> Result<u32, Damage> {
        let most = (self.symbols.len() / 24) as u64;
        let count = if !self.hash.is_empty() {
            self.hash.read::<u32>(4).ok_or(Damage::Table(tag::HASH))?
        } else if !self.gnu.is_empty() {
            Gnu::read(&self.gnu).and_then(|gnu| gnu.count()).ok_or(Damage::Hash)?
        } else {
            0
        };
        if u64::from(count) > most { Err(Damage::Table(tag::SYMBOLS)) } else { Ok(count) }
    }
}

/// One of several versions: correct if it is the only one that is not hidden.
#[derive(Default)]
struct Choice {
    found: Option<(u32, Symbol)>,
    is_several: bool,
}

impl Choice {
    fn take(&mut self, number: u32, symbol: Symbol) {
        self.is_several = self.found.is_some();
        self.found = self.found.or(Some((number, symbol)));
    }

    fn only(self) -> Option<(u32, Symbol)> {
        self.found.filter(|_| !self.is_several)
    }
}

/// The hash table of GNU.
struct Gnu<'a> {
    table: Table<'a>,
    buckets: u32,
    first: u32,
    filters: u32,
    shift: u32,
}

impl<'a> Gnu<'a> {
    fn read(table: &Table<'a>) -> Option<Self> {
        let [buckets, first, filters, shift] = table.read::<[u32; 4]>(0)?;
        let gnu = Gnu { table: *table, buckets, first, filters, shift };
        (filters.is_power_of_two() && shift < 32).then_some(gnu)
    }

    fn bucket(&self, number: u32) -> Option<u32> {
        self.table.read(16 + self.filters as usize * 8 + number as usize * 4)
    }

    /// The number of the first symbol of a hash's chain; an inner None if there is none.
    #[inline]
    fn first(&self, hash: u32) -> Option<Option<u32>> {
        if self.buckets == 0 {
            return Some(None);
        }
        let filter: u64 = self.table.read(16 + ((hash / 64) & (self.filters - 1)) as usize * 8)?;
        if filter >> (hash % 64) & filter >> ((hash >> self.shift) % 64) & 1 == 0 {
            return Some(None);
        }
        let first = self.bucket(hash % self.buckets)?;
        Some((first >= self.first).then_some(first))
    }

    /// The hash of a symbol; its lowest bit marks the end of its chain.
    fn link(&self, number: u32) -> Option<u32> {
        let chains = 16 + self.filters as usize * 8 + self.buckets as usize * 4;
        self.table.read(chains + number.checked_sub(self.first)? as usize * 4)
    }

    fn count(&self) -> Option<u32> {
        let mut last = 0;
        for number in 0..self.buckets {
            last = last.max(self.bucket(number)?);
        }
        if last < self.first {
            return Some(self.first);
        }
        while self.link(last)? & 1 == 0 {
            last = last.checked_add(1)?;
        }
        last.checked_add(1)
    }
}

/// The hash of names in the table of GNU.
#[must_use]
pub fn gnu_hash(name: &[u8]) -> u32 {
    name.iter().fold(5381_u32, |hash, byte| hash.wrapping_mul(33).wrapping_add(u32::from(*byte)))
}

fn old_hash(name: &[u8]) -> u32 {
    name.iter().fold(0_u32, |hash, byte| {
        let hash = (hash << 4).wrapping_add(u32::from(*byte));
        (hash ^ (hash & 0xf000_0000) >> 24) & 0x0fff_ffff
    })
}
