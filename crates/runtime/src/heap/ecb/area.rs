//! Areas: pages of an ECB, and the marks that tell where its buffers begin.
//!
//! ```text
//! preallocated area  4K-1M  marks: of the first page in the control block, of each other page made when it is used
//! frame             1 MiB  marks: at its start
//! low             32K-     marks and a head at its start: below 2 GiB
//! large                    one buffer, without marks
//!
//! page  | buffer of list 2 | buffer of list 4 .......... | buffer of list 2 | not carved ...
//! marks   2 0 0 0            4 0 0 0 0 0 0 0 0 0 0 0 0     2 0 0 0            0              one byte for 16
//! ```
//!
//! A mark costs a sixteenth of the storage. A header would cost 16 bytes of each buffer, take the alignment to cache lines from
//! it, and lie where a write past the end of the buffer before would change it.
//!
//! An area is an extent without cells for everybody who walks over descriptors. Its pages go to an ECB and come back as a whole.
//!
//! Invariant: a byte of the marks is not 0 if and only if a buffer begins there, in use or free.
//! Not here: which pages come next (`control_block`), and what a thread carves (`seat`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::super::extent::Extent;
use super::super::map::{self, AREA, Descriptor, PAGE};
use super::super::object::{self, Heap};
use super::super::private_storage::{AREA_DESCRIPTOR, OWN};
use super::given;

/// Bytes of a preallocated area, if ECB does not say otherwise: no power of two, as areas at such distances would meet in the same sets
/// of the processor's caches.
pub const AREA_BYTES: usize = 36 << 10;
/// At least so many bytes of pages are got at a time for preallocated areas.
const UNCUT_BYTES: usize = 64 * AREA_BYTES;
/// Pages at which frames begin.
const COLOURS: usize = 16;
/// Bytes of a frame.
pub const FRAME_BYTES: usize = 1 << 20;
/// Bytes of storage for one mark.
pub const GRAIN: usize = 16;
/// Bytes for the head of an ECB's part below 2 GiB.
pub const LOW_HEAD: usize = 512;
/// Marks of a page.
pub const PAGE_MARKS: usize = PAGE / GRAIN;

/// Bits of a mark: the list, whether the buffer is known to be free, and whether it has a name.
pub const LIST: u8 = 0x3f;
const FREE: u8 = 0x40;
const TAGGED: u8 = 0x80;

/// A bit of a block's address: of storage whose buffers are no thread's, a large one or some below 2 GiB.
const APART: usize = 1;

fn known_for(kind: Kind, block: *mut Owner) -> *mut Owner {
    if kind >= Kind::Low && !block.is_null() { block.map_addr(|address| address | APART) } else { block }
}

/// Marks of a page of a preallocated area; null: the page is not in use yet.
type Page = *mut u8;

/// Pages for further preallocated areas, and their segment.
pub struct Uncut {
    at: usize,
    end: usize,
    segment: *mut Descriptor,
}

impl Uncut {
    pub const NONE: Self = Self { at: 0, end: 0, segment: null_mut() };
}

/// Bytes at the end of pages that are not for buffers: the last word is the header of the block behind them. Under CHECK its page, so
/// that access can be taken from all others.
pub fn behind() -> usize {
    if given::check() == 0 { size_of::<usize>() } else { PAGE }
}

/// The control block of an ECB, of which an area knows the address only.
pub enum Owner {}

/// What the pages are for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub enum Kind {
    /// The area with which an ECB begins.
    Preallocated,
    /// Further storage for buffers.
    Frame,
    /// Storage for buffers below 2 GiB: they are in no list of a thread.
    Low,
    /// One buffer.
    Large,
}

