//! The functions of libpq, found in the system's library when they are needed: nothing is linked with it.
//!
//! Invariant: a [`Libpq`] has all functions, and its library is never unloaded.
//! Not here: what they are called for.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute_copy;
use std::ptr::NonNull;

/// `PGconn` of libpq.
#[repr(C)]
pub struct Connection {
    _opaque: [u8; 0],
}

/// `PGresult` of libpq.
#[repr(C)]
pub struct Result {
    _opaque: [u8; 0],
}

/// `CONNECTION_OK`.
pub const CONNECTED: c_int = 0;
/// `PGRES_COMMAND_OK`: a statement without rows was executed.
pub const DONE: c_int = 1;
/// `PGRES_TUPLES_OK`: one with rows.
pub const TUPLES: c_int = 2;

/// The library, as all current versions are named.
const LIBRARY: &CStr = c"libpq.so.5";
/// `RTLD_NOW`.
const NOW: c_int = 2;

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

macro_rules! functions {
    ($($field:ident: $name:literal, fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions.
        #[derive(Clone, Copy)]
        pub struct Libpq {
            $(pub $field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Libpq {
            /// Those of the system's library. An error says why it cannot be used.
            pub fn load() -> std::result::Result<Self, String> {
                // SAFETY: a C string; the library's constructors are those that any client runs.
                let library = NonNull::new(unsafe { dlopen(LIBRARY.as_ptr(), NOW) }).ok_or_else(failed)?;
                let function = |name: &CStr| {
                    // SAFETY: a library that is never closed, and a C string.
                    NonNull::new(unsafe { dlsym(library.as_ptr(), name.as_ptr()) }).ok_or_else(failed)
                };
                Ok(Libpq {
                    // SAFETY: the address of the function of that name, which has this type in each version of libpq.so.5.
                    $($field: unsafe { transmute_copy(&function($name)?) },)*
                })
            }
        }
    };
}

/// What dlopen or dlsym said.
fn failed() -> String {
    // SAFETY: dlerror gives a C string of this thread, or null.
    let text = NonNull::new(unsafe { dlerror() }.cast_mut());
    // SAFETY: as above; the text stays until the next such call of this thread.
    let text = text.map(|text| unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned());
    text.unwrap_or_else(|| "no reason was given".to_owned())
}

functions! {
    connect: c"PQconnectdb", fn(*const c_char) -> *mut Connection;
    status: c"PQstatus", fn(*const Connection) -> c_int;
    message: c"PQerrorMessage", fn(*const Connection) -> *const c_char;
    finish: c"PQfinish", fn(*mut Connection);
    execute: c"PQexecParams", fn(*mut Connection, *const c_char, c_int, *const u32, *const *const c_char, *const c_int, *const c_int, c_int) -> *mut Result;
    result_status: c"PQresultStatus", fn(*const Result) -> c_int;
    rows: c"PQntuples", fn(*const Result) -> c_int;
    columns: c"PQnfields", fn(*const Result) -> c_int;
    name: c"PQfname", fn(*const Result, c_int) -> *const c_char;
    value: c"PQgetvalue", fn(*const Result, c_int, c_int) -> *const u8;
    length: c"PQgetlength", fn(*const Result, c_int, c_int) -> c_int;
    is_null: c"PQgetisnull", fn(*const Result, c_int, c_int) -> c_int;
    clear: c"PQclear", fn(*mut Result);
}
