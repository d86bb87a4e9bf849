//! A free cell: what the heap keeps in storage that nobody uses.

use underbar_sys::sync::Plain;

/// A free cell. It begins with the link; the rest is whatever its last user left.
#[repr(C)]
pub struct Cell {
    /// The next free cell of its list. Whoever has the list has the link: a bin's owner, an extent's owner, a
    /// thread with a chain to send, or the owner of the inbox that the chain was sent to.
    pub next: Plain<*mut Cell>,
}
