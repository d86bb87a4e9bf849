//! The libraries of this process as the loader has mapped them: which symbols each defines, and where.
//!
//! ```text
//! dl_iterate_phdr ─> headers ─> PT_DYNAMIC ─┬─> SYMTAB, STRTAB   symbols and their names
//!                                           ├─> GNU_HASH         from a name to its symbols
//!                                           └─> VERSYM           which of several versions is the default
//! ```
//!
//! Invariant: only tables are read that the loader itself has used to load the library. A library without a GNU hash table
//! defines nothing here; every C library of the last fifteen years has one.
//! Not here: files that are not loaded (`carry` of preloadable); whose name an address has (`coverage::owners`).

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::MaybeUninit;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use underbar_preloadable::linked;
use underbar_sys::image::{DYNAMIC, GnuHash, Header, LOAD, NOTE, RELRO, Relocation, Symbol, Tables};

use crate::c_library;

/// A library, or the program.
#[derive(Clone, Copy)]
pub(crate) struct Object {
    /// The base that its addresses are relative to.
    pub(crate) base: usize,
    /// Its first and last address in memory.
    start: usize,
    end: usize,
    symbols: *const Symbol,
    names: *const c_char,
    versions: *const u16,
    hash: GnuHash,
    /// The access rights of the pages of its symbols, as ELF flags.
    pub(crate) flags: u32,
    /// The loader reports that it never unloads it.
    pub(crate) is_kept: bool,
    /// The path of its file; empty for the program.
    path: *const c_char,
    /// Where its own name is among the names; 0: it has none.
    own_name: usize,
    /// Its relocations, and their bytes.
    relocations: [(usize, usize); 2],
    /// The addresses that the loader has made read-only.
    read_only: (usize, usize),
    /// The addresses that the program may write, as far as the loader has left them so.
    writable: (usize, usize),
}

/// A word of a library that holds, or will hold, the address of a function.
pub(crate) struct Reference {
    /// The name of the function.
    pub(crate) name: &'static CStr,
    /// The word.
    pub(crate) word: &'static AtomicUsize,
    /// The library's own function of that name; 0 if it has none.
    pub(crate) own: usize,
    /// The loader may leave the word as it is until the first call.
    pub(crate) is_of_call: bool,
}

/// As dl_iterate_phdr describes it.
#[repr(C)]
struct Described {
    base: usize,
    name: *const c_char,
    headers: *const Header,
    count: u16,
    /// How many libraries were ever loaded, and unloaded.
    loads: u64,
    unloads: u64,
}

