//! The program's arguments, as in its slot: each followed by a zero byte.
//!
//! While the program starts they are in the list that its `main` will get. Later the program may have changed that list. The kernel shows
//! the bytes at which it once put the arguments, whatever is there now; so do we (a child by fork). Only if a program made its
//! arguments longer, into its environment, the kernel is asked: it makes its files of a process when the first of them is opened, which
//! takes as long as a third of a fork.
//!
//! Invariant: the list is known only as long as a caller guarantees it.

use core::ffi::{CStr, c_char};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::own_reads;
use underbar_sys::syscall;

/// The list; null if it is not known. Written and read by the first thread while there is no other.
static LIST: AtomicPtr<*const c_char> = AtomicPtr::new(null_mut());

/// Where the kernel put them, one behind the other, and how many bytes they are, zeros included; 0: not known. As above.
static FIRST: AtomicPtr<c_char> = AtomicPtr::new(null_mut());
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Calls `then` while the list is known.
///
/// # Safety
/// `list` is null, or a list of C strings that ends with null, as the kernel made it: it stays while this lasts, and the memory of the
/// strings as long as the process.
pub unsafe fn known(list: *const *const c_char, then: impl FnOnce()) {
    if !list.is_null() {
        // SAFETY: the caller's promise.
        unsafe { remember(list) };
    }
    LIST.store(list.cast_mut(), Ordering::Relaxed);
    then();
    LIST.store(null_mut(), Ordering::Relaxed);
}

/// Notes where the strings of the list are, unless they are not one behind the other.
///
/// # Safety
/// As [`known`], and not null.
unsafe fn remember(mut list: *const *const c_char) {
    BYTES.store(0, Ordering::Relaxed);
    // SAFETY: the caller's promise.
    let first = unsafe { *list };
    let mut bytes = 0;
    // SAFETY: the caller's promise: the list ends with null, and its strings are C strings.
    while let Some(argument) = unsafe { (*list).as_ref().map(|first| CStr::from_ptr(first)) } {
        if argument.as_ptr() != first.wrapping_add(bytes) {
            return;
        }
        bytes += argument.to_bytes_with_nul().len();
        list = list.wrapping_add(1);
    }
    FIRST.store(first.cast_mut(), Ordering::Relaxed);
    BYTES.store(bytes, Ordering::Relaxed);
}

/// Copies the bytes at which the kernel put them. None if there are none, or if they do not end with a zero any more.
fn from_memory(text: &mut [u8]) -> Option<usize> {
    let last = BYTES.load(Ordering::Relaxed).checked_sub(1)?;
    let first = FIRST.load(Ordering::Relaxed).cast_const().cast::<u8>();
    // SAFETY: `BYTES` bytes from `FIRST` on stay readable (`known`). The program may write to them, so each is read as memory that changes.
    let byte = |at: usize| unsafe { first.add(at).read_volatile() };
    if byte(last) != 0 {
        return None;
    }
    let filled = text.len().min(last + 1);
    text.iter_mut().take(filled).enumerate().for_each(|(at, to)| *to = byte(at));
    Some(filled)
}

/// Copies them into `text`, as far as they fit.
pub fn into(text: &mut [u8]) -> &[u8] {
    let mut list = LIST.load(Ordering::Relaxed);
    let mut filled = 0;
    if list.is_null()
        && let Some(filled) = from_memory(text)
    {
        return text.get(..filled).unwrap_or_default();
    }
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
    fn they_come_from_the_list_then_from_their_memory_then_from_the_kernel() {
        let list = [c"ls".as_ptr(), c"".as_ptr(), c"-l".as_ptr(), null()];
        let mut all = [0; 16];
        // SAFETY: a list of C strings that ends with null, and stays.
        unsafe { known(list.as_ptr(), || assert_eq!(into(&mut all), b"ls\0\0-l\0")) };
        for room in 0..8 {
            let mut text = std::vec![0; room];
            // SAFETY: as above.
            unsafe { known(list.as_ptr(), || assert_eq!(into(&mut text), &b"ls\0\0-l\0"[..room.min(7)])) };
        }
        // As the kernel puts them: one behind the other. `-l` becomes `-k`.
        let text: &mut [u8] = std::boxed::Box::leak(std::boxed::Box::new(*b"ls\0\0-l\0"));
        let at = |at: usize| text.as_ptr().wrapping_add(at).cast::<c_char>();
        let list = [at(0), at(3), at(4), null()];
        // SAFETY: a list of C strings that ends with null, and stays; their memory does so, too.
        unsafe { known(list.as_ptr(), || assert_eq!(into(&mut all), b"ls\0\0-l\0")) };
        assert_eq!(into(&mut all), b"ls\0\0-l\0", "from their memory");
        text[5] = b'k';
        assert_eq!((into(&mut all), into(&mut [0; 5])), (&b"ls\0\0-k\0"[..], &b"ls\0\0-"[..]));
        text[6] = b'x';
        let own = std::fs::read("/proc/self/cmdline").expect("read");
        assert_eq!(into(&mut all), &own[..own.len().min(16)], "longer than they were");
        // SAFETY: a list that is empty.
        unsafe { known([null()].as_ptr(), || assert_eq!(into(&mut all), b"")) };
        let own = std::fs::read("/proc/self/cmdline").expect("read");
        let mut text = [0; 64];
        assert_eq!(into(&mut text), &own[..own.len().min(64)]);
    }
}
