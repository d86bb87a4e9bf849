//! Arguments and environments: lists of texts that belong to one program's run.
//!
//! ```text
//! [pointer][pointer]...[null] text\0 text\0 ...      one piece of the arena
//! ```
//!
//! Invariant: the copy points only into itself, so the original may be freed.

use core::ffi::{CStr, c_char};
use core::ptr::NonNull;

use underbar_sys::syscall::Errno;

use crate::arena;

/// A list of texts.
#[derive(Clone, Copy, Debug)]
pub struct Vector {
    start: NonNull<u8>,
    size: usize,
    /// The number of texts.
    pub count: usize,
}

impl Vector {
    /// Copies a list that ends with a null pointer; null: an empty list.
    ///
    /// # Safety
    /// It is null or such a list of C strings.
    ///
    /// # Errors
    /// No storage.
    pub unsafe fn copy(list: *const *const c_char) -> Result<Vector, Errno> {
        let (mut count, mut bytes) = (0, 0);
        // SAFETY: the caller's promise.
        let text = |at: usize| unsafe {
            let one = if list.is_null() { core::ptr::null() } else { *list.add(at) };
            (!one.is_null()).then(|| CStr::from_ptr(one).to_bytes_with_nul())
        };
        while let Some(text) = text(count) {
            (count, bytes) = (count + 1, bytes + text.len());
        }
        let pointers = (count + 1) * size_of::<usize>();
        let size = pointers + bytes;
        let start = arena::get(size)?;
        let mut into = pointers;
        for at in 0..count {
            let Some(text) = text(at) else { break };
            // SAFETY: room for all pointers and texts was got.
            unsafe {
                start.cast::<*const u8>().as_ptr().add(at).write(start.as_ptr().add(into));
                core::ptr::copy_nonoverlapping(text.as_ptr(), start.as_ptr().add(into), text.len());
            }
            into += text.len();
        }
        // SAFETY: the last pointer.
        unsafe { start.cast::<*const u8>().as_ptr().add(count).write(core::ptr::null()) };
        Ok(Vector { start, size, count })
    }

    /// The list.
    #[must_use]
    pub fn list(&self) -> *const *const c_char {
        self.start.as_ptr().cast()
    }

    /// Gives it back.
    ///
    /// # Safety
    /// It is no longer used.
    pub unsafe fn free(self) {
        // SAFETY: got with this size.
        unsafe { arena::put(self.start, self.size) }
    }
}
