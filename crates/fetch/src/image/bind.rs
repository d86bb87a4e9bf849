//! The definition to which a symbol is bound.
//!
//! ```text
//! local, hidden, protected ───────────────────────────────────────────────> its own
//! undefined, and in the table of replaced functions ──────────────────────> ours (thread storage, exit, ...)
//! do others in the process export the name? no ──> its own, 0 if weak, or unresolved
//!   yes ──> program and libraries of the global scope ──> its own ──> libraries it needs ──> 0 if weak, or unresolved
//! ```
//!
//! This is the order in which the system's loader binds what it opens. The first question is asked once for all symbols of a
//! program ([`elsewhere`]), since an unsuccessful search of the system's loader costs a microsecond.
//!
//! Invariant: a symbol that is requested with a version gets no other version.
//! Not here: the use of addresses (`relocate`), opening the libraries (`needed`).

use core::ffi::{c_char, c_int, c_void};
use core::ptr::NonNull;

use super::Replaced;
use crate::arena;
use crate::elf::{Damage, Layout, Symbol, Table, Tables, Wanted, gnu_hash};
use crate::enclave;
use crate::error::{Error, Failure, Reason, Text};
use crate::system::{self, Handle, ProgramHeader, ProgramInfo};
use crate::threads::{self, Index};

/// The definition of a symbol.
#[derive(Clone, Copy, Debug)]
pub enum Bound {
    /// An address, or a number; 0 for a missing symbol that may be missing.
    Address(usize),
    /// A function of the program that returns the address of the actual function; called after everything else.
    Resolver(usize),
}

/// Binds the symbols of one program.
pub struct Binder<'a> {
    /// The bias of its addresses.
    pub bias: usize,
    /// Its segments.
    pub layout: &'a Layout,
    /// Its symbols.
    pub tables: &'a Tables<'a>,
    /// Whether its own symbols come first.
    pub is_symbolic: bool,
    /// The libraries that it needs.
    pub needed: &'a [Handle],
    /// The functions that we replace.
    pub replaced: &'a [Replaced],
    /// The number of its thread storage; 0: none.
    pub threads: usize,
    /// The symbols that others export, see [`elsewhere`].
    pub exported: Bits,
    /// The symbol that was bound last: relocations of the same one often follow each other.
    pub last: Option<(u32, Bound)>,
}

impl Binder<'_> {
    /// The binding of the symbol with this number. `at` is the relocation, for the message.
    #[inline]
    pub fn bind(&mut self, number: u32, at: u32) -> Result<Bound, Failure> {
        if let Some((last, bound)) = self.last
            && last == number
        {
            return Ok(bound);
        }
        let bound = self.search(number, at)?;
        self.last = Some((number, bound));
        Ok(bound)
    }

    fn search(&self, number: u32, at: u32) -> Result<Bound, Failure> {
        if number == 0 {
            return Ok(Bound::Address(0));
        }
        let symbol = self.tables.symbol(number).ok_or(Damage::RelocationSymbol(at))?;
        if self.is_own(number, &symbol) {
            return self.own(number, &symbol);
        }
        let (name, length) = self.tables.name(number, &symbol)?;
        if !symbol.is_defined() {
            let is = |other: &[u8]| other.len() == length && name.is_text(0, other);
            if let Some(one) = self.replaced.iter().find(|one| is(one.name)) {
                return Ok(Bound::Address(one.address));
            }
            if let Some(one) = enclave::functions().iter().find(|one| is(one.name())) {
                return Ok(Bound::Address(one.address as usize));
            }
        }
        if !self.exported.has(number) {
            return self.missing(number, &symbol, &name, length);
        }
        match self.of_system(number, &symbol, &name)? {
            Some(address) => Ok(Bound::Address(address)),
            None => self.missing(number, &symbol, &name, length),
        }
    }

    /// The location of a symbol's thread variable.
    pub fn thread_variable(&self, number: u32, at: u32) -> Result<Index, Failure> {
        if number == 0 {
            return Ok(Index { module: self.threads, place: 0 });
        }
        let symbol = self.tables.symbol(number).ok_or(Damage::RelocationSymbol(at))?;
        let own = Index { module: self.threads, place: symbol.value as usize };
        if self.is_own(number, &symbol) {
            return Ok(own);
        }
        let (name, length) = self.tables.name(number, &symbol)?;
        if self.exported.has(number)
            && let Some(address) = self.of_system(number, &symbol, &name)?
            && let Some(index) = threads::of_system(address)
        {
            return Ok(index);
        }
        match (symbol.is_defined(), symbol.is_weak()) {
            (true, _) => Ok(own),
            (false, true) => Err(Reason::WeakThreadVariable.into()),
            (false, false) => Err(Error::Unresolved(text(&name, length)).into()),
        }
    }

    /// Is it bound without a search?
    fn is_own(&self, number: u32, symbol: &Symbol) -> bool {
        symbol.is_defined()
            && (symbol.is_local() || symbol.is_bound_here() || self.is_symbolic || !self.exported.has(number))
    }

    fn missing(
        &self,
        number: u32,
        symbol: &Symbol,
        name: &Table<'_>,
        length: usize,
    ) -> Result<Bound, Failure> {
        if symbol.is_defined() {
            self.own(number, symbol)
        } else if symbol.is_weak() {
            Ok(Bound::Address(0))
        } else {
            Err(Error::Unresolved(text(name, length)).into())
        }
    }

    /// The address of a symbol that is defined here.
    pub fn own(&self, number: u32, symbol: &Symbol) -> Result<Bound, Failure> {
        if symbol.is_absolute() {
            return Ok(Bound::Address(symbol.value as usize));
        }
        if !(self.layout.low..=self.layout.high).contains(&symbol.value) {
            return Err(Damage::SymbolPlace(number).into());
        }
        let address = self.bias.wrapping_add(symbol.value as usize);
        if !symbol.is_indirect() {
            return Ok(Bound::Address(address));
        }
        match self.layout.segment(symbol.value, 1) {
            Some(segment) if segment.is_executable() => Ok(Bound::Resolver(address)),
            _ => Err(Damage::Function(symbol.value).into()),
        }
    }

    fn of_system(&self, number: u32, symbol: &Symbol, name: &Table<'_>) -> Result<Option<usize>, Failure> {
        let version = match self.tables.wanted(number, symbol)? {
            Wanted::Any => core::ptr::null(),
            Wanted::Named(at) => self.tables.names().address(at as usize).cast(),
        };
        let name: *const c_char = name.address(0).cast();
        // SAFETY: both texts end within the table of names: `Tables::name` and `Tables::wanted` have checked this.
        unsafe {
            if let Some(address) = system::global_symbol(name, version) {
                return Ok(Some(address));
            }
            if symbol.is_defined() {
                return Ok(None);
            }
            Ok(self.needed.iter().find_map(|handle| handle.symbol(name, version)))
        }
    }
}

