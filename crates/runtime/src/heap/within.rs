//! The enclave that the calling thread is in: a word of the thread, and what it tells about code.
//!
//! Invariant: the word is 0, or the address of a heap of this thread in an enclave, which does not end while the thread is inside.
//! Not here: who enters and leaves (`enclave`).

use super::object::Heap;
use super::thread::ThreadHeap;
use crate::thread_word::thread_word;

thread_word!(word, set_word, "underbar_thread_enclave", "0");

/// The word.
#[inline(always)]
pub fn get() -> usize {
    word()
}

/// Sets the word.
#[inline(always)]
pub fn set(inner: usize) {
    set_word(inner);
}

fn heap() -> Option<&'static Heap> {
    // SAFETY: see the invariant.
    unsafe { (word() as *const ThreadHeap).as_ref() }.map(|inner| inner.heap)
}

/// The name of the enclave, cut to 32 bytes, with zeros after it; None outside of enclaves, and if it has no row of accounts.
pub fn name() -> Option<[u8; 32]> {
    heap()?.account.row().map(|row| row.name.bytes())
}

/// Its name, and the place of an address in its program's code; None if the address is elsewhere.
pub fn place_of(address: usize) -> Option<([u8; 32], usize)> {
    let offset = heap()?.code.offset_of(address)?;
    Some((name()?, offset))
}
