//! The calls of `underbar/fetch.h`.
//!
//! Invariant: each call does what the call of the same name in `underbar_fetch` does, and keeps its error for
//! `underbar_fetch_message`.
//! Not here: the actions (`underbar_fetch`), and the words of the contract (the header).

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};
use std::ptr::null_mut;

use underbar_fetch::program_headers::{self, Visitor};
use underbar_fetch::table::{self, Library, Loaded, Options};
use underbar_fetch::{Error, Form, REASONS, link};

thread_local! {
    static MESSAGE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// 0, or the error's number; the error is kept for its message.
fn told(done: Result<(), Error>) -> c_int {
    match done {
        Ok(()) => 0,
        Err(error) => {
            // A thread that ends has no message any more.
            let _ = MESSAGE.try_with(|message| {
                if let Ok(mut message) = message.try_borrow_mut() {
                    *message = error.to_string();
                }
            });
            error.number() as c_int
        }
    }
}

/// A list of libraries.
///
/// # Safety
/// `count` numbers, or null if there are none.
unsafe fn list(libraries: *const u32, count: usize) -> Vec<Library> {
    if count == 0 {
        return Vec::new();
    }
    // SAFETY: the caller's promise.
    let numbers = unsafe { std::slice::from_raw_parts(libraries, count) };
    numbers.iter().map(|number| Library::from_number(*number)).collect()
}

/// # Safety
/// A C string.
unsafe fn text<'a>(name: *const c_char) -> &'a [u8] {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(name) }.to_bytes()
}

/// underbar_library_open.
///
/// # Safety
/// The pointers match the header's description. This applies to all calls; and programs do what their authors wrote.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn underbar_library_open(
    path: *const c_char,
    freeze: c_int,
    library: *mut u32,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { told(table::open(CStr::from_ptr(path), freeze != 0).map(|opened| *library = opened.number())) }
}

/// underbar_library_refresh.
#[unsafe(no_mangle)]
pub extern "C" fn underbar_library_refresh(library: u32) -> c_int {
    told(table::refresh(Library::from_number(library)))
}

/// underbar_library_doubtful.
#[unsafe(no_mangle)]
pub extern "C" fn underbar_library_doubtful(library: u32) -> c_int {
    table::is_doubtful(Library::from_number(library)).map_or(0, c_int::from)
}

/// underbar_library_close.
#[unsafe(no_mangle)]
pub extern "C" fn underbar_library_close(library: u32) -> c_int {
    told(table::close(Library::from_number(library)))
}

/// underbar_load.
///
/// # Safety
/// As [`underbar_library_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn underbar_load(
    libraries: *const u32,
    count: usize,
    name: *const c_char,
    form: c_int,
    program: *mut u64,
) -> c_int {
    let form = match form {
        0 => Some(Form::Shared),
        1 => Some(Form::Fresh),
        _ => None,
    };
    // SAFETY: the caller's promise.
    unsafe {
        let loaded = table::load(&list(libraries, count), text(name), form);
        told(loaded.map(|loaded| *program = loaded.number()))
    }
}

/// underbar_delete.
///
/// # Safety
/// Nothing of the program is used after its last DELETE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn underbar_delete(program: u64) -> c_int {
    // SAFETY: the caller's promise.
    told(unsafe { table::delete(Loaded::from_number(program)) }.map(|_| ()))
}

/// underbar_entry.
#[unsafe(no_mangle)]
pub extern "C" fn underbar_entry(program: u64) -> *mut c_void {
    let entry = table::entry(Loaded::from_number(program));
    let address = entry.as_ref().map_or(null_mut(), |entry| *entry as *mut c_void);
    told(entry.map(|_| ()));
    address
}

/// underbar_symbol.
///
/// # Safety
/// As [`underbar_library_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn underbar_symbol(program: u64, name: *const c_char) -> *mut c_void {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) };
    match table::symbol(Loaded::from_number(program), name) {
        Ok(Some(address)) => address as *mut c_void,
        Ok(None) => {
            told(Err(Error::NoEntry));
            null_mut()
        }
        Err(error) => {
            told(Err(error));
            null_mut()
        }
    }
}

/// underbar_call. Exceptions of the program pass through.
///
/// # Safety
/// The entry takes one pointer, returns a number, and may use the parameter as it does.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn underbar_call(
    program: u64,
    parameter: *mut c_void,
    result: *mut c_long,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        told(link::call(Loaded::from_number(program), parameter).map(|value| {
            if let Some(result) = result.as_mut() {
                *result = value as c_long;
            }
        }))
    }
}

