//! Segments: their policy from HEAP, and the heap's description of one.
//!
//! ```text
//! start | 8 | block | block | ... | block | never written | 8 |
//!           ^ first                ^ high         entered ^   ^ start + size
//! ```
//!
//! Invariant: pages from `start` to `entered` are in the page map; from `high` on every byte is zero.
//! Not here: the creation and return of a segment (`supply`), and pages without an entry before its end (`hollow`).

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

pub use underbar_options::{Disposition, HugePages};

use super::super::block::Block;
use super::super::extent::Extent;
use super::super::map::{self, SEGMENT};
use super::super::object::Heap;
use super::super::private_storage::DESCRIPTOR;

/// Bytes of a segment that blocks cannot use: 8 before the first header and 8 at the end.
pub const SEGMENT_LOSS: usize = 16;
/// A free block's header and links: written even if the rest of it never was.
pub(super) const FREE_HEAD: usize = 24;

/// The settings of HEAP and HUGEPAGES.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Bytes of the first segment; 0: as large as an increment (or, under AUTO, 1 MiB).
    pub initial: usize,
    /// Least bytes of a further segment; 0: grows with the heap.
    pub increment: usize,
    /// The disposition of empty increments.
    pub disposition: Disposition,
    /// Which segments ask for transparent huge pages.
    pub huge_pages: HugePages,
}

impl Policy {
    /// `HEAP(AUTO,AUTO,ANYWHERE,AUTO)`.
    pub const AUTO: Policy =
        Policy { initial: 0, increment: 0, disposition: Disposition::Auto, huge_pages: HugePages::Auto };
}

/// One segment.
#[repr(C, align(64))]
pub struct Segment {
    /// Always [`SEGMENT`].
    pub(super) owner: AtomicUsize,
    pub(super) start: usize,
    pub(super) size: usize,
    /// Pages before this are in the page map.
    pub(super) entered: usize,
    /// From here on nothing was ever written: all bytes are zero.
    pub(super) high: usize,
    /// Where the next huge page is asked for, once the segment is used up to there; `usize::MAX`: nowhere.
    pub(super) huge_at: usize,
    /// The initial segment under KEEP and FREE, or the reservation of THSIZE: it is never given back.
    pub(super) initial: bool,
    /// Made for one request, with its exact size: its pages may move together.
    pub(super) alone: bool,
    /// Its last pages are in the page map, too, and it has a place in the table of such segments.
    pub(super) is_hollow: bool,
    /// Neighbours in the list of idle segments, oldest first; the time when it became empty, or 0.
    pub(super) idle_next: *mut Segment,
    pub(super) idle_previous: *mut Segment,
    pub(super) idle_since: u64,
    /// The heap that it belongs to, and its number. The number alone may be read of a segment that is not known to be live.
    pub heap: *const Heap,
    pub number: AtomicU32,
    /// Neighbours in the list of all segments of the heap.
    pub(super) all_next: *mut Segment,
    pub(super) all_previous: *mut Segment,
}

const _: () = assert!(size_of::<Segment>() <= DESCRIPTOR);

impl Segment {
    pub(super) fn first(&self) -> Block {
        Block(self.start + 8)
    }

    pub(super) fn end(&self) -> usize {
        self.start + self.size - 8
    }

    pub(super) fn whole(&self) -> usize {
        self.size - SEGMENT_LOSS
    }
}

/// The segment of a block. Its header is in a page of the segment, or in one of an extent, which knows its segment.
///
/// # Safety
/// The block is in a live segment.
pub(super) unsafe fn segment_of(block: Block) -> *mut Segment {
    let descriptor = map::lookup(block.0);
    // SAFETY: pages of live segments have a descriptor, which is a segment or an extent.
    unsafe {
        if (*descriptor).owner.load(Ordering::Relaxed) == SEGMENT {
            descriptor.cast()
        } else {
            (*descriptor.cast::<Extent>()).segment.cast()
        }
    }
}
