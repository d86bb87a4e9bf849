//! The system loader's data about a library: the public beginning of an entry of its list.
//!
//! Invariant: no data of an entry that may be removed is kept.
//! Not here: the dependencies of libraries (`closure`).

use core::ffi::{CStr, c_char};

use crate::elf::Symbol;

/// Tags of the dynamic section.
const HASH: usize = 4;
const STRINGS: usize = 5;
const SYMBOLS: usize = 6;
const SONAME: usize = 14;
const GNU_HASH: usize = 0x6fff_fef5;
const FLAGS_1: usize = 0x6fff_fffb;
/// The tag of the names of needed libraries.
pub const NEEDED: usize = 1;

/// An entry.
#[repr(C)]
pub struct LinkMap {
    /// What is added to the addresses of its file.
    pub bias: usize,
    /// Its path.
    pub name: *const c_char,
    /// Its dynamic section, which ends with a tag of 0.
    dynamic: *const [usize; 2],
    /// The next one of the list.
    pub next: *const LinkMap,
}

impl LinkMap {
    fn entries(&self) -> impl Iterator<Item = [usize; 2]> + Clone + use<> {
        let dynamic = self.dynamic;
        // SAFETY: the loader has read the section to its end, and it stays as long as the library.
        let entries = (0..).map(move |at| unsafe { *dynamic.add(at) });
        entries.take_while(move |entry| !dynamic.is_null() && entry[0] != 0)
    }

    /// An address: the loader has replaced it with the actual one, except in the kernel's library, which it does not write.
    fn address(&self, tag: usize) -> usize {
        match self.entries().find(|entry| entry[0] == tag) {
            Some([_, address]) if address < self.bias => address + self.bias,
            Some([_, address]) => address,
            None => 0,
        }
    }

    /// The texts of a tag.
    pub fn names(&self, tag: usize) -> impl Iterator<Item = &'static CStr> + use<> {
        let strings = self.address(STRINGS);
        self.entries()
            .filter(move |entry| entry[0] == tag && strings != 0)
            // SAFETY: texts in the library's own table, which stays as long as the library.
            .map(move |entry| unsafe { CStr::from_ptr((strings + entry[1]) as *const c_char) })
    }

    /// The name under which others need it, if it has one.
    pub fn soname(&self) -> Option<&'static CStr> {
        self.names(SONAME).next()
    }

    /// The path from which it was loaded; empty for the program itself.
    pub fn path(&self) -> &'static CStr {
        // SAFETY: null, or a C string that stays as long as the library.
        unsafe { if self.name.is_null() { c"" } else { CStr::from_ptr(self.name) } }
    }

    /// Does the loader keep it forever: because it says so, or because it may have symbols that are unique in the process?
    pub fn is_for_ever(&self) -> bool {
        const NODELETE: usize = 8;
        if self.entries().any(|[tag, value]| tag == FLAGS_1 && value & NODELETE != 0) {
            return true;
        }
        let symbols = self.address(SYMBOLS) as *const Symbol;
        // SAFETY: the tables that the loader uses itself.
        unsafe { !symbols.is_null() && self.symbols().any(|at| (*symbols.add(at as usize)).is_unique()) }
    }

    /// The numbers of the symbols that it defines, among others. Without a hash table it has none.
    ///
    /// # Safety
    /// The loader has loaded it: buckets refer to chains, chains end, and each has its symbol.
    unsafe fn symbols(&self) -> core::ops::Range<u32> {
        let (by_name, older) = (self.address(GNU_HASH) as *const u32, self.address(HASH) as *const u32);
        // SAFETY: the caller's promise.
        unsafe {
            if by_name.is_null() {
                // [buckets, chains], and a chain for each symbol.
                return if older.is_null() { 0..0 } else { 0..*older.add(1) };
            }
            let [buckets, first, filters, _] = *by_name.cast::<[u32; 4]>();
            let bucket = by_name.add(4 + filters as usize * 2);
            let chain = bucket.add(buckets as usize);
            let mut last = (0..buckets as usize).map(|at| *bucket.add(at)).max().unwrap_or(0);
            if last < first {
                return 0..0;
            }
            while *chain.add((last - first) as usize) & 1 == 0 {
                last += 1;
            }
            first..last + 1
        }
    }
}
