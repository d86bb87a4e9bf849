//! An ELF image that is mapped in this process: the kernel's own (the vDSO), the program, a library. Its tables, as the kernel or
//! the loader made them.
//!
//! ```text
//! program headers ─> dynamic section ─┬─> SYMTAB, STRTAB   symbols and their names
//!                                     ├─> HASH, GNU_HASH   from a name to its symbols, and how many there are
//!                                     ├─> VERSYM           which of several versions is the default
//!                                     └─> RELA, JMPREL     words that hold addresses of symbols
//! ```
//!
//! Invariant: nothing is checked here; each reader promises an image that the kernel or the loader uses itself.
//! Not here: which images there are, and files that are not mapped.

/// A program header.
#[repr(C)]
pub struct Header {
    /// Its kind: [`LOAD`], [`DYNAMIC`].
    pub kind: u32,
    /// Access rights.
    pub flags: u32,
    /// Offset in the file.
    pub offset: usize,
    /// Address, from the image's base.
    pub address: usize,
    /// Unused.
    pub physical: usize,
    /// Bytes in the file.
    pub in_file: usize,
    /// Bytes in memory.
    pub in_memory: usize,
    /// Alignment.
    pub align: usize,
}

/// A part of the file that is mapped.
pub const LOAD: u32 = 1;
/// The dynamic section.
pub const DYNAMIC: u32 = 2;
/// Notes: what the linker's inputs tell about themselves.
pub const NOTE: u32 = 4;
/// Pages that the loader makes read-only when it has written them.
pub const RELRO: u32 = 0x6474_e552;

/// A word of an image that the loader writes.
#[repr(C)]
pub struct Relocation {
    /// Its address, from the image's base.
    pub place: usize,
    info: u64,
    /// Added to the symbol's address.
    pub addend: usize,
}

impl Relocation {
    /// The symbol, if the word is to hold an address of one.
    #[must_use]
    pub fn symbol(&self) -> Option<usize> {
        const WORD: u32 = 1;
        const OF_DATA: u32 = 6;
        const OF_CALL: u32 = 7;
        matches!(self.info as u32, WORD | OF_DATA | OF_CALL).then_some((self.info >> 32) as usize)
    }

    /// Whether the loader may leave the word as it is until the first call.
    #[must_use]
    pub fn is_of_call(&self) -> bool {
        const OF_CALL: u32 = 7;
        self.info as u32 == OF_CALL
    }
}

/// A symbol.
#[repr(C)]
pub struct Symbol {
    /// Offset of its name.
    pub name: u32,
    info: u8,
    other: u8,
    section: u16,
    /// Its address, from the image's base.
    pub value: usize,
    size: usize,
}

impl Symbol {
    /// Whether the image defines it.
    #[must_use]
    pub fn is_defined(&self) -> bool {
        self.section != 0
    }

    /// Whether the image defines it as a function that others may call.
    #[must_use]
    pub fn is_function(&self) -> bool {
        const FUNCTION: u8 = 2;
        const LOCAL: u8 = 0;
        self.is_defined() && self.info & 15 == FUNCTION && self.info >> 4 != LOCAL
    }

    /// Whether the image defines it as a function that chooses one of several: its address is that of the choice.
    #[must_use]
    pub fn is_chooser(&self) -> bool {
        const INDIRECT: u8 = 10;
        const LOCAL: u8 = 0;
        self.is_defined() && self.info & 15 == INDIRECT && self.info >> 4 != LOCAL
    }

    /// Its bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }
}

/// The addresses of an image's tables; 0: it has none.
#[derive(Clone, Copy, Default)]
pub struct Tables {
    /// Names of symbols, each ended by a zero.
    pub names: usize,
    /// Symbols.
    pub symbols: usize,
    /// The old hash table.
    pub hash: usize,
    /// The hash table of GNU.
    pub gnu_hash: usize,
    /// Versions of symbols.
    pub versions: usize,
    /// `DT_FLAGS_1` itself, which is no address.
    pub flags: usize,
    /// Where the library's own name is among the names; 0: it has none.
    pub own_name: usize,
    /// Relocations, and their bytes: those that are done at the start, and those of calls.
    pub relocations: [(usize, usize); 2],
}