/// One area. Its ECB's threads write it, under the lock of the control block, except for marks: those of a region belong to the
/// thread that has the region.
#[repr(C)]
pub struct Area {
    /// For walks over descriptors; the owner is [`AREA`].
    extent: Extent,
    /// Its ECB; null while it waits for one. Any thread that has a buffer reads it, relaxed: it got the buffer later.
    /// With [`APART`], if need be.
    block: AtomicPtr<Owner>,
    /// Marks of the first page, or of all; of a large one: the buffer.
    pub first: *mut u8,
    /// How many grains have their marks there.
    grains: u32,
    pub kind: Kind,
    /// Of a large one: whether it has a name, and whether it was freed outside, as the bits of a mark.
    state: u8,
    /// Entries of `pages`; 0: there is no table.
    page_count: u16,
    /// Of a large one: what was asked for.
    pub asked: usize,
    bytes: usize,
    pages: *mut Page,
    /// Neighbours in a list of the control block.
    pub next: *mut Area,
    pub previous: *mut Area,
}

const _: () = assert!(size_of::<Area>() <= AREA_DESCRIPTOR);

impl Area {
    /// Pages of that heap for an ECB. Null if there is no memory.
    pub fn make(heap: &Heap, kind: Kind, bytes: usize, block: *mut Owner, first: *mut u8) -> *mut Area {
        let place: *mut Area = OWN.lock().get_area().cast();
        if place.is_null() {
            return null_mut();
        }
        let mut space = heap.space.lock();
        let Some((start, segment)) = space.get_pages(bytes) else {
            // SAFETY: it is ours, and no other thread has seen it.
            unsafe { OWN.lock().put_area(place.cast()) };
            return null_mut();
        };
        // Before the lock is given up: the header of the next block is in the last page.
        // SAFETY: the storage of the descriptor is ours, and so are the pages.
        unsafe { Self::write(place, kind, start, bytes, segment, block, first) };
        drop(space);
        if matches!(kind, Kind::Frame | Kind::Low) {
            // The storage may have been in use before.
            // SAFETY: the marks are in pages of this area.
            unsafe { ((*place).start() as *mut u8).write_bytes(0, bytes / GRAIN) };
        }
        place
    }

    /// A preallocated area of so many bytes, whole pages, which are cut for many areas of the same size at a time: the header of the
    /// next block is in the last page of them all. Null if there is no memory.
    pub fn cut(heap: &Heap, from: &mut Uncut, bytes: usize, first: *mut u8) -> *mut Area {
        let place: *mut Area = OWN.lock().get_area().cast();
        if place.is_null() {
            return null_mut();
        }
        let mut space = heap.space.lock();
        if from.at == from.end {
            let uncut = UNCUT_BYTES.next_multiple_of(bytes);
            let Some((start, segment)) = space.get_pages(uncut) else {
                // SAFETY: it is ours, and no other thread has seen it.
                unsafe { OWN.lock().put_area(place.cast()) };
                return null_mut();
            };
            *from = Uncut { at: start, end: start + uncut, segment };
        }
        let start = from.at;
        from.at += bytes;
        // SAFETY: as in `make`.
        unsafe { Self::write(place, Kind::Preallocated, start, bytes, from.segment, null_mut(), first) };
        place
    }

    /// # Safety
    /// The storage of the descriptor and the pages are the caller's, who has the lock of the space.
    unsafe fn write(
        place: *mut Area,
        kind: Kind,
        start: usize,
        bytes: usize,
        segment: *mut Descriptor,
        block: *mut Owner,
        first: *mut u8,
    ) {
        let extent = Extent::new(start, bytes, segment);
        extent.owner.store(AREA, Ordering::Relaxed);
        let first = if matches!(kind, Kind::Frame | Kind::Low) { start as *mut u8 } else { first };
        let grains = match kind {
            Kind::Preallocated => PAGE_MARKS as u32,
            Kind::Frame | Kind::Low => (bytes / GRAIN) as u32,
            Kind::Large => 0,
        };
        let block = AtomicPtr::new(known_for(kind, block));
        let (pages, next, previous) = (null_mut(), null_mut(), null_mut());
        let (asked, state, page_count) = (0, 0, 0);
        // SAFETY: the caller's promise.
        unsafe {
            place.write(Area {
                extent,
                block,
                first,
                grains,
                kind,
                state,
                page_count,
                asked,
                bytes,
                pages,
                next,
                previous,
            })
        };
        map::enter(start, bytes, place.cast());
    }

