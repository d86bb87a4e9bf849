//! The rule of the caller: what the C library, the loader and libraries like them get for themselves stays with the process.
//!
//! A thread that has entered a heap gets its storage there, and the heap ends with all that is in it. But `setlocale`, `dlopen` or a
//! first access to thread-local storage also get storage, under the same names, and keep it for the process. So these libraries'
//! calls lead elsewhere, to functions that always serve from the thread's home:
//!
//! ```text
//! program ────────── its word for malloc ──> malloc ─────────────> the heap that the thread has entered
//! libc.so.6 ──────── its word for malloc ──> at_home::malloc ───> the thread's home
//! ld-linux ───────── hidden pointers ──────> from_loader, and so on
//! ```
//!
//! The loader has written the words (`references` of [`crate::loaded`]): those of libraries that are bound at once are read-only
//! again, and become writable meanwhile; those that are bound at the first call are written before it. The hidden pointers are
//! words in the loader's read-only data that hold the address of a function here.
//!
//! Libraries that come later are bound before their constructors run: the loader itself requests storage between relocating and
//! starting them (glibc 2.35 or later; before, at its next request).
//!
//! Invariant: a word that is changed held, or would get, the address of a function of the same name in this library, and then holds
//! that of the function in `heap::at_home`. Another allocator's words are left alone.
//! Cost: none until the first [`bind`]. Then once about 0.2 ms, and a look at the number of loaded libraries for each request of the
//! loader.
//! Limits: storage that the C library gets for its caller (`strdup`, `getline`) also stays with the process, as it comes from the
//! same words. A thread that binds a word at its first call, in the middle of the first `bind`, may undo that word's change; the
//! next calls of `bind` make it again.
//! Not here: storage for a program that is LINKed, whose words our own loader writes (`heap::enclave`).

use core::ffi::CStr;
use core::ptr::null;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use underbar_sys::syscall::{PROT_READ, PROT_WRITE, map_anonymous, mprotect};

use crate::deepbind::{self, PATIENCE};
use crate::heap::{at_home, new};
use crate::loaded::{self, Object};
use crate::orders::Orders;
use crate::sandbox;

/// Files, up to `.so`, whose storage stays with the process; `*` is for any end, and `/` for all files of a folder: those of character
/// sets are parts of the C library. `ld-linux-x86-64` also has words that are hidden.
const FILES: [&[u8]; 15] = [
    b"libc",
    LOADER,
    b"libpthread",
    b"libdl",
    b"libm",
    b"librt",
    b"libutil",
    b"libanl",
    b"libresolv",
    b"libnss_*",
    b"libnsl",
    b"gconv/",
    b"libgcc_*",
    b"libstdc++",
    b"libc++*",
];
const LOADER: &[u8] = b"ld-linux-x86-64";

/// More such files: a text that stays, with commas or blanks between names. Written by [`add_files`] before the first `bind`, read by
/// the thread that binds; Release and Acquire, as the length comes before the address.
static MORE: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
static MORE_BYTES: AtomicUsize = AtomicUsize::new(0);

/// How many times all libraries were gone through because of [`bind`]. Relaxed: a thread that sees less goes through them again.
static TIMES: AtomicU32 = AtomicU32::new(0);
/// So often: a word that another thread was binding meanwhile is found by the next time.
const ENOUGH: u32 = 3;

/// The number of libraries ever loaded when all of them were bound; 0: never. Written under the lock of `deepbind`; relaxed, since it
/// tells that there is work, and the work is under the lock.
static SEEN: AtomicU64 = AtomicU64::new(0);

/// Work for libraries that are loaded, of a resource that changes words for reasons of its own: a `fn()`, or null. Written once at the
/// start by [`also`], read under the lock of `deepbind`.
static ALSO: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// The bases of libraries that are bound. Under the lock of `deepbind`.
static DONE: [AtomicUsize; 64] = [const { AtomicUsize::new(0) }; 64];
/// How many libraries were unloaded when this was true. Under the same lock.
static UNLOADED: AtomicU64 = AtomicU64::new(0);

/// Names with the functions that serve from home.
const COUNT: usize = 23;

macro_rules! functions {
    ($($name:literal => $function:path;)*) => { [$(($name, $function as *const () as usize),)*] };
}

