//! A free buffer of an ECB, and chains of them.
//!
//! ```text
//! bin -> piece (depth 3) -> piece (2) -> piece (1) -> nil         the first one knows how many there are
//!          |
//!          '-next_chain-> piece (5) -> ...                        while the chain waits in a shared list
//! ```
//!
//! So a thread hands over a list without a walk, and the number of its buffers is known at any time although malloc counts nothing.
//!
//! Invariant: the depth of a piece is the length of its chain.
//! Not here: whose lists they are (`seat`, `control_block`).

use underbar_sys::sync::Plain;

use super::super::cell::Cell;

/// A free buffer: at least 32 bytes. malloc knows its first word only.
#[repr(C)]
pub struct Piece {
    pub cell: Cell,
    /// Pieces from here to the end of the chain.
    pub depth: Plain<usize>,
    /// Of the first piece of a chain in a shared list: the next chain of the list.
    pub next_chain: Plain<*mut Piece>,
    /// Of that piece, if the list has no head of its own: a chain of the next such list.
    pub next_list: Plain<*mut Piece>,
}

/// The number of pieces in a chain.
///
/// # Safety
/// Null, or a piece of the caller's.
#[inline(always)]
pub unsafe fn depth(chain: *mut Piece) -> usize {
    // SAFETY: the caller's promise.
    if chain.is_null() { 0 } else { unsafe { (*chain).depth.get() } }
}

/// Puts a piece before a chain. Returns how many these are now.
///
/// # Safety
/// The piece is the caller's, unused, and so is the chain.
#[inline(always)]
pub unsafe fn push(chain: &mut *mut Cell, piece: *mut Piece) -> usize {
    // SAFETY: the caller's promise.
    let depth = unsafe {
        let depth = depth(chain.cast()) + 1;
        (*piece).depth.set(depth);
        (*piece).cell.next.set(*chain);
        depth
    };
    *chain = piece.cast();
    depth
}