    /// Gives the pages back to the heap.
    ///
    /// # Safety
    /// Nothing in it is in use, and no list knows it. It is no preallocated area.
    pub unsafe fn unmake(area: *mut Area, heap: &Heap) {
        // SAFETY: the caller's promise.
        unsafe {
            (*area).set_block(null_mut());
            heap.space.lock().free_pages((*area).start(), (*area).bytes(), (*area).extent.segment);
            OWN.lock().put_area(area.cast());
        }
    }

    /// The heap whose pages it has.
    ///
    /// # Safety
    /// It has pages.
    pub unsafe fn heap(area: *mut Area) -> &'static Heap {
        // SAFETY: the caller's promise; an area begins with an extent, which names its segment.
        unsafe { object::of(area.cast()) }
    }

    /// Of storage below 2 GiB: room for [`LOW_HEAD`] bytes.
    pub fn head(&self) -> *mut u8 {
        (self.start() + self.bytes() / GRAIN) as *mut u8
    }

    /// The ECB; null if none has it.
    #[inline]
    pub fn block(&self) -> *mut Owner {
        self.block.load(Ordering::Relaxed).map_addr(|address| address & !APART)
    }

    /// Gives it to an ECB, or takes it (null).
    pub fn set_block(&self, block: *mut Owner) {
        self.block.store(known_for(self.kind, block), Ordering::Relaxed);
    }

    /// Does it belong to that ECB, and its buffers to threads? Of the address of no control block: false.
    #[inline(always)]
    pub fn has_marks_of(&self, block: *const u8) -> bool {
        core::ptr::eq(self.block.load(Ordering::Relaxed).cast(), block)
    }

    /// The first byte.
    #[inline]
    pub fn start(&self) -> usize {
        self.extent.start
    }

    /// Bytes of its pages.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// From where to where buffers may be: the last word of the pages is the header of the block behind them.
    pub fn room(&self) -> (usize, usize) {
        let marks = match self.kind {
            // Frames begin at different pages, so that their first buffers are not all in the same sets of the processor's caches.
            Kind::Frame => FRAME_BYTES / GRAIN + self.start() / FRAME_BYTES % COLOURS * PAGE,
            // Under CHECK access is taken from whole pages, without the head.
            Kind::Low if given::check() > 0 => (self.bytes() / GRAIN + LOW_HEAD).next_multiple_of(PAGE),
            Kind::Low => self.bytes() / GRAIN + LOW_HEAD,
            Kind::Preallocated | Kind::Large => 0,
        };
        (self.start() + marks, (self.start() + self.bytes() - behind()) & !(GRAIN - 1))
    }

    /// From where to where its contents may be taken access from: whole pages, without marks and without the header behind.
    pub fn accessible(&self) -> (usize, usize) {
        let marks = match self.kind {
            Kind::Frame => FRAME_BYTES / GRAIN,
            Kind::Low => self.room().0 - self.start(),
            Kind::Preallocated | Kind::Large => 0,
        };
        (self.start() + marks, (self.start() + self.bytes() - behind()) & !(PAGE - 1))
    }

    /// From where to where contents of the program may be.
    pub fn contents(&self) -> (usize, usize) {
        match self.kind {
            Kind::Large => (self.first.addr(), self.accessible().1),
            _ => self.room(),
        }
    }

    /// The buffer around an address and its bytes. None if there is none.
    ///
    /// # Safety
    /// The area is that of the address's page; descriptors stay readable.
    pub unsafe fn buffer_around(this: *mut Self, address: usize, sizes: &[u32]) -> Option<(usize, usize)> {
        // SAFETY: the caller's promise; the marks are readable.
        unsafe {
            if (*this).kind == Kind::Large {
                let (start, asked) = ((*this).first.addr(), (*this).asked);
                return (start..start + asked).contains(&address).then_some((start, asked));
            }
            let (from, end) = (*this).room();
            let mut at = address & !(GRAIN - 1);
            while (from..end).contains(&at) {
                let mark = (*this).mark(at);
                let list = if mark.is_null() { 0 } else { usize::from(*mark & LIST) };
                if list != 0 {
                    let bytes = *sizes.get(list)? as usize;
                    return (address - at < bytes).then_some((at, bytes));
                }
                at -= GRAIN;
            }
            None
        }
    }

    /// The mark of an address in these pages; null if none can be there.
    ///
    /// # Safety
    /// It is a multiple of 16 in a page of this area.
    #[inline(always)]
    pub unsafe fn mark(&self, address: usize) -> *mut u8 {
        let grain = (address - self.start()) / GRAIN;
        // SAFETY: so many marks are there; the caller's promise.
        unsafe { if grain < self.grains as usize { self.first.add(grain) } else { self.later_mark(grain) } }
    }

    /// As [`Self::mark`], of a page behind the first one.
    unsafe fn later_mark(&self, grain: usize) -> *mut u8 {
        // Also if a stale descriptor is that of another area now.
        if grain / PAGE_MARKS >= usize::from(self.page_count) {
            return null_mut();
        }
        // SAFETY: the table has an entry for each page.
        unsafe {
            let page = *self.pages.add(grain / PAGE_MARKS);
            if page.is_null() { page } else { page.add(grain % PAGE_MARKS) }
        }
    }

    /// As [`Self::mark`], of any address. Not of a large buffer.
    ///
    /// # Safety
    /// It is in a page of this area.
    #[inline(always)]
    pub unsafe fn mark_of_any(&self, address: usize) -> *mut u8 {
        // Where no buffer can begin, the number of the grain is beyond all of them.
        let grain = (address - self.start()).rotate_right(GRAIN.ilog2());
        // SAFETY: as in `mark`.
        unsafe { if grain < self.grains as usize { self.first.add(grain) } else { self.later_mark(grain) } }
    }

    /// The list of a buffer that begins at an address, 0 for a large one; None if none begins there.
    ///
    /// # Safety
    /// The area is that of the address's page. Descriptors stay readable.
    #[inline(always)]
    pub unsafe fn list_at(this: *mut Self, address: usize) -> Option<usize> {
        // SAFETY: the caller's promise.
        unsafe {
            if (*this).kind == Kind::Large {
                return ((*this).first.addr() == address).then_some(0);
            }
            if !address.is_multiple_of(GRAIN) {
                return None;
            }
            let list = usize::from(*(*this).mark(address).as_ref()? & LIST);
            (list != 0).then_some(list)
        }
    }

    /// Whether a buffer has a name.
    ///
    /// # Safety
    /// It is in use, and begins at that address of this area.
    #[inline(always)]
    pub unsafe fn is_tagged(this: *mut Self, address: usize) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            let mark = if (*this).kind == Kind::Large { (*this).state } else { *(*this).mark(address) };
            mark & TAGGED != 0
        }
    }

    /// Says whether a buffer has a name.
    ///
    /// # Safety
    /// As [`Self::is_tagged`], under the lock of the control block.
    pub unsafe fn set_tagged(this: *mut Self, address: usize, tagged: bool) {
        // SAFETY: the caller's promise.
        unsafe {
            let mark =
                if (*this).kind == Kind::Large { &raw mut (*this).state } else { (*this).mark(address) };
            *mark = if tagged { *mark | TAGGED } else { *mark & LIST };
        }
    }

    /// Whether a buffer is known to be free: threads outside have freed it, or it is of a list whose free buffers are marked.
    ///
    /// # Safety
    /// A buffer begins at that address of this area.
    pub unsafe fn is_free(this: *mut Self, address: usize) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            let mark = if (*this).kind == Kind::Large { (*this).state } else { *(*this).mark(address) };
            mark & FREE != 0
        }
    }

    /// Says whether a buffer is free.
    ///
    /// # Safety
    /// As [`Self::is_free`]; the buffer is the caller's, without a name if it is free.
    pub unsafe fn set_free(this: *mut Self, address: usize, free: bool) {
        // SAFETY: the caller's promise.
        unsafe {
            let mark =
                if (*this).kind == Kind::Large { &raw mut (*this).state } else { (*this).mark(address) };
            *mark = if free { *mark | FREE } else { *mark & LIST };
        }
    }

    /// The pages up to an address are about to be used. False if there is no memory for their marks.
    ///
    /// # Safety
    /// Under the lock of the control block.
    pub unsafe fn prepare(&mut self, from: usize, to: usize) -> bool {
        if self.kind != Kind::Preallocated || to <= self.start() + PAGE {
            return true;
        }
        let mut own = OWN.lock();
        // SAFETY: new storage is zero, and of that size; the table is this area's.
        unsafe {
            if self.pages.is_null() {
                self.pages = own.get(self.bytes / PAGE * size_of::<Page>()).cast();
                if self.pages.is_null() {
                    return false;
                }
                self.page_count = (self.bytes / PAGE) as u16;
            }
            for page in ((from - self.start()) / PAGE).max(1)..=(to - 1 - self.start()) / PAGE {
                let marks = &mut *self.pages.add(page);
                if marks.is_null() {
                    *marks = own.get(PAGE_MARKS);
                }
                if marks.is_null() {
                    return false;
                }
            }
        }
        true
    }

    /// Forgets all buffers up to an address. Of a frame.
    ///
    /// # Safety
    /// No thread is inside the ECB.
    pub unsafe fn clear_frame(&mut self, up_to: usize) {
        let (from, end) = self.room();
        let used = up_to.clamp(from, end) - from;
        // SAFETY: the marks are in pages of this area.
        unsafe { self.first.add((from - self.start()) / GRAIN).write_bytes(0, used.div_ceil(GRAIN)) };
    }

    /// Forgets all buffers up to an address. Of a preallocated area.
    ///
    /// # Safety
    /// No thread is inside the ECB.
    pub unsafe fn clear(&mut self, up_to: usize) {
        let pages = (up_to - self.start()).div_ceil(PAGE);
        // SAFETY: the marks of each page that was used are there.
        unsafe {
            if pages > 0 {
                let used = (up_to - self.start()).min(PAGE).div_ceil(GRAIN);
                self.first.write_bytes(0, used);
            }
            for page in 1..pages.min(usize::from(self.page_count)) {
                let marks = *self.pages.add(page);
                if !marks.is_null() {
                    marks.write_bytes(0, PAGE_MARKS);
                }
            }
        }
    }
}

