//! The functions of libpq that multi-fetch calls, found in the library that the program has loaded.
//!
//! Invariant: a [`Libpq`] has all functions that it needs, of one library.
//! Not here: what they are called for.

use core::ffi::{c_char, c_int};
use core::mem::transmute_copy;

use crate::loaded;

/// `PGconn` of libpq.
#[repr(C)]
pub struct Connection {
    _opaque: [u8; 0],
}

/// `PGresult` of libpq.
#[repr(C)]
pub struct Rows {
    _opaque: [u8; 0],
}

/// `PGRES_TUPLES_OK`.
pub(super) const TUPLES: c_int = 2;
/// `PQTRANS_INTRANS`: in a transaction, without an error.
pub(super) const IN_TRANSACTION: c_int = 2;
/// `PQTRANS_INERROR`: in a transaction after an error.
pub(super) const IN_ERROR: c_int = 3;
/// `PG_COPYRES_ATTRS`: names and types of columns, without rows.
pub(super) const COLUMNS: c_int = 1;
/// The length of a field that is NULL, for `PQsetvalue`.
pub(super) const NULL: c_int = -1;

macro_rules! functions {
    ($($field:ident: $name:literal, fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions.
        #[derive(Clone, Copy)]
        pub(super) struct Libpq {
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Libpq {
            /// Those of the library whose `PQexec` is at that address. None if it lacks one.
            pub(super) fn of(exec: usize) -> Option<Self> {
                let mut found = None;
                loaded::each_until(&mut |object| {
                    if !object.holds(exec) {
                        return false;
                    }
                    let function = |name: &core::ffi::CStr| {
                        let mut address = 0;
                        object.functions(name, &mut |symbol, is_default| {
                            if is_default {
                                // SAFETY: a symbol of a library that is loaded.
                                address = object.base.wrapping_add(unsafe { (*symbol).value });
                            }
                        });
                        (address != 0).then_some(address)
                    };
                    found = (|| Some(Libpq {
                        // SAFETY: the address of the function of that name, which has this type in each version of libpq.
                        $($field: unsafe { transmute_copy(&function($name)?) },)*
                    }))();
                    true
                });
                found
            }
        }
    };
}

functions! {
    clear: c"PQclear", fn(*mut Rows);
    copy: c"PQcopyResult", fn(*const Rows, c_int) -> *mut Rows;
    set: c"PQsetvalue", fn(*mut Rows, c_int, c_int, *mut c_char, c_int) -> c_int;
    tag: c"PQcmdStatus", fn(*mut Rows) -> *mut c_char;
    rows: c"PQntuples", fn(*const Rows) -> c_int;
    columns: c"PQnfields", fn(*const Rows) -> c_int;
    value: c"PQgetvalue", fn(*const Rows, c_int, c_int) -> *mut c_char;
    length: c"PQgetlength", fn(*const Rows, c_int, c_int) -> c_int;
    is_null: c"PQgetisnull", fn(*const Rows, c_int, c_int) -> c_int;
    status: c"PQresultStatus", fn(*const Rows) -> c_int;
    transaction: c"PQtransactionStatus", fn(*const Connection) -> c_int;
}
