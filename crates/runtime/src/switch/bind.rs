//! Taking the place of functions of the C library in an unmodified program: whoever calls them by name comes here first.
//!
//! ```text
//! objects that are loaded    words that hold the function's address         ─┐
//! lookups from now on        its symbol in the table of the first library   ─┴─> our function ──> the original
//!   (lazy binding, dlopen, dlsym)  of these that defines it
//! ```
//!
//! These are the C library and, before it, this library, which has functions of the same names. A function of that name in any other object
//! is its own: a wrapper of another preload is not replaced, but what it calls is. Several users of this module stack: the last one to
//! bind is called first.
//!
//! Only words with that very address are changed. A word for an older version of the function holds another one, and keeps it.
//!
//! Invariant: words and symbols of this library, of the loader and of the C library stay as they are, except for the symbols that the
//! rest of the process looks up; what this library calls is never one of the functions that it binds.
//! Cost: about 0.2 ms for 400 names and ten libraries.
//! Not here: what the functions do (`stubs`); other names of this library, for libraries with RTLD_DEEPBIND (`deepbind`).

use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

use underbar_sys::image::Symbol;
use underbar_sys::syscall::{PROT_READ, PROT_WRITE, mprotect};

use crate::c_library::address_of_version;
use crate::deepbind::{self, PATIENCE};
use crate::loaded::{self, Object};
use crate::sandbox;

/// A function to be replaced.
#[derive(Clone, Copy)]
pub(crate) struct Binding {
    /// Its name.
    pub name: &'static CStr,
    /// The hash of the name, as in GNU's tables.
    pub hash: u32,
    /// The function that takes its place.
    pub ours: usize,
    /// Where the function's address is put before anyone can get to `ours`. Stored relaxed: the word with the address of `ours` is stored
    /// later, with Release. 0 stays if nobody defines it.
    pub original: &'static AtomicUsize,
}

/// The most names that are bound at a time.
const MOST: usize = 512;
/// Room of the index of originals: a power of two, mostly empty.
const INDEX: usize = 2048;

/// The addresses of originals, found by hashing.
struct Originals<'a> {
    of: &'a dyn Fn(usize) -> Option<Binding>,
    /// A number and 1; 0: free.
    index: [u16; INDEX],
    least: usize,
    most: usize,
}

impl Originals<'_> {
    fn place(address: usize) -> usize {
        (address >> 4).wrapping_mul(0x9e37_79b9) >> 7
    }

    /// False if another name has the same function: that one's number counts for both.
    fn add(&mut self, number: usize, address: usize) {
        let mut at = Self::place(address);
        while self.index[at % INDEX] != 0 {
            at += 1;
        }
        self.index[at % INDEX] = number as u16 + 1;
        self.least = self.least.min(address);
        self.most = self.most.max(address);
    }

    /// The function that takes the place of the one at this address.
    #[inline]
    fn replacement(&self, address: usize) -> Option<usize> {
        if address < self.least || address > self.most {
            return None;
        }
        let mut at = Self::place(address);
        loop {
            let number = usize::from(self.index[at % INDEX]).checked_sub(1)?;
            let binding = (self.of)(number)?;
            if binding.original.load(Ordering::Relaxed) == address {
                return Some(binding.ours);
            }
            at += 1;
        }
    }
}

/// Binds the functions of the numbers below `count`, at most 512. Returns how many were found and replaced.
pub(crate) fn bind(count: usize, of: impl Fn(usize) -> Option<Binding>) -> u64 {
    if sandbox::is_closed() || count > MOST {
        return 0;
    }
    let mut bound = 0;
    deepbind::under_lock(PATIENCE, || {
        let mut originals = Originals { of: &of, index: [0; INDEX], least: usize::MAX, most: 0 };
        bound = find(count, &of, &mut originals);
        if bound > 0 {
            loaded::each(&mut |object| {
                if !is_left_alone(object) {
                    replace_words(object, true, &mut |word| originals.replacement(word));
                }
            });
        }
    });
    bound
}

/// This library, and the files of the C library: the functions of others are not bound.
pub(crate) fn is_source(object: &Object) -> bool {
    object.holds(is_source as *const () as usize)
        || object.holds(address_of_version())
        || [&b"libpthread."[..], b"libdl.", b"librt."].iter().any(|name| file_starts_with(object, name))
}

/// This library, the loader, the C library and the kernel's own.
pub(crate) fn is_left_alone(object: &Object) -> bool {
    object.holds(is_left_alone as *const () as usize)
        || object.holds(address_of_version())
        || file_starts_with(object, b"ld-linux")
        || is_of_kernel(object)
}

fn is_of_kernel(object: &Object) -> bool {
    object.path().starts_with(b"linux-vdso") || object.path().starts_with(b"linux-gate")
}

fn file_starts_with(object: &Object, name: &[u8]) -> bool {
    object.path().rsplit(|&byte| byte == b'/').next().is_some_and(|file| file.starts_with(name))
}

/// Finds the first definition of each name among the sources, and changes its symbol.
fn find(count: usize, of: &dyn Fn(usize) -> Option<Binding>, originals: &mut Originals<'_>) -> u64 {
    let mut is_found = [false; MOST];
    let mut bound = 0;
    loaded::each(&mut |object| {
        if !is_source(object) {
            return;
        }
        let mut changes = [(core::ptr::null::<Symbol>(), 0); MOST];
        let mut changed = 0;
        for (number, is_found) in is_found.iter_mut().enumerate().take(count) {
            let Some(binding) = (if *is_found { None } else { of(number) }) else { continue };
            let mut default: Option<(*const Symbol, usize)> = None;
            object.functions_of_hash(binding.hash, binding.name, &mut |symbol, is_default| {
                *is_found = true;
                if is_default && default.is_none() {
                    // SAFETY: a symbol of a library that is loaded.
                    default = Some((symbol, object.base.wrapping_add(unsafe { (*symbol).value })));
                }
            });
            if let Some((symbol, address)) = default {
                binding.original.store(address, Ordering::Relaxed);
                originals.add(number, address);
                changes[changed] = (symbol, binding.ours.wrapping_sub(object.base));
                changed += 1;
            }
        }
        if deepbind::change_symbols(object, &changes[..changed]) {
            bound += changed as u64;
        }
    });
    bound
}

/// Changes each word of an object that holds the address of a function, if `new` has another one for it; those that serve calls only if
/// `calls`. Read-only pages become writable meanwhile. Returns how many were changed.
pub(crate) fn replace_words(
    object: &Object,
    calls: bool,
    new: &mut dyn FnMut(usize) -> Option<usize>,
) -> u64 {
    let read_only = object.read_only();
    let protect = |access| {
        // SAFETY: pages of a library that stays loaded, as `loaded::each` says; the loader left them readable and no more.
        unsafe { mprotect(read_only.start as *mut u8, read_only.len(), access).is_ok() }
    };
    let (mut is_open, mut changed) = (false, 0);
    object.words(&mut |word, is_of_call| {
        if is_of_call && !calls {
            return;
        }
        let Some(value) = new(word.load(Ordering::Relaxed)) else { return };
        if read_only.contains(&(core::ptr::from_ref(word) as usize)) && !is_open {
            is_open = protect(PROT_READ | PROT_WRITE);
            if !is_open {
                return;
            }
        }
        word.store(value, Ordering::Release);
        changed += 1;
    });
    if is_open {
        // If it fails the pages stay writable, which does no harm.
        let _ = protect(PROT_READ);
    }
    changed
}
