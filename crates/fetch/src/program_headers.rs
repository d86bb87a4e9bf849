//! Our programs in the output of `dl_iterate_phdr`.
//!
//! ```text
//! iterate ──> the C library's programs, each with our count added ──> then ours, in the order in which they were loaded
//! ```
//!
//! Unwinders, profilers and sanitizers find programs by `dl_iterate_phdr`. A program that we loaded is bound to [`iterate`]
//! itself. For the rest of the process, the program that contains this library has to export the symbol, which then hides the
//! C library's from all others (`underbar_c` does it; Rust programs use a macro of the crate `underbar`). The unwinder of
//! libgcc needs neither: it asks by `_dl_find_object`, or is told (`image::frames`).
//!
//! Invariant: a program is reported from before its constructors run until after its destructors have run.
//! Not here: changes to the list, which happen under the lock of `image`.

use core::ffi::{c_char, c_int, c_void};
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::reentrant::Again;
use crate::system::{self, ProgramHeader};
pub use crate::system::{ProgramInfo, Visitor};

/// A visible program. The entry is part of the program's own structure, and is linked while the program is loaded.
pub struct Entry {
    next: *mut Entry,
    before: *mut *mut Entry,
    /// The data that is reported.
    pub bias: usize,
    /// A C string.
    pub name: *const c_char,
    /// Its program headers, in our memory or its own.
    pub headers: *const ProgramHeader,
    /// Their number.
    pub count: u16,
    /// Its first address, and the address after its last.
    pub range: (usize, usize),
}

struct List {
    first: *mut Entry,
    last: *mut *mut Entry,
}

// SAFETY: entries are linked and read under the lock.
unsafe impl Send for List {}

static LIST: Again<List> = Again::new(List { first: null_mut(), last: null_mut() });
/// Programs that were added and removed so far, for callers that cache the list. Relaxed: they are reported with the list,
/// under its lock.
static ADDS: AtomicU64 = AtomicU64::new(0);
static SUBS: AtomicU64 = AtomicU64::new(0);
/// The C library's own `dl_iterate_phdr`; found once, every thread finds the same.
static SYSTEM: AtomicUsize = AtomicUsize::new(0);

impl Entry {
    /// Not linked. `headers` and `name` stay readable as long as the entry is shown.
    #[must_use]
    pub fn new(
        bias: usize,
        name: *const c_char,
        headers: *const ProgramHeader,
        count: u16,
        range: (usize, usize),
    ) -> Entry {
        Entry { next: null_mut(), before: null_mut(), bias, name, headers, count, range }
    }
}

/// Makes a program visible.
///
/// # Safety
/// The entry does not move, and the memory that it points to stays readable, until [`hide`].
pub unsafe fn show(entry: *mut Entry) {
    // SAFETY: under the lock; entries in the list are valid until they are hidden.
    LIST.with(|list| unsafe {
        if (*list).last.is_null() {
            (*list).last = &raw mut (*list).first;
        }
        (*entry).next = null_mut();
        (*entry).before = (*list).last;
        *(*list).last = entry;
        (*list).last = &raw mut (*entry).next;
    });
    ADDS.fetch_add(1, Ordering::Relaxed);
}

/// Hides a program again. After this no visitor uses it, except in this thread.
///
/// # Safety
/// The entry was shown and has not been hidden since.
pub unsafe fn hide(entry: *mut Entry) {
    // SAFETY: under the lock; the neighbours are in the list.
    LIST.with(|list| unsafe {
        let Entry { next, before, .. } = *entry;
        *before = next;
        match next.as_mut() {
            Some(next) => next.before = before,
            None => (*list).last = before,
        }
    });
    SUBS.fetch_add(1, Ordering::Relaxed);
}

/// The program that contains an address.
#[must_use]
pub fn find(address: usize) -> Option<NonNull<Entry>> {
    let mut found = None;
    each(|entry| {
        // SAFETY: an entry of the list, under its lock.
        let (low, high) = unsafe { (*entry.as_ptr()).range };
        if (low..high).contains(&address) {
            found = Some(entry);
        }
    });
    found
}

/// Visits each program, under the lock; `look` changes nothing.
pub fn each(mut look: impl FnMut(NonNull<Entry>)) {
    // SAFETY: under the lock, entries in the list are valid.
    LIST.with(|list| unsafe {
        let mut entry = (*list).first;
        while let Some(one) = NonNull::new(entry) {
            look(one);
            entry = (*entry).next;
        }
    });
}

/// The lock, for fork.
pub(crate) fn hold() {
    LIST.hold();
}

/// # Safety
/// After [`hold`], in the same thread or its copy.
pub(crate) unsafe fn release() {
    // SAFETY: the caller's promise.
    unsafe { LIST.release() }
}

/// `dl_iterate_phdr` for the whole process: the C library's programs, then ours.
///
/// # Safety
/// The visitor is a function with the signature for `dl_iterate_phdr`; `data` is its argument.
pub unsafe extern "C" fn iterate(visitor: Visitor, data: *mut c_void) -> c_int {
    struct Through {
        visitor: Visitor,
        data: *mut c_void,
    }
    unsafe extern "C" fn with_our_counts(info: *mut ProgramInfo, size: usize, through: *mut c_void) -> c_int {
        // SAFETY: the loader's information is its own copy for this call; `through` is ours.
        unsafe {
            (*info).adds += ADDS.load(Ordering::Relaxed);
            (*info).subs += SUBS.load(Ordering::Relaxed);
            let through = &*through.cast::<Through>();
            (through.visitor)(info, size, through.data)
        }
    }
    let mut through = Through { visitor, data };
    // SAFETY: a visitor of this kind, with what it expects.
    let result = unsafe { system_programs(with_our_counts, (&raw mut through).cast()) };
    if result != 0 {
        return result;
    }
    // A visitor may load and give back programs itself: the lock is reentrant.
    // SAFETY: under the lock only the visitor changes the list; the next entry is read before the visit.
    LIST.with(|list| unsafe {
        let mut entry = (*list).first;
        while let Some(one) = entry.as_mut() {
            entry = one.next;
            let result = visit(one, visitor, data);
            if result != 0 {
                return result;
            }
        }
        0
    })
}

unsafe fn visit(entry: &Entry, visitor: Visitor, data: *mut c_void) -> c_int {
    let mut info = ProgramInfo {
        bias: entry.bias,
        name: entry.name,
        headers: entry.headers,
        count: entry.count,
        adds: ADDS.load(Ordering::Relaxed),
        subs: SUBS.load(Ordering::Relaxed),
        // Numbers of thread storage are the C library's; ours are not reported.
        tls_module: 0,
        tls_data: null_mut(),
    };
    // SAFETY: the caller's promise.
    unsafe { visitor(&raw mut info, size_of::<ProgramInfo>(), data) }
}

/// The C library's programs only.
///
/// # Safety
/// As [`iterate`].
pub(crate) unsafe fn system_programs(visitor: Visitor, data: *mut c_void) -> c_int {
    type Iterate = unsafe extern "C" fn(Visitor, *mut c_void) -> c_int;
    let mut address = SYSTEM.load(Ordering::Relaxed);
    if address == 0 {
        // Not by linking: the program that contains us may export the name.
        let Some(found) = system::next_symbol(c"dl_iterate_phdr") else { return 0 };
        SYSTEM.store(found, Ordering::Relaxed);
        address = found;
    }
    // SAFETY: the C library's function of this name, and the caller's promise.
    unsafe { core::mem::transmute::<usize, Iterate>(address)(visitor, data) }
}