/// The area of a descriptor whose owner is [`AREA`].
#[inline(always)]
pub fn of(descriptor: *mut Descriptor) -> *mut Area {
    descriptor.cast()
}

#[cfg(test)]
mod tests {
    use super::super::super::{ONE_AT_A_TIME, registry, space};
    use super::*;

    #[test]
    fn an_area_of_any_size_has_a_mark_for_each_grain() {
        let _turn = ONE_AT_A_TIME.lock();
        let policy = space::Policy {
            initial: 0,
            increment: 0,
            ..super::super::super::object::DEFAULT.space.lock().policy()
        };
        let handle = registry::create(policy).expect("memory");
        let mut marks = [[0; PAGE_MARKS]; 3];
        for (bytes, first) in [PAGE, 3 * PAGE, 256 * PAGE].into_iter().zip(&mut marks) {
            let mut uncut = Uncut::NONE;
            let mut last_end = 0;
            for _ in 0..2 {
                let area = Area::cut(handle.heap, &mut uncut, bytes, first.as_mut_ptr());
                // SAFETY: the area is ours alone, and its pages are.
                unsafe {
                    let start = (*area).start();
                    assert!((last_end == 0 || last_end == start) && (*area).bytes() == bytes);
                    last_end = start + bytes;
                    let (from, end) = (*area).room();
                    assert_eq!((from, end), (start, last_end - GRAIN));
                    assert_eq!((*area).mark(end - GRAIN).is_null(), bytes > PAGE, "no page is in use yet");
                    assert!((*area).prepare(from, end));
                    for address in (from..end).step_by(GRAIN) {
                        let mark = (*area).mark(address);
                        assert_eq!(*mark, 0, "it is no other's");
                        *mark = 7;
                    }
                    assert_eq!(Area::list_at(area, end - GRAIN), Some(7));
                    assert_eq!(Area::list_at(area, end + PAGE * 256), None, "not in the area");
                    (*area).clear(end);
                    assert!((from..end).step_by(GRAIN).all(|address| Area::list_at(area, address).is_none()));
                }
            }
        }
        registry::end(handle).expect("nobody is inside");
    }
}
