//! Rows of PostgreSQL for C programs.
//!
//! Not here: connections and fetches (`underbar_rows`).

use std::ffi::{c_char, c_int, c_uint};
use std::ptr::null_mut;

use underbar_rows::{Row, Rows};

use super::{keep, text};

/// An open query, and where its row is.
pub struct Open {
    rows: Rows,
    /// Values of the current row: address and length of each, null for NULL.
    values: Vec<(*const u8, usize)>,
}

/// underbar_rows_open.
///
/// # Safety
/// C strings, as the header describes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn underbar_rows_open(
    connection: *const c_char,
    query: *const c_char,
    factor: c_uint,
) -> *mut Open {
    // SAFETY: the caller's promise.
    let (connection, query) = unsafe { (text(connection), text(query)) };
    let opened = connection.and_then(|connection| Ok(Rows::query(connection, query?, factor)?));
    match opened {
        Ok(rows) => Box::into_raw(Box::new(Open { rows, values: Vec::new() })),
        Err(error) => {
            keep(&error);
            null_mut()
        }
    }
}

/// underbar_rows_next.
///
/// # Safety
/// An open query, which no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn underbar_rows_next(open: *mut Open) -> c_int {
    // SAFETY: the caller's promise; underbar_rows_open made the box, and only its close ends it.
    let Open { rows, values } = unsafe { &mut *open };
    values.clear();
    match rows.next() {
        Ok(Some(row)) => {
            values.extend((0..row.columns()).map(|column| place(row, column)));
            1
        }
        Ok(None) => 0,
        Err(error) => {
            keep(&error);
            -1
        }
    }
}

/// A value's bytes, which libpq ends with a NUL; null for NULL.
fn place(row: Row<'_>, column: usize) -> (*const u8, usize) {
    row.get(column).map_or((std::ptr::null(), 0), |value| (value.as_ptr(), value.len()))
}

/// underbar_rows_columns.
///
/// # Safety
/// An open query, which no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn underbar_rows_columns(open: *const Open) -> usize {
    // SAFETY: the caller's promise.
    unsafe { &*open }.values.len()
}

/// underbar_rows_value.
///
/// # Safety
/// An open query, which no other thread uses, and a place for the length, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn underbar_rows_value(
    open: *const Open,
    column: usize,
    length: *mut usize,
) -> *const c_char {
    // SAFETY: the caller's promise.
    let (value, bytes) = unsafe { &*open }.values.get(column).copied().unwrap_or((std::ptr::null(), 0));
    if !length.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *length = bytes };
    }
    value.cast()
}

/// underbar_rows_close.
///
/// # Safety
/// An open query, which is not used any more, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn underbar_rows_close(open: *mut Open) {
    if !open.is_null() {
        // SAFETY: underbar_rows_open made the box, and by the caller's promise this is the only close.
        drop(unsafe { Box::from_raw(open) });
    }
}
