//! The server behind a connection: texts go to it, and results come back.
//!
//! Not here: which texts.

use core::ffi::{c_char, c_int};

use super::libpq::{Connection, Libpq, Rows};

/// `PQexec` of libpq.
pub(super) type Exec = unsafe extern "C" fn(*mut Connection, *const c_char) -> *mut Rows;

/// A connection of the program, and the functions of its libpq.
pub(super) struct Server {
    pub(super) libpq: Libpq,
    pub(super) exec: Exec,
    /// This thread may use it.
    pub(super) connection: *mut Connection,
}

impl Server {
    /// Sends a text to the server, and waits for its answer. Null if the text is.
    pub(super) fn ask(&self, text: *const c_char) -> *mut Rows {
        if text.is_null() {
            return core::ptr::null_mut();
        }
        // SAFETY: the program's connection, which this thread may use, and a C string.
        unsafe { (self.exec)(self.connection, text) }
    }

    pub(super) fn has(&self, rows: *const Rows, status: c_int) -> bool {
        // SAFETY: a result of libpq, or null, of which it says that it is an error.
        unsafe { (self.libpq.status)(rows) == status }
    }

    pub(super) fn clear(&self, rows: *mut Rows) {
        if !rows.is_null() {
            // SAFETY: a result that nobody else has.
            unsafe { (self.libpq.clear)(rows) }
        }
    }
}
