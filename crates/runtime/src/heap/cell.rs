//! A free cell: the heap's link in unused storage.

use underbar_sys::sync::Plain;

/// A free cell. It begins with the link; the rest is whatever its last user left.
#[repr(C)]
pub struct Cell {
    /// The next free cell of its list. Whoever owns the list owns the link: a bin's owner, an extent's owner, a thread with a
    /// chain to send, or the owner of the inbox that the chain was sent to. Of the cells in a chain only the carriers are linked.
    pub next: Plain<*mut Cell>,
}