impl Tables {
    /// Reads a dynamic section. `address_of` makes an address of a value that the section holds.
    ///
    /// # Safety
    /// A dynamic section begins at that address, and ends with an entry of zeros.
    #[must_use]
    pub unsafe fn of(dynamic: usize, address_of: impl Fn(usize) -> usize) -> Self {
        const HASH: usize = 4;
        const STRINGS: usize = 5;
        const SYMBOLS: usize = 6;
        const OWN_NAME: usize = 14;
        const GNU_HASH: usize = 0x6fff_fef5;
        const VERSIONS: usize = 0x6fff_fff0;
        const FLAGS_1: usize = 0x6fff_fffb;
        const BYTES_OF_CALLS: usize = 2;
        const RELOCATIONS: usize = 7;
        const BYTES: usize = 8;
        const CALLS: usize = 23;
        let mut tables = Self::default();
        let mut entry = dynamic as *const [usize; 2];
        loop {
            // SAFETY: the caller's promise: no entry before this one was the last.
            let [tag, value] = unsafe { *entry };
            match tag {
                0 => return tables,
                HASH => tables.hash = address_of(value),
                STRINGS => tables.names = address_of(value),
                SYMBOLS => tables.symbols = address_of(value),
                OWN_NAME => tables.own_name = value,
                GNU_HASH => tables.gnu_hash = address_of(value),
                VERSIONS => tables.versions = address_of(value),
                FLAGS_1 => tables.flags = value,
                RELOCATIONS => tables.relocations[0].0 = address_of(value),
                BYTES => tables.relocations[0].1 = value,
                CALLS => tables.relocations[1].0 = address_of(value),
                BYTES_OF_CALLS => tables.relocations[1].1 = value,
                _ => {}
            }
            entry = entry.wrapping_add(1);
        }
    }

    /// How many symbols there are; 0 without a hash table.
    ///
    /// # Safety
    /// The tables are those of an image that is mapped.
    #[must_use]
    pub unsafe fn count(&self) -> usize {
        // SAFETY: the caller's promise: the second word of the old table is the number of its chains, one for each symbol.
        unsafe {
            match (self.hash, self.gnu_hash) {
                (0, 0) => 0,
                (0, gnu) => GnuHash::at(gnu as *const u32).count(),
                (old, _) => *(old as *const u32).add(1) as usize,
            }
        }
    }
}

/// The hash table of GNU: a filter, the first symbol of each bucket, and the hashes of all symbols from `first` on, whose lowest
/// bit says whether the bucket ends.
#[derive(Clone, Copy)]
pub struct GnuHash {
    /// The first symbol of each bucket.
    pub buckets: *const u32,
    /// How many buckets.
    pub bucket_count: u32,
    /// The first symbol that has a hash.
    pub first: u32,
    /// The filter.
    pub filter: *const u64,
    /// Words of the filter.
    pub words: u32,
    /// The second bit of a name in the filter: its hash, shifted right by this.
    pub shift: u32,
    /// Hashes.
    pub chain: *const u32,
}

impl GnuHash {
    /// # Safety
    /// A table of GNU hashes begins at that address.
    #[must_use]
    pub unsafe fn at(table: *const u32) -> Self {
        // SAFETY: the caller's promise: counts, filter, buckets, chain, in this order.
        unsafe {
            let (bucket_count, first, words, shift) = (*table, *table.add(1), *table.add(2), *table.add(3));
            let filter = table.add(4);
            let buckets = filter.add(2 * words as usize);
            let chain = buckets.add(bucket_count as usize);
            Self { buckets, bucket_count, first, filter: filter.cast(), words, shift, chain }
        }
    }

    /// How many symbols there are: those without a hash, and up to the end of the last bucket.
    ///
    /// # Safety
    /// The table is still mapped.
    unsafe fn count(&self) -> usize {
        // SAFETY: the caller's promise; the last symbol of a bucket is marked.
        unsafe {
            let buckets = (0..self.bucket_count as usize).map(|bucket| *self.buckets.add(bucket));
            let mut last = buckets.max().unwrap_or(0);
            if last < self.first {
                return self.first as usize;
            }
            while *self.chain.add((last - self.first) as usize) & 1 == 0 {
                last += 1;
            }
            last as usize + 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The count by a table of GNU hashes alone, as newer kernels and linkers make it.
    #[test]
    fn symbols_are_counted_to_the_end_of_the_last_bucket() {
        let count = |table: &[u32]| {
            let tables = Tables { gnu_hash: table.as_ptr() as usize, ..Tables::default() };
            // SAFETY: a table of that form.
            unsafe { tables.count() }
        };
        // Buckets of two and of three symbols behind the first one, which has no hash.
        assert_eq!(count(&[2, 1, 1, 6, 0, 0, 1, 3, 8, 9, 8, 8, 9]), 6);
        assert_eq!(count(&[1, 7, 1, 6, 0, 0, 0]), 7, "no symbol has a hash");
        // SAFETY: no table at all.
        assert_eq!(unsafe { Tables::default().count() }, 0);
    }

    #[test]
    fn the_old_table_says_how_many_there_are() {
        let (old, gnu) = ([3_u32, 11, 0, 0], [1_u32, 1, 1, 6, 0, 0, 1, 9]);
        let tables =
            Tables { hash: old.as_ptr() as usize, gnu_hash: gnu.as_ptr() as usize, ..Tables::default() };
        // SAFETY: tables of that form.
        assert_eq!(unsafe { tables.count() }, 11);
    }
}
