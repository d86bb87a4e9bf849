//! Blocks of another C library's heap: a namespace of `dlmopen` has its own.
//!
//! Invariant: without such a namespace a foreign pointer is never followed, and its size is unknown. With one it is most likely a
//! block of glibc's, and glibc's own function reads its size; a plain program would do the same.
//! Not here: freeing. A foreign block is left alone, since its namespace is unknown.

use crate::deepbind;
use crate::next::Next;

static USABLE: Next = Next::new(c"malloc_usable_size");

/// Bytes of a block of another heap; 0 if the size is unknown.
///
/// # Safety
/// As malloc_usable_size of glibc.
pub(super) unsafe fn usable(address: *mut u8) -> usize {
    if address.is_null() || !deepbind::has_namespaces() {
        return 0;
    }
    // SAFETY: the C library's function of that name, whose signature this is; the caller's promise is passed on.
    USABLE.get().map_or(0, |function| unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(*mut u8) -> usize>(function)(address)
    })
}