fn text(name: &Table<'_>, length: usize) -> Text {
    let mut bytes = [0; Text::MOST];
    let length = length.min(Text::MOST);
    for (at, byte) in bytes.iter_mut().enumerate().take(length) {
        *byte = name.read(at).unwrap_or(0);
    }
    Text::new(bytes.get(..length).unwrap_or_default())
}

/// A bit for each symbol of a program.
#[derive(Debug)]
pub struct Bits {
    /// Null: all are set.
    words: *mut u32,
    count: u32,
}

impl Bits {
    /// All set.
    pub const ALL: Bits = Bits { words: core::ptr::null_mut(), count: 0 };

    /// Is it set?
    #[inline]
    #[must_use]
    pub fn has(&self, number: u32) -> bool {
        // SAFETY: `words` holds a bit for each number below `count`.
        number >= self.count || unsafe { *self.words.add(number as usize / 32) } & (1 << (number % 32)) != 0
    }

    fn bytes(count: u32) -> usize {
        (count as usize).div_ceil(32) * 4
    }
}

impl Drop for Bits {
    fn drop(&mut self) {
        if let Some(words) = NonNull::new(self.words) {
            // SAFETY: got with this size, and this is its only user.
            unsafe { arena::put(words.cast(), Bits::bytes(self.count)) };
        }
    }
}

