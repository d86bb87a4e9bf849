//! The library that C programs link for record files and rows: `libunderbar_records_c.a`, with `include/underbar/records.h`.
//!
//! Invariant: each call does what its namesake in `underbar_records` or `underbar_rows` does; an error becomes a message of its thread.
//! Not here: the actions (`underbar_records`), and the words of the contract (the header).
#![warn(missing_docs)]

mod rows;

use std::cell::RefCell;
use std::ffi::{CStr, CString, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

use underbar_records::{Format, Input, Output, Plan, Records, To, sort, statement};

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// Keeps the message of an error.
fn keep(error: &dyn std::fmt::Display) {
    // A name may hold a NUL only if it did not come from C.
    let text = CString::new(error.to_string()).unwrap_or_default();
    // A thread that ends has no message any more.
    let _ = MESSAGE.try_with(|message| message.replace(text));
}

/// # Safety
/// A C string, which outlives the path.
unsafe fn path<'a>(name: *const c_char) -> &'a Path {
    // SAFETY: the caller's promise.
    Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()))
}

/// # Safety
/// A C string, which outlives the text.
unsafe fn text<'a>(text: *const c_char) -> Result<&'a str, Failed> {
    // SAFETY: the caller's promise.
    Ok(unsafe { CStr::from_ptr(text) }.to_str()?)
}

type Failed = Box<dyn std::error::Error>;

/// underbar_records_open.
///
/// # Safety
/// C strings, as the header describes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn underbar_records_open(name: *const c_char, form: *const c_char) -> *mut Records {
    // SAFETY: the caller's promise.
    let opened = unsafe { text(form) }
        .and_then(|form| Ok(form.parse::<Format>()?))
        // SAFETY: the caller's promise.
        .and_then(|form| Ok(Records::open(unsafe { path(name) }, form)?));
    match opened {
        Ok(records) => Box::into_raw(Box::new(records)),
        Err(error) => {
            keep(&error);
            null_mut()
        }
    }
}

/// underbar_records_next.
///
/// # Safety
/// An open file, which no other thread uses, and places for the results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn underbar_records_next(
    records: *mut Records,
    data: *mut *const u8,
    length: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise; underbar_records_open made the box, and only its close ends it.
    let next = unsafe { &mut *records }.next();
    let (result, found) = match next {
        Ok(Some(record)) => (1, (record.as_ptr(), record.len())),
        Ok(None) => (0, (null(), 0)),
        Err(error) => {
            keep(&error);
            (-1, (null(), 0))
        }
    };
    // SAFETY: the caller's promise.
    unsafe { (*data, *length) = found };
    result
}

/// underbar_records_close.
///
/// # Safety
/// An open file, which is not used any more, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn underbar_records_close(records: *mut Records) {
    if !records.is_null() {
        // SAFETY: underbar_records_open made the box, and by the caller's promise this is the only close.
        drop(unsafe { Box::from_raw(records) });
    }
}

/// underbar_records_sort.
///
/// # Safety
/// C strings, and as many inputs as `count` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn underbar_records_sort(
    inputs: *const *const c_char,
    count: usize,
    output: *const c_char,
    form: *const c_char,
    statements: *const c_char,
    memory: usize,
    replace: c_int,
) -> c_int {
    let names: Vec<PathBuf> = (0..count)
        // SAFETY: the caller's promise.
        .map(|at| unsafe { path(*inputs.add(at)) }.to_owned())
        .collect();
    // SAFETY: the caller's promise.
    let (output, form, statements) = unsafe { (path(output), text(form), text(statements)) };
    let sorted = form.and_then(|form| sort_files(&names, output, form, statements?, memory, replace != 0));
    match sorted {
        Ok(()) => 0,
        Err(error) => {
            keep(&error);
            -1
        }
    }
}

fn sort_files(
    names: &[PathBuf],
    output: &Path,
    form: &str,
    statements: &str,
    memory: usize,
    replace: bool,
) -> Result<(), Failed> {
    let format: Format = form.parse()?;
    let mut plan = Plan::new(format, statement::read(statements, format)?);
    if memory > 0 {
        plan.memory = memory;
    }
    let inputs = names.iter().map(|name| Input::open(name)).collect::<Result<Vec<Input>, _>>()?;
    let mut file = Output::create(output, names, replace)?;
    let name = output.to_string_lossy();
    sort(inputs, &plan, To { name: &name, bytes: &mut file }, &mut |_| ())?;
    Ok(file.finish()?)
}

/// underbar_records_message.
#[unsafe(no_mangle)]
pub extern "C" fn underbar_records_message() -> *const c_char {
    // The text stays in its place until the next error of this thread.
    MESSAGE.try_with(|message| message.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}
