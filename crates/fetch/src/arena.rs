//! Storage for the loader's tables: never the program's heap.
//!
//! ```text
//! up to 32 KiB   lists of free pieces, one for each power of two from 32, cut from chunks of 64 KiB
//! beyond         a separate mapping, given back to the kernel at once
//! ```
//!
//! Invariant: a piece is aligned to its rounded size (at most to a page), and belongs to one user. A request and its release
//! give the same size.
//! Not here: the content of the pieces.

use core::ptr::NonNull;

use underbar_sys::lock::Lock;
use underbar_sys::syscall::{Errno, map_anonymous, munmap};

const SMALLEST: usize = 32;
const LARGEST: usize = 32 << 10;
const CHUNK: usize = 64 << 10;
const PAGE: usize = 4096;
const CLASSES: usize = (LARGEST / SMALLEST).trailing_zeros() as usize + 1;

struct Lists {
    /// The first free piece of each class; its first word points to the next one.
    free: [usize; CLASSES],
    /// The rest of the chunk.
    rest: (usize, usize),
    /// Bytes that the kernel gave for chunks; they are never returned.
    chunks: usize,
}

static LISTS: Lock<Lists> = Lock::new(Lists { free: [0; CLASSES], rest: (0, 0), chunks: 0 });

/// The lock, for fork.
pub(crate) fn hold() {
    LISTS.hold();
}

/// # Safety
/// After [`hold`], in the same thread or its copy.
pub(crate) unsafe fn release() {
    // SAFETY: the caller's promise.
    unsafe { LISTS.release() }
}

/// So many bytes; they are zeroed only if they have a separate mapping.
pub fn get(size: usize) -> Result<NonNull<u8>, Errno> {
    let Some(class) = class(size) else {
        return map_anonymous(size.checked_next_multiple_of(PAGE).ok_or(Errno::ENOMEM)?)
            .and_then(|start| NonNull::new(start).ok_or(Errno::ENOMEM));
    };
    let mut lists = LISTS.lock();
    let lists = &mut *lists;
    let bytes = SMALLEST << class;
    if let Some(first) = lists.free.get_mut(class)
        && let Some(piece) = NonNull::new(*first as *mut u8)
    {
        // SAFETY: a free piece holds the next one's address in its first word, and has no user.
        *first = unsafe { piece.cast::<usize>().read() };
        return Ok(piece);
    }
    // Aligned to its size, up to a page: the chunk is. Skipped bytes are lost, at most half a chunk for a class.
    let (mut at, mut left) = lists.rest;
    let skip = at.next_multiple_of(bytes.min(PAGE)) - at;
    if left < bytes + skip {
        (at, left) = (map_anonymous(CHUNK)? as usize, CHUNK);
        lists.chunks += CHUNK;
    } else {
        (at, left) = (at + skip, left - skip);
    }
    lists.rest = (at + bytes, left - bytes);
    NonNull::new(at as *mut u8).ok_or(Errno::ENOMEM)
}

/// Gives a piece back.
///
/// # Safety
/// It came from [`get`] with the same size, and is no longer used.
pub unsafe fn put(piece: NonNull<u8>, size: usize) {
    let Some(class) = class(size) else {
        // SAFETY: a separate mapping, of this length, that is no longer used.
        let _ = unsafe { munmap(piece.as_ptr(), size.next_multiple_of(PAGE)) };
        return;
    };
    let mut lists = LISTS.lock();
    if let Some(first) = lists.free.get_mut(class) {
        // SAFETY: at least 32 bytes, aligned, the caller's until now.
        unsafe { piece.cast::<usize>().write(*first) };
        *first = piece.as_ptr() as usize;
    }
}

/// The class of a size; none for a size with a separate mapping.
fn class(size: usize) -> Option<usize> {
    (size <= LARGEST).then(|| (size.max(SMALLEST).next_power_of_two() / SMALLEST).trailing_zeros() as usize)
}

/// A value in the arena.
///
/// # Errors
/// No storage.
pub fn keep<T>(value: T) -> Result<NonNull<T>, Errno> {
    const { assert!(align_of::<T>() <= SMALLEST) };
    let place = get(size_of::<T>())?.cast::<T>();
    // SAFETY: room for a T, aligned to 32 bytes or its own size.
    unsafe { place.write(value) };
    Ok(place)
}

/// Takes a value out of the arena.
///
/// # Safety
/// It came from [`keep`], and is no longer used.
pub unsafe fn take<T>(place: NonNull<T>) -> T {
    // SAFETY: the caller's promise.
    unsafe {
        let value = place.read();
        put(place.cast(), size_of::<T>());
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn pieces_do_not_share_bytes_and_come_again() {
        let sizes = [1, 32, 33, 100, 4096, 5000, LARGEST, LARGEST + 1, 1 << 20];
        let pieces: Vec<_> = sizes.iter().map(|size| (get(*size).expect("storage"), *size)).collect();
        for (piece, size) in &pieces {
            // SAFETY: our own bytes.
            unsafe { piece.as_ptr().write_bytes(*size as u8, *size) };
            let multiple = size.next_power_of_two().clamp(SMALLEST, PAGE);
            assert!((piece.as_ptr() as usize).is_multiple_of(multiple), "{size} at {piece:?}");
        }
        for (piece, size) in &pieces {
            // SAFETY: our own bytes, written above.
            let bytes = unsafe { core::slice::from_raw_parts(piece.as_ptr(), *size) };
            assert!(bytes.iter().all(|byte| *byte == *size as u8), "{size}");
        }
        for (piece, size) in pieces {
            // SAFETY: each is given back once.
            unsafe { put(piece, size) };
        }
    }
}
