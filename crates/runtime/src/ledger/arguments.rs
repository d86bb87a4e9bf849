//! The program's arguments, as in its slot: each followed by a zero byte.
//!
//! While the program starts they are in the list that its `main` will get. Later the program may have changed that list,
//! and the kernel is asked, which takes three calls.
//!
//! Invariant: the list is known only as long as a caller guarantees it.

use core::ffi::{CStr, c_char};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::own_reads;
use underbar_sys::syscall;

/// The list; null if it is not known. Written and read by the first thread while there is no other.
static LIST: AtomicPtr<*const c_char> = AtomicPtr::new(null_mut());

/// Calls `then` while the list is known.
///
/// # Safety
/// `list` is null, or a list of C strings that ends with null, and stays while this lasts.
pub unsafe fn known(list: *const *const c_char, then: impl FnOnce()) {
    LIST.store(list.cast_mut(), Ordering::Relaxed);
    then();
    LIST.store(null_mut(), Ordering::Relaxed);
}

/// Copies them into `text`, as far as they fit.
pub fn into(text: &mut [u8]) -> &[u8] {
    let mut list = LIST.load(Ordering::Relaxed);
    let mut filled = 0;
    if list.is_null() {
        if let Ok(fd) = syscall::open(c"/proc/self/cmdline", syscall::O_RDONLY | syscall::O_CLOEXEC, 0) {
            filled = own_reads::read(fd, text).unwrap_or(0);
            let _ = syscall::close(fd);
        }
        return text.get(..filled).unwrap_or_default();
    }
    // SAFETY: the promise made to `known`: the list ends with null, and its strings are C strings.
    while let Some(argument) = unsafe { (*list).as_ref().map(|first| CStr::from_ptr(first)) } {
        let bytes = argument.to_bytes_with_nul();
        for (to, from) in text.iter_mut().skip(filled).zip(bytes) {
            *to = *from;
        }
        filled = (filled + bytes.len()).min(text.len());
        list = list.wrapping_add(1);
    }
    text.get(..filled).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null;

    #[test]
    fn they_come_from_the_list_while_it_is_known_and_from_the_kernel_later() {
        let list = [c"ls".as_ptr(), c"".as_ptr(), c"-l".as_ptr(), null()];
        let mut all = [0; 16];
        // SAFETY: a list of C strings that ends with null, and stays.
        unsafe { known(list.as_ptr(), || assert_eq!(into(&mut all), b"ls\0\0-l\0")) };
        for room in 0..8 {
            let mut text = std::vec![0; room];
            // SAFETY: as above.
            unsafe { known(list.as_ptr(), || assert_eq!(into(&mut text), &b"ls\0\0-l\0"[..room.min(7)])) };
        }
        // SAFETY: a list that is empty.
        unsafe { known([null()].as_ptr(), || assert_eq!(into(&mut all), b"")) };
        let own = std::fs::read("/proc/self/cmdline").expect("read");
        let mut text = [0; 64];
        assert_eq!(into(&mut text), &own[..own.len().min(64)]);
    }
}