unsafe extern "C" {
    fn dl_iterate_phdr(
        visit: unsafe extern "C" fn(*const Described, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
}

/// Calls `visit` with each library of the program's own namespace that has symbols, in the order in which they were loaded.
/// For the libraries of the program's start this is the order in which the loader searches them. The loader adds and
/// removes none meanwhile, so `visit` must not call the loader.
pub(crate) fn each<F: FnMut(&Object)>(visit: &mut F) {
    each_until(&mut |object| {
        visit(object);
        false
    });
}

/// As [`each`], until `visit` returns true.
pub(crate) fn each_until<F: FnMut(&Object) -> bool>(visit: &mut F) {
    unsafe extern "C" fn one<F: FnMut(&Object) -> bool>(
        it: *const Described,
        _: usize,
        visit: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader describes a library that stays loaded while this lasts; `visit` is what `each_until` passed.
        unsafe { Object::of(&*it).is_some_and(|object| (*visit.cast::<F>())(&object)).into() }
    }
    // SAFETY: the function takes what is passed with it.
    unsafe { dl_iterate_phdr(one::<F>, core::ptr::from_mut(visit).cast()) };
}

/// How many libraries the loader has ever loaded in this process, and how many it has unloaded.
pub(crate) fn counts() -> [u64; 2] {
    unsafe extern "C" fn first(it: *const Described, _: usize, counts: *mut c_void) -> c_int {
        // SAFETY: the loader's description, which has had these fields since glibc 2.4; `counts` is what is passed below.
        unsafe { *counts.cast::<[u64; 2]>() = [(*it).loads, (*it).unloads] };
        1
    }
    let mut counts = [0; 2];
    // SAFETY: the function takes what is passed with it.
    unsafe { dl_iterate_phdr(first, (&raw mut counts).cast()) };
    counts
}

/// Whether that address is in the program itself, not in a library: also in a program that is linked statically, which has no symbols.
pub(crate) fn is_in_program(address: usize) -> bool {
    program_has(&mut |base, header| {
        header.kind == LOAD && address.wrapping_sub(base.wrapping_add(header.address)) < header.in_memory
    })
}

/// Whether the program has a runtime in itself, by the static library for C: it has a note that says so.
pub(crate) fn program_has_runtime() -> bool {
    program_has(&mut |base, header| {
        // SAFETY: notes are mapped where the header says, for as long as the program runs.
        header.kind == NOTE
            && linked::is_in(unsafe {
                core::slice::from_raw_parts(base.wrapping_add(header.address) as *const u8, header.in_memory)
            })
    })
}

/// Whether that is true of one of the program's own headers, to which its base is passed.
fn program_has<F: FnMut(usize, &Header) -> bool>(is_it: &mut F) -> bool {
    struct Asked<'a, F> {
        is_it: &'a mut F,
        has: bool,
    }
    unsafe extern "C" fn first<F: FnMut(usize, &Header) -> bool>(
        it: *const Described,
        _: usize,
        asked: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader's description of the program, which comes first; `asked` is what is passed below.
        unsafe {
            let asked = &mut *asked.cast::<Asked<'_, F>>();
            let headers = core::slice::from_raw_parts((*it).headers, usize::from((*it).count));
            asked.has = headers.iter().any(|header| (asked.is_it)((*it).base, header));
        }
        1
    }
    let mut asked = Asked { is_it, has: false };
    // SAFETY: the function takes what is passed with it.
    unsafe { dl_iterate_phdr(first::<F>, (&raw mut asked).cast()) };
    asked.has
}

/// The function of that name that a call from the library at `here` would reach without that library: the default version
/// of the first definition after it. The flag says whether it stays for as long as the process does. Uses neither `dlsym`,
/// which changes the result of `dlerror` and may be in a library that is not loaded, nor any storage.
pub(crate) fn next_after(here: usize, name: &CStr) -> Option<(usize, bool)> {
    let c_library = c_library::address_of_version();
    let (mut is_behind, mut is_behind_c, mut found) = (false, false, None);
    each_until(&mut |object| {
        if object.holds(here) {
            is_behind = true;
        } else if is_behind && let Some(address) = object.default(hash_of(name), name) {
            // Libraries that come with the program stay. These are the ones up to the C library, which each program
            // has from the start.
            found = Some((address, !is_behind_c || object.is_kept));
        }
        is_behind_c |= object.holds(c_library);
        found.is_some()
    });
    found
}

/// The libraries after the one at some address, up to the C library: they come with the program and stay. To read their tables once saves
/// each start some twenty microseconds.
pub(crate) struct Kept {
    /// [`NOT_YET`], [`UNDER_WAY`], or how many there are plus [`KNOWN`]. The thread that made it UNDER_WAY writes, with Release, after
    /// `objects`; any thread reads, with Acquire.
    state: AtomicUsize,
    /// The thread that made the state UNDER_WAY writes; others read what is KNOWN.
    objects: UnsafeCell<[MaybeUninit<Object>; MOST_KEPT]>,
}

/// A program with more of them looks at all each time.
const MOST_KEPT: usize = 32;
const NOT_YET: usize = 0;
const UNDER_WAY: usize = 1;
const KNOWN: usize = 2;

// SAFETY: `state` says who may touch `objects`; an object is addresses of tables that stay.
unsafe impl Sync for Kept {}

impl Kept {
    pub(crate) const fn new() -> Kept {
        Kept {
            state: AtomicUsize::new(NOT_YET),
            objects: UnsafeCell::new([const { MaybeUninit::uninit() }; MOST_KEPT]),
        }
    }

    /// The default version of the first definition of that name after the library at `here`, which is the same each time, if it is in
    /// one of these libraries.
    pub(crate) fn next_after(&self, here: usize, name: &CStr) -> Option<usize> {
        let state = match self.state.load(Ordering::Acquire) {
            NOT_YET => self.find(here)?,
            UNDER_WAY => return None,
            state => state,
        };
        let wanted = hash_of(name);
        // SAFETY: the state was KNOWN, so that many are written, and nobody writes any more.
        let objects = unsafe { (*self.objects.get()).get(..state - KNOWN)?.assume_init_ref() };
        objects.iter().find_map(|object| object.default(wanted, name))
    }

    #[cold]
    fn find(&self, here: usize) -> Option<usize> {
        self.state.compare_exchange(NOT_YET, UNDER_WAY, Ordering::Acquire, Ordering::Relaxed).ok()?;
        let c_library = c_library::address_of_version();
        let (mut is_behind, mut count) = (false, 0);
        let mut is_whole = false;
        each_until(&mut |object| {
            is_whole = object.holds(c_library);
            if object.holds(here) {
                is_behind = true;
            } else if is_behind {
                // SAFETY: this thread alone has made the state UNDER_WAY.
                match unsafe { (*self.objects.get()).get_mut(count) } {
                    Some(room) => _ = room.write(*object),
                    None => return true,
                }
                count += 1;
            }
            is_whole
        });
        // Too many, or this library is behind the C library: none, and the other way each time.
        let state = KNOWN + if is_whole { count } else { 0 };
        self.state.store(state, Ordering::Release);
        Some(state)
    }
}

impl Object {
    /// # Safety
    /// The loader described a library that is loaded, and stays so.
    unsafe fn of(it: &Described) -> Option<Object> {
        const NO_DELETE: usize = 8;
        const WRITE: u32 = 2;
        // SAFETY: the headers are those of a loaded library, whose tables the loader has checked by using them.
        unsafe {
            let headers = core::slice::from_raw_parts(it.headers, usize::from(it.count));
            let dynamic = headers.iter().find(|header| header.kind == DYNAMIC)?.address.wrapping_add(it.base);
            // The loader has made addresses of them if it could write.
            let tables =
                Tables::of(
                    dynamic,
                    |value| if value < it.base { value.wrapping_add(it.base) } else { value },
                );
            if tables.gnu_hash == 0 || tables.names == 0 || tables.symbols == 0 {
                return None;
            }
            let parts = || headers.iter().filter(|header| header.kind == LOAD);
            let from = |header: &Header| it.base.wrapping_add(header.address);
            let is_in = |header: &Header| tables.symbols.wrapping_sub(from(header)) < header.in_memory;
            let span = |header: &Header| (from(header), from(header).wrapping_add(header.in_memory));
            // As the loader protects them: whole pages.
            let page = |(start, end): (usize, usize)| (start & !0xfff, end & !0xfff);
            let read_only = headers.iter().find(|header| header.kind == RELRO).map(span).map(page);
            let writes = || parts().filter(|header| header.flags & WRITE != 0).map(span);
            let writable = (writes().map(|it| it.0).min(), writes().map(|it| it.1).max());
            Some(Object {
                base: it.base,
                start: parts().map(from).min()?,
                end: parts().map(|header| from(header).wrapping_add(header.in_memory)).max()?,
                symbols: tables.symbols as *const Symbol,
                names: tables.names as *const c_char,
                versions: tables.versions as *const u16,
                hash: GnuHash::at(tables.gnu_hash as *const u32),
                flags: parts().find(|header| is_in(header))?.flags,
                is_kept: tables.flags & NO_DELETE != 0,
                path: it.name,
                own_name: tables.own_name,
                relocations: tables.relocations,
                read_only: read_only.unwrap_or_default(),
                writable: (writable.0.unwrap_or(0), writable.1.unwrap_or(0)),
            })
        }
    }

    /// Whether that address is in it.
    pub(crate) fn holds(&self, address: usize) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// The address of its first page.
    pub(crate) fn first_address(&self) -> usize {
        self.start & !0xfff
    }

    /// The path of its file; empty for the program.
    pub(crate) fn path(&self) -> &[u8] {
        // SAFETY: the loader's text, which stays as long as the library is loaded.
        if self.path.is_null() { &[] } else { unsafe { CStr::from_ptr(self.path) }.to_bytes() }
    }

    /// The name that it gives itself; empty: none.
    pub(crate) fn own_name(&self) -> &[u8] {
        if self.own_name == 0 {
            return &[];
        }
        // SAFETY: a name of the table, as the loader reads it.
        unsafe { CStr::from_ptr(self.names.add(self.own_name)) }.to_bytes()
    }

    /// The addresses that the loader made read-only when it had relocated the library: whole pages.
    pub(crate) fn read_only(&self) -> Range<usize> {
        self.read_only.0..self.read_only.1
    }

    /// Its size in memory.
    pub(crate) fn size(&self) -> usize {
        self.end - self.start
    }

    /// Calls `visit` with each word that holds the address of a function, its own or another's, and nothing more.
    pub(crate) fn references(&self, visit: &mut dyn FnMut(&Reference)) {
        for (start, bytes) in self.relocations {
            for at in 0..bytes / size_of::<Relocation>() {
                // SAFETY: the table's own size; the loader relocates the library by it, and its symbols are the library's.
                unsafe {
                    let relocation = &*(start as *const Relocation).add(at);
                    let Some(symbol) = relocation.symbol() else { continue };
                    let place = self.base.wrapping_add(relocation.place);
                    let may_write = (self.writable.0..self.writable.1).contains(&place);
                    if symbol == 0 || relocation.addend != 0 || !may_write || !place.is_multiple_of(8) {
                        continue;
                    }
                    let symbol = self.symbols.add(symbol);
                    let is_own = (*symbol).is_defined();
                    visit(&Reference {
                        name: self.name(symbol),
                        word: AtomicUsize::from_ptr(place as *mut usize),
                        own: if is_own { self.base.wrapping_add((*symbol).value) } else { 0 },
                        is_of_call: relocation.is_of_call(),
                    });
                }
            }
        }
    }

    /// Calls `visit` with each of these words, without its name, and whether it serves calls only.
    pub(crate) fn words(&self, visit: &mut dyn FnMut(&'static AtomicUsize, bool)) {
        let writable = self.writable.0..self.writable.1;
        for (start, bytes) in self.relocations {
            for at in 0..bytes / size_of::<Relocation>() {
                // SAFETY: the table's own size; the loader relocates the library by it.
                let relocation = unsafe { &*(start as *const Relocation).add(at) };
                let place = self.base.wrapping_add(relocation.place);
                let is_of_symbol =
                    relocation.symbol().is_some_and(|symbol| symbol != 0) && relocation.addend == 0;
                if is_of_symbol && writable.contains(&place) && place.is_multiple_of(8) {
                    // SAFETY: an aligned word that the loader writes, in the library's own pages.
                    visit(unsafe { AtomicUsize::from_ptr(place as *mut usize) }, relocation.is_of_call());
                }
            }
        }
    }

    /// The address of the default version of the function of that name, whose hash is `wanted`.
    pub(crate) fn default(&self, wanted: u32, name: &CStr) -> Option<usize> {
        let mut found = None;
        self.functions_of_hash(wanted, name, &mut |symbol, is_default| {
            if is_default && found.is_none() {
                // SAFETY: a symbol of a library that is loaded.
                found = Some(self.base.wrapping_add(unsafe { (*symbol).value }));
            }
        });
        found
    }

    /// Calls `visit` with each function of that name that it defines, and whether it is the default version.
    pub(crate) fn functions(&self, name: &CStr, visit: &mut dyn FnMut(*const Symbol, bool)) {
        self.functions_of_hash(hash_of(name), name, visit);
    }

    /// As [`Object::functions`], with the hash of the name.
    pub(crate) fn functions_of_hash(
        &self,
        wanted: u32,
        name: &CStr,
        visit: &mut dyn FnMut(*const Symbol, bool),
    ) {
        self.symbols_named(wanted, name, &mut |symbol, is_default| {
            // SAFETY: a symbol of a library that is loaded.
            if unsafe { (*symbol).is_function() } {
                visit(symbol, is_default);
            }
        });
    }

    /// The place in it that has become the address of another library's function of that name: a program at a fixed address that takes
    /// the function's address has one, a jump to the function, and all libraries get it. 0: it has none.
    pub(crate) fn stand_in(&self, name: &CStr) -> usize {
        let mut place = 0;
        self.symbols_named(hash_of(name), name, &mut |symbol, _| {
            // SAFETY: a symbol of a library that is loaded.
            let symbol = unsafe { &*symbol };
            if !symbol.is_defined() && symbol.value != 0 {
                place = self.base.wrapping_add(symbol.value);
            }
        });
        place
    }

    /// Calls `visit` with each symbol of that name that a lookup can find, of all versions.
    pub(crate) fn named(&self, name: &CStr, visit: &mut dyn FnMut(*const Symbol)) {
        self.symbols_named(hash_of(name), name, &mut |symbol, _| visit(symbol));
    }

    /// Calls `visit` with each symbol of that name, whose hash is `wanted`, that a lookup can find, and whether it is the default version.
    fn symbols_named(&self, wanted: u32, name: &CStr, visit: &mut dyn FnMut(*const Symbol, bool)) {
        const HIDDEN: u16 = 0x8000;
        let hash = &self.hash;
        if hash.bucket_count == 0 || hash.words == 0 {
            return;
        }
        // SAFETY: as the loader looks a name up, in the same tables.
        unsafe {
            let filter = *hash.filter.add((wanted / 64 % hash.words) as usize);
            if (filter >> (wanted % 64)) & (filter >> ((wanted >> hash.shift) % 64)) & 1 == 0 {
                return;
            }
            let mut at = *hash.buckets.add((wanted % hash.bucket_count) as usize);
            if at == 0 {
                return;
            }
            loop {
                let this = *hash.chain.add((at - hash.first) as usize);
                let symbol = self.symbols.add(at as usize);
                if (this ^ wanted) >> 1 == 0 && self.name(symbol) == name {
                    let hidden = !self.versions.is_null() && *self.versions.add(at as usize) & HIDDEN != 0;
                    visit(symbol, !hidden);
                }
                if this & 1 != 0 {
                    return;
                }
                at += 1;
            }
        }
    }

    /// Calls `visit` with the name and address of each function that it defines for others.
    pub(crate) fn exports(&self, visit: &mut dyn FnMut(&'static CStr, usize)) {
        self.symbols(&mut |name, symbol| {
            // SAFETY: a symbol of a library that is loaded.
            let symbol = unsafe { &*symbol };
            if symbol.is_function() {
                visit(name, self.base.wrapping_add(symbol.value));
            }
        });
    }

    /// Calls `visit` with each symbol that a lookup can find, and its name.
    pub(crate) fn symbols(&self, visit: &mut dyn FnMut(&'static CStr, *const Symbol)) {
        let hash = &self.hash;
        for bucket in 0..hash.bucket_count as usize {
            // SAFETY: the table's own count; a bucket is empty or names the first of its symbols, and the last of them is marked.
            unsafe {
                let mut at = *hash.buckets.add(bucket);
                while at != 0 {
                    let symbol = self.symbols.add(at as usize);
                    visit(self.name(symbol), symbol);
                    let last = *hash.chain.add((at - hash.first) as usize) & 1 != 0;
                    at = if last { 0 } else { at + 1 };
                }
            }
        }
    }

    /// # Safety
    /// The symbol is one of this library, which stays loaded for as long as the name is used.
    unsafe fn name(&self, symbol: *const Symbol) -> &'static CStr {
        // SAFETY: the loader's own tables.
        unsafe { CStr::from_ptr(self.names.add((*symbol).name as usize)) }
    }
}

/// The hash of a name: that of GNU's tables.
pub(crate) fn hash_of(name: &CStr) -> u32 {
    name.to_bytes().iter().fold(5381, |hash: u32, &byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)))
}

#[cfg(test)]
mod tests;
