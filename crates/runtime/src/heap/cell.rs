//! A free cell: the heap's link in unused storage. A hint that one will be used.

use underbar_sys::sync::Plain;

/// A free cell. It begins with the link; the rest is whatever its last user left.
#[repr(C)]
pub struct Cell {
    /// The next free cell of its list. Whoever owns the list owns the link: a bin's owner, an extent's owner, a thread with a
    /// chain to send, or the owner of the inbox that the chain was sent to. Of the cells in a chain only the carriers are linked.
    pub next: Plain<*mut Cell>,
}

/// Tells the processor that this thread will soon write to a cell, so that the line is there by then. Null, or an address of nothing,
/// does no harm.
#[inline(always)]
pub fn expect_write(cell: *const Cell) {
    // SAFETY: a hint, which changes nothing and never faults; processors without it do nothing at all.
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) cell, options(nostack, preserves_flags, readonly));
    }
}