/// The symbols of a program that others in the process export, in any scope or version: for all other symbols no search is
/// needed. All of them if this cannot be determined.
#[must_use]
pub fn elsewhere(tables: &Tables<'_>) -> Bits {
    struct Search<'a> {
        tables: &'a Tables<'a>,
        hashes: *const u32,
        bits: Bits,
        is_unknown: bool,
    }
    unsafe extern "C" fn look(info: *mut ProgramInfo, _: usize, search: *mut c_void) -> c_int {
        // SAFETY: the loader's information about one program, whose tables stay during the call, since it holds its
        // lock; and our own search.
        unsafe {
            let search = &mut *search.cast::<Search<'_>>();
            let Some(program) = Exports::of(&*info) else {
                search.is_unknown = true;
                return 1;
            };
            for number in 1..search.bits.count {
                let hash = *search.hashes.add(number as usize);
                if hash != 0 && program.has(hash, search.tables, number) {
                    *search.bits.words.add(number as usize / 32) |= 1 << (number % 32);
                }
            }
        }
        0
    }
    let count = tables.count();
    let bytes = count as usize * 4;
    let (Ok(words), Ok(hashes)) = (arena::get(Bits::bytes(count)), arena::get(bytes)) else {
        return Bits::ALL;
    };
    let (words, hashes) = (words.cast::<u32>().as_ptr(), hashes.cast::<u32>());
    let bits = Bits { words, count };
    let mut search = Search { tables, hashes: hashes.as_ptr(), bits, is_unknown: count == 0 };
    // SAFETY: both rooms have their sizes.
    unsafe {
        words.write_bytes(0, Bits::bytes(count) / 4);
        for number in 0..count {
            hashes.as_ptr().add(number as usize).write(hash_of(tables, number));
        }
    }
    if !search.is_unknown {
        // SAFETY: a visitor of this kind, with what it expects.
        unsafe { crate::program_headers::system_programs(look, (&raw mut search).cast()) };
    }
    // SAFETY: got with this size above.
    unsafe { arena::put(hashes.cast(), bytes) };
    if search.is_unknown { Bits::ALL } else { search.bits }
}

/// The hash of the name of a symbol that others may have; 0 for local ones and those with bad names.
fn hash_of(tables: &Tables<'_>, number: u32) -> u32 {
    let Some(symbol) = tables.symbol(number).filter(|symbol| !symbol.is_local()) else { return 0 };
    let Ok((name, length)) = tables.name(number, &symbol) else { return 0 };
    let byte = |at| name.read::<u8>(at).unwrap_or(0);
    (0..length).fold(gnu_hash(b""), |hash, at| hash.wrapping_mul(33).wrapping_add(u32::from(byte(at))))
}

/// The tables of a program that the system's loader has loaded, which is trusted.
struct Exports {
    hash: *const u32,
    symbols: *const Symbol,
    names: *const u8,
}

impl Exports {
    /// None if it has no hash table of GNU.
    unsafe fn of(info: &ProgramInfo) -> Option<Exports> {
        const DYNAMIC: u32 = 2;
        // SAFETY: the loader's own list of headers; a dynamic section ends with a zero entry.
        unsafe {
            let headers = core::slice::from_raw_parts(info.headers, usize::from(info.count));
            let header: &ProgramHeader = headers.iter().find(|header| header.kind == DYNAMIC)?;
            let mut entry = info.bias.wrapping_add(header.address as usize) as *const [u64; 2];
            let (mut hash, mut symbols, mut names) = (0, 0, 0);
            loop {
                let [tag, value] = *entry;
                match tag {
                    0 => break,
                    5 => names = value as usize,
                    6 => symbols = value as usize,
                    0x6fff_fef5 => hash = value as usize,
                    _ => {}
                }
                entry = entry.add(1);
            }
            // The loader has replaced the addresses with the actual ones, except in the kernel's library, which it does not write.
            let place = |address: usize| if address < info.bias { address + info.bias } else { address };
            if hash == 0 || symbols == 0 || names == 0 {
                return None;
            }
            let exports = Exports {
                hash: place(hash) as *const u32,
                symbols: place(symbols) as *const Symbol,
                names: place(names) as *const u8,
            };
            Some(exports)
        }
    }

    /// Does it define the name of one of our symbols?
    unsafe fn has(&self, hash: u32, tables: &Tables<'_>, number: u32) -> bool {
        // SAFETY: a hash table that the system's loader itself uses: buckets refer to chains, chains end.
        unsafe {
            let [buckets, first, filters, shift] = *self.hash.cast::<[u32; 4]>();
            let filter = self.hash.add(4).cast::<u64>();
            let word = filter.add(((hash / 64) & (filters - 1)) as usize).read_unaligned();
            if buckets == 0 || word >> (hash % 64) & word >> ((hash >> shift) % 64) & 1 == 0 {
                return false;
            }
            let bucket = self.hash.add(4 + filters as usize * 2);
            let chain = bucket.add(buckets as usize);
            let mut at = *bucket.add((hash % buckets) as usize);
            if at < first {
                return false;
            }
            let Some(own) = tables.symbol(number) else { return false };
            loop {
                let link = *chain.add((at - first) as usize);
                if link | 1 == hash | 1 {
                    let symbol = self.symbols.add(at as usize).read_unaligned();
                    let name = core::ffi::CStr::from_ptr(self.names.add(symbol.name as usize).cast());
                    if symbol.is_defined() && tables.names().is_text(own.name as usize, name.to_bytes()) {
                        return true;
                    }
                }
                if link & 1 != 0 {
                    return false;
                }
                at += 1;
            }
        }
    }
}