/// In each process they are at other addresses, so the table is made when it is needed.
#[inline(never)]
fn functions() -> [(&'static CStr, usize); COUNT] {
    functions! {
        c"malloc" => at_home::malloc;
        c"calloc" => at_home::calloc;
        c"realloc" => at_home::realloc;
        c"reallocarray" => at_home::reallocarray;
        c"memalign" => at_home::memalign;
        c"aligned_alloc" => at_home::memalign;
        c"posix_memalign" => at_home::posix_memalign;
        c"valloc" => at_home::valloc;
        c"pvalloc" => at_home::pvalloc;
        c"__libc_malloc" => at_home::malloc;
        c"__libc_calloc" => at_home::calloc;
        c"__libc_realloc" => at_home::realloc;
        c"__libc_memalign" => at_home::memalign;
        c"__libc_valloc" => at_home::valloc;
        c"__libc_pvalloc" => at_home::pvalloc;
        c"_Znwm" => new::single_at_home;
        c"_Znam" => new::array_at_home;
        c"_ZnwmRKSt9nothrow_t" => new::single_nothrow_at_home;
        c"_ZnamRKSt9nothrow_t" => new::array_nothrow_at_home;
        c"_ZnwmSt11align_val_t" => new::single_aligned_at_home;
        c"_ZnamSt11align_val_t" => new::array_aligned_at_home;
        c"_ZnwmSt11align_val_tRKSt9nothrow_t" => new::single_aligned_nothrow_at_home;
        c"_ZnamSt11align_val_tRKSt9nothrow_t" => new::array_aligned_nothrow_at_home;
    }
}

/// Obeys `ECB(OUTSIDE(file,file))`.
pub(crate) fn configure(orders: &Orders<'_>) {
    let names = orders.settings.ecb().outside;
    if names.is_empty() {
        return;
    }
    let Ok(place) = map_anonymous(names.len()) else { return };
    // SAFETY: new pages for so many bytes, which are never unmapped.
    let kept = unsafe { core::slice::from_raw_parts_mut(place.cast::<u8>(), names.len()) };
    kept.copy_from_slice(names);
    add_files(kept);
}

/// Names more files whose storage stays with the process, as `libcrypto,libfoo*`. Before the first [`bind`].
pub fn add_files(names: &'static [u8]) {
    MORE_BYTES.store(names.len(), Ordering::Relaxed);
    MORE.store(names.as_ptr().cast_mut(), Ordering::Release);
}

/// From now on, what these libraries get for themselves is in the home of the thread, and so are those that are loaded later. Call it
/// before a thread enters a heap that will end; each time does no harm. False if that is impossible: their storage may be in any heap.
pub fn bind() -> bool {
    if TIMES.load(Ordering::Relaxed) < ENOUGH {
        bind_again();
    }
    SEEN.load(Ordering::Relaxed) != 0
}

/// Does `work` now and whenever libraries have come, before their constructors run where the C library allows it. Under the lock of
/// `deepbind`. Once, at the start.
pub(crate) fn also(work: fn()) {
    ALSO.store(work as *mut (), Ordering::Release);
    bind_again();
}

/// Changes words of a library to what `choose` gives for them. False if something is left to do. Under the lock of `deepbind`.
pub(crate) fn change(object: &Object, choose: &mut dyn FnMut(&loaded::Reference) -> Option<usize>) -> bool {
    let mut changes = Changes::new();
    object.references(&mut |reference| {
        if let Some(value) = choose(reference) {
            changes.add(reference.word, value);
        }
    });
    write(object, &changes) && !changes.is_undone
}

#[cold]
fn bind_again() {
    if sandbox::is_closed() {
        return;
    }
    deepbind::under_lock(PATIENCE, || {
        DONE.iter().for_each(|base| base.store(0, Ordering::Relaxed));
        bind_all();
        TIMES.fetch_add(1, Ordering::Relaxed);
    });
}

/// The loader requests storage: libraries may have come.
unsafe extern "C" fn from_loader(size: usize) -> *mut u8 {
    look();
    // SAFETY: the loader's request, as malloc.
    unsafe { at_home::malloc(size) }
}

/// Binds libraries that have come, if [`bind`] was called. Waits for nothing: the calling thread may hold locks of the loader.
///
/// The loader takes no lock for which a thread in `dl_iterate_phdr` may wait when it calls malloc, except for that of `dlopen`, which
/// comes first there, too.
pub(crate) fn look() {
    let seen = SEEN.load(Ordering::Relaxed);
    if seen != 0 && loaded::counts()[0] != seen && !sandbox::is_closed() {
        deepbind::under_lock(0, bind_all);
    }
}

/// A word to be changed.
#[derive(Clone, Copy)]
struct Change {
    word: *const AtomicUsize,
    value: usize,
}

/// The words of one library that are to be changed. Not more than this at a time.
struct Changes {
    all: [Change; 64],
    count: usize,
    /// Some word was not written by the loader yet, or could not be changed.
    is_undone: bool,
}

impl Changes {
    const fn new() -> Self {
        Changes { all: [Change { word: null(), value: 0 }; 64], count: 0, is_undone: false }
    }

    fn add(&mut self, word: &AtomicUsize, value: usize) {
        match self.all.get_mut(self.count) {
            Some(change) => {
                *change = Change { word, value };
                self.count += 1;
            }
            None => self.is_undone = true,
        }
    }
}

/// A function of this library that the program uses, and the one that takes its place.
#[derive(Clone, Copy)]
struct Pair {
    name: &'static CStr,
    ours: usize,
    /// The place in the program that all libraries have instead of it; 0: none.
    stand_in: usize,
    at_home: usize,
}

impl Pair {
    /// Whether a word with this value holds its address.
    fn is_at(&self, word: usize) -> bool {
        word != 0 && (word == self.ours || word == self.stand_in) && self.ours != 0
    }
}

/// Under the lock of `deepbind`.
fn bind_all() {
    let [loads, unloads] = loaded::counts();
    let also = ALSO.load(Ordering::Acquire);
    if !also.is_null() {
        // SAFETY: a `fn()`, as `also` stored it.
        unsafe { core::mem::transmute::<*mut (), fn()>(also)() }
    }
    if UNLOADED.swap(unloads, Ordering::Relaxed) != unloads {
        DONE.iter().for_each(|base| base.store(0, Ordering::Relaxed));
    }
    let Some(pairs) = pairs() else { return };
    let mut is_undone = false;
    loaded::each(&mut |object| {
        let is_done = || DONE.iter().any(|base| base.load(Ordering::Relaxed) == object.base);
        if !is_named(object.path()) || is_done() {
            return;
        }
        if bind_one(object, &pairs) {
            if let Some(free) = DONE.iter().find(|base| base.load(Ordering::Relaxed) == 0) {
                free.store(object.base, Ordering::Relaxed);
            }
        } else {
            is_undone = true;
        }
    });
    // At least 1, so that later libraries are looked at, too.
    let all = if is_undone { 1 } else { loads };
    SEEN.store(all, Ordering::Relaxed);
}

/// The functions of this library that are the first of their names in the loader's order. None if malloc is not: then another
/// allocator serves the program.
fn pairs() -> Option<[Pair; COUNT]> {
    let here = bind as *const () as usize;
    let mut pairs = functions().map(|(name, at_home)| Pair { name, ours: 0, stand_in: 0, at_home });
    let mut is_met = [false; COUNT];
    // The functions of such a program lead here.
    let program_has_runtime = loaded::program_has_runtime();
    loaded::each_until(&mut |object| {
        let is_here = object.holds(here) || program_has_runtime && object.path().is_empty();
        for (pair, is_met) in pairs.iter_mut().zip(&mut is_met) {
            if pair.stand_in == 0 && !*is_met {
                pair.stand_in = object.stand_in(pair.name);
            }
            object.functions(pair.name, &mut |symbol, _| {
                if is_here && !*is_met {
                    // SAFETY: a symbol of this library.
                    pair.ours = object.base.wrapping_add(unsafe { (*symbol).value });
                }
                *is_met = true;
            });
        }
        is_here
    });
    (pairs[0].ours != 0).then_some(pairs)
}

/// Whether the storage of the library in that file stays with the process.
fn is_named(path: &[u8]) -> bool {
    let bytes = MORE_BYTES.load(Ordering::Relaxed);
    let more = MORE.load(Ordering::Acquire);
    // SAFETY: null, or a text of that length which stays, as `add_files` got it.
    let more = if more.is_null() { &[] } else { unsafe { core::slice::from_raw_parts(more, bytes) } };
    let more = more.split(|byte| matches!(byte, b',' | b' ')).filter(|name| !name.is_empty());
    FILES.into_iter().chain(more).any(|name| is_file(path, name))
}

/// Whether a file, or its folder, has that name, up to `.so` or a version: `libc.so.6`, `libc-2.31.so`.
fn is_file(path: &[u8], name: &[u8]) -> bool {
    let mut parts = path.rsplit(|&byte| byte == b'/');
    let file = parts.next().unwrap_or_default();
    if let Some(folder) = name.strip_suffix(b"/") {
        return parts.next() == Some(folder);
    }
    if let Some(start) = name.strip_suffix(b"*") {
        return file.starts_with(start);
    }
    let Some(rest) = file.strip_prefix(name) else { return false };
    let is_version = |rest: &[u8]| rest.starts_with(b"-") && rest.get(1).is_some_and(u8::is_ascii_digit);
    let is_so = rest.starts_with(b".so") || (name.ends_with(b".so") && rest.starts_with(b"."));
    rest.is_empty() || is_so || is_version(rest)
}

/// Binds one library. False if something of it is left to do.
fn bind_one(object: &Object, pairs: &[Pair; COUNT]) -> bool {
    let mut changes = Changes::new();
    let is_loader = is_file(object.path(), LOADER);
    let for_loader = |pair: &Pair| {
        if is_loader && pair.name == c"malloc" { from_loader as *const () as usize } else { pair.at_home }
    };
    object.references(&mut |reference| {
        let word = reference.word.load(Ordering::Relaxed);
        if let Some(pair) = pairs.iter().find(|pair| pair.is_at(word)) {
            return changes.add(reference.word, for_loader(pair));
        }
        let is_relocated = word >= object.size();
        let is_left_for_later = reference.is_of_call && object.holds(word) && word != reference.own;
        if (!is_relocated || is_left_for_later)
            && let Some(pair) = pairs.iter().find(|pair| pair.ours != 0 && pair.name == reference.name)
        {
            if is_relocated {
                changes.add(reference.word, for_loader(pair))
            } else {
                changes.is_undone = true
            }
        }
    });
    if is_loader {
        for place in object.read_only().step_by(size_of::<usize>()) {
            // SAFETY: pages of the loader that it has made read-only, and that are never unmapped.
            let word = unsafe { AtomicUsize::from_ptr(place as *mut usize) };
            let value = word.load(Ordering::Relaxed);
            if let Some(pair) = pairs.iter().find(|pair| pair.is_at(value)) {
                changes.add(word, for_loader(pair));
            }
        }
    }
    write(object, &changes) && !changes.is_undone
}

/// Writes the words, for which the read-only pages become writable meanwhile.
fn write(object: &Object, changes: &Changes) -> bool {
    let read_only = object.read_only();
    let changes = &changes.all[..changes.count];
    let is_protected = changes.iter().any(|change| read_only.contains(&(change.word as usize)));
    let protect = |access| {
        // SAFETY: pages of a library that stays loaded, as `loaded::each` says; the loader left them readable and no more.
        unsafe { mprotect(read_only.start as *mut u8, read_only.len(), access).is_ok() }
    };
    if is_protected && !protect(PROT_READ | PROT_WRITE) {
        return false;
    }
    for change in changes {
        // SAFETY: a word of the library that its own code reads as a whole, to call what it holds: at any moment a function of
        // that meaning.
        unsafe { (*change.word).store(change.value, Ordering::Release) };
    }
    if is_protected {
        // If it fails the pages stay writable, which does no harm.
        let _ = protect(PROT_READ);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_without_their_versions() {
        for (file, name, is) in [
            (b"libc.so.6".as_slice(), b"libc".as_slice(), true),
            (b"libc-2.31.so", b"libc", true),
            (b"libc++.so.1", b"libc", false),
            (b"libcrypt.so.1", b"libc", false),
            (b"libc-client.so.2007e", b"libc", false),
            (b"libssl.so.3", b"libssl.so.3", true),
            (b"libssl.so.3", b"libssl.so", true),
            (b"libssl.sox", b"libssl.so", false),
            (b"ld-linux-x86-64.so.2", LOADER, true),
            (b"libnss_files.so.2", b"libnss_*", true),
            (b"libnss3.so", b"libnss_*", false),
            (b"/usr/lib/libc.so.6", b"libc", true),
            (b"/usr/lib/gconv/UTF-16.so", b"gconv/", true),
            (b"/usr/lib/gconv.so", b"gconv/", false),
            (b"", b"libc", false),
        ] {
            assert_eq!(is_file(file, name), is, "{}", file.escape_ascii());
        }
        assert!(is_named(b"libstdc++.so.6") && is_named(b"libgcc_s.so.1") && !is_named(b"libcrypto.so.3"));
        add_files(b"libcrypto, libfoo*");
        assert!(is_named(b"libcrypto.so.3") && is_named(b"libfoobar.so") && !is_named(b"libssl.so.3"));
    }

    /// In a test this library has no C names, so that another allocator serves.
    #[test]
    fn without_the_c_names_nothing_is_bound() {
        assert!(!bind());
        assert_eq!(SEEN.load(Ordering::Relaxed), 0);
    }
}