/// underbar_link. The thread may end in it, which unwinds.
///
/// # Safety
/// As [`underbar_library_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn underbar_link(
    libraries: *const u32,
    count: usize,
    name: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
    status: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let ended = link::link(&list(libraries, count), text(name), arguments, environment);
        told(ended.map(|ended| {
            if let Some(status) = status.as_mut() {
                *status = ended;
            }
        }))
    }
}

/// underbar_xctl.
///
/// # Safety
/// As [`underbar_library_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn underbar_xctl(
    libraries: *const u32,
    count: usize,
    name: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> c_int {
    // Values in this frame would not be dropped, so the list is in an array that has nothing to drop.
    const MOST: usize = table::MOST_LIBRARIES;
    let mut room = [Library::from_number(0); MOST];
    let Some(into) = room.get_mut(..count) else { return told(Err(Error::TablesFull)) };
    for (at, place) in into.iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        *place = Library::from_number(unsafe { *libraries.add(at) });
    }
    // SAFETY: the caller's promise.
    told(Err(unsafe { link::transfer(into, text(name), arguments, environment) }))
}

/// An entry of BLDL.
#[repr(C)]
pub struct Entry {
    name: *const c_char,
    found: c_int,
    library: u32,
    length: u64,
    reentrant: c_int,
}

/// underbar_bldl: the number of the first error, if there was one.
///
/// # Safety
/// As [`underbar_library_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn underbar_bldl(
    libraries: *const u32,
    count: usize,
    entries: *mut Entry,
    entry_count: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let libraries = unsafe { list(libraries, count) };
    let mut first = 0;
    for at in 0..entry_count {
        // SAFETY: the caller's promise.
        let entry = unsafe { &mut *entries.add(at) };
        // SAFETY: the same.
        let found = table::find(&libraries, unsafe { text(entry.name) });
        entry.found = told(found.map(|(library, member)| {
            let place = libraries.iter().position(|one| *one == library);
            entry.library = place.unwrap_or_default() as u32;
            entry.length = member.length;
            entry.reentrant = c_int::from(member.is_reentrant);
        }));
        first = if first == 0 { entry.found } else { first };
    }
    first
}

/// underbar_fetch_options.
#[unsafe(no_mangle)]
pub extern "C" fn underbar_fetch_options(pool_bytes: u64, keep_after: u64, lookaside: c_int) {
    table::set_options(Options { pool_bytes, keep_after, lookaside: lookaside != 0 });
}

/// underbar_fetch_purge.
#[unsafe(no_mangle)]
pub extern "C" fn underbar_fetch_purge() {
    table::purge();
}

/// underbar_fetch_resident.
///
/// # Safety
/// As [`underbar_library_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn underbar_fetch_resident(
    libraries: *const u32,
    count: usize,
    name: *const c_char,
    resident: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { told(table::set_resident(&list(libraries, count), text(name), resident != 0)) }
}

/// underbar_fetch_statistics.
///
/// # Safety
/// `each` is a function that takes a text, a number, and the value of `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn underbar_fetch_statistics(
    each: unsafe extern "C" fn(*const c_char, u64, *mut c_void),
    data: *mut c_void,
) {
    let all = table::statistics();
    let tell = |key: &str, value| {
        // Keys have no zero bytes.
        let key = CString::new(key).unwrap_or_default();
        // SAFETY: the caller's promise.
        unsafe { each(key.as_ptr(), value, data) };
    };
    all.each(|key, value, _| tell(key, value));
    for ((_, key, _), count) in REASONS.iter().zip(all.fallbacks) {
        tell(&format!("fallback-{key}"), count);
    }
}

/// underbar_fetch_message.
///
/// # Safety
/// `text` has room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn underbar_fetch_message(text: *mut c_char, size: usize) -> usize {
    let message = MESSAGE.try_with(|message| message.borrow().clone()).unwrap_or_default();
    if size > 0 {
        let length = message.len().min(size - 1);
        // SAFETY: the caller's promise.
        unsafe {
            std::ptr::copy_nonoverlapping(message.as_ptr(), text.cast(), length);
            text.add(length).write(0);
        }
    }
    message.len()
}

/// underbar_dl_iterate_phdr.
///
/// # Safety
/// As `dl_iterate_phdr`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn underbar_dl_iterate_phdr(visitor: Visitor, data: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { program_headers::iterate(visitor, data) }
}
