//! Storage of ended ECBs that is kept without access, under ECB(CHECK): whoever still uses it is named.
//!
//! ```text
//! end ──> filled, and no access ──> [oldest] ── ... ── [newest]      more than the bound: the oldest gets access again,
//!                                                                      and its block and storage serve further ECBs
//! fault or free at an address ──> its area ──> the block that has it ──> number, class; mark ──> buffer; tags ──> name
//! ```
//!
//! Marks of buffers, control blocks and descriptors are elsewhere, so they stay as they were when the ECB ended. The table of names is
//! storage of the ECB: it is not filled, and read with access for that moment. The last page of an area holds a header of the heap:
//! no buffer is there under CHECK (`area`).
//!
//! Invariant: a block in the list has a closed generation, no thread inside, and none of its areas has an owner. Its storage has no access
//! but where the kernel refused.
//! Not here: the signal (`crate::stale`), the message (`heap::check`).

use core::ptr::null_mut;
use core::sync::atomic::Ordering;

use underbar_sys::lock::{Guard, Lock};
use underbar_sys::syscall;

use super::super::map::{self, AREA, PAGE};
use super::area::{self, Area};
use super::class::Class;
use super::control_block::{ControlBlock, Shared};
use super::seat::Seat;
use super::tags::{self, Tags};
use super::{Number, give_back, given};

/// The byte in storage of an ended ECB.
const FILL: u8 = 0xde;
/// Areas that are kept, at most: each may take two of the mappings that the kernel grants a process, 65,530 as a rule.
const MOST: usize = 16_384;
/// How often a handler looks whether the list is free.
const TRIES: usize = 10_000;

/// The list, linked by `next_ready`.
struct List {
    oldest: *mut ControlBlock,
    newest: *mut ControlBlock,
    areas: usize,
    bytes: usize,
}

// SAFETY: followed under the lock only.
unsafe impl Send for List {}

/// Only locks of blocks are taken after it.
static LIST: Lock<List> = Lock::new(List { oldest: null_mut(), newest: null_mut(), areas: 0, bytes: 0 });

/// Whether ended ECBs are kept.
#[inline]
pub fn are_kept() -> bool {
    given::check() != 0
}

/// Before a fork: takes the lock.
pub fn hold() {
    LIST.hold();
}

/// After it.
///
/// # Safety
/// This thread called [`hold`].
pub unsafe fn release() {
    // SAFETY: the caller's promise.
    unsafe { LIST.release() }
}

/// Is no thread at the list?
pub fn is_quiet() -> bool {
    LIST.try_lock().is_some()
}

/// Keeps the storage of an ECB that ends, and gives back what is too much.
///
/// # Safety
/// The gate is closed, no thread is inside; the seat is the calling thread's.
#[cold]
pub unsafe fn keep(block: &'static ControlBlock, first: *mut Seat) {
    let class = block.class();
    // SAFETY: the caller's promise: the ECB is this thread's alone.
    unsafe {
        let cost = {
            let mut shared = block.shared.lock();
            shared.leave_kept();
            let ended = shared.ended(&*block.area.load(Ordering::Relaxed));
            if let Some(named) = block.named() {
                named.ended(&ended, shared.frames());
            }
            (*first).count_end(class, ended);
            take_access(block, &shared);
            cost(block, &shared)
        };
        block.chains.clear();
        block.kept.store(0, Ordering::Relaxed);
        block.is_threaded.store(0, Ordering::Relaxed);
        // What threads outside freed has ended as well.
        let _ = block.returned.take();
        class.ends();
        add(core::ptr::from_ref(block).cast_mut(), cost);
        while let Some(oldest) = take_oldest() {
            give_access(&*oldest);
            give_back(&*oldest, |_| ());
            (*first).put_ready(oldest);
        }
    }
}

/// Areas and bytes of a block.
///
/// # Safety
/// No thread is inside; the guarded part is the block's.
unsafe fn cost(block: &ControlBlock, shared: &Shared) -> (usize, usize) {
    let mut areas = 0;
    // SAFETY: the caller's promise.
    let most = unsafe {
        block.each_area(shared, |_| areas += 1);
        shared.most(&*block.area.load(Ordering::Relaxed))
    };
    (areas, most.next_multiple_of(PAGE).max(PAGE))
}

fn add(block: *mut ControlBlock, (areas, bytes): (usize, usize)) {
    let mut list = LIST.lock();
    // SAFETY: blocks in the list stay, and the new one is the caller's.
    unsafe {
        (*block).next_ready.store(null_mut(), Ordering::Relaxed);
        match list.newest.as_ref() {
            Some(newest) => newest.next_ready.store(block, Ordering::Relaxed),
            None => list.oldest = block,
        }
    }
    list.newest = block;
    list.areas += areas;
    list.bytes += bytes;
}

/// Takes the oldest block, if too much is kept.
fn take_oldest() -> Option<*mut ControlBlock> {
    let mut list = LIST.lock();
    let is_too_much = list.bytes > given::check() || list.areas > MOST;
    if !is_too_much || list.oldest.is_null() {
        return None;
    }
    let oldest = list.oldest;
    // SAFETY: blocks in the list stay, and are the list's.
    unsafe {
        list.oldest = (*oldest).next_ready.load(Ordering::Relaxed);
        let (areas, bytes) = cost(&*oldest, &(*oldest).shared.lock());
        list.areas -= areas.min(list.areas);
        list.bytes -= bytes.min(list.bytes);
    }
    if list.oldest.is_null() {
        list.newest = null_mut();
    }
    Some(oldest)
}

/// Fills the storage of a block, and takes access and owner from it.
///
/// # Safety
/// No thread is inside.
unsafe fn take_access(block: &ControlBlock, shared: &Shared) {
    // SAFETY: the areas are the block's; the table of names is in one of them.
    unsafe {
        let names = names(shared);
        block.each_area(shared, |area| {
            let (from, end) = area.contents();
            let to = shared.used_up_to(core::ptr::from_ref(area).cast_mut()).clamp(from, end);
            fill(from, to.min(names.0.max(from)));
            fill(names.1.clamp(from, to), to);
            area.set_block(null_mut());
            let (from, to) = area.accessible();
            // If the kernel refuses, stale pointers into it are named when they are freed, as ever.
            let _ = syscall::mprotect(from as *mut u8, to - from, syscall::PROT_NONE);
        });
    }
}

/// From where to where the table of names is; two equal ends that are beyond all areas: there is none.
unsafe fn names(shared: &Shared) -> (usize, usize) {
    if shared.tags.is_null() {
        return (usize::MAX, usize::MAX);
    }
    // SAFETY: the table is storage of the ECB, which nobody uses.
    let bytes = tags::bytes(unsafe { Tags::capacity(shared.tags) });
    (shared.tags.addr(), shared.tags.addr() + bytes)
}

/// # Safety
/// The storage is nobody's.
unsafe fn fill(from: usize, to: usize) {
    if from < to {
        // SAFETY: the caller's promise.
        unsafe { (from as *mut u8).write_bytes(FILL, to - from) };
    }
}

/// Gives access again.
///
/// # Safety
/// The block is the caller's, and was kept.
unsafe fn give_access(block: &ControlBlock) {
    let shared = block.shared.lock();
    // SAFETY: the areas are the block's.
    unsafe {
        block.each_area(&shared, |area| {
            let (from, to) = area.accessible();
            let _ = syscall::mprotect(from as *mut u8, to - from, syscall::PROT_READ | syscall::PROT_WRITE);
        });
    }
}

/// What is known of an address in storage of an ended ECB.
pub struct Stale {
    /// The number of the ECB.
    pub ecb: Number,
    /// Its class.
    pub class: &'static Class,
    /// The buffer around the address.
    pub buffer: usize,
    /// Its bytes; 0: there was none.
    pub bytes: usize,
    /// A name that it had.
    pub name: [u8; tags::LONGEST],
    /// Bytes of the name; 0: it had none.
    pub length: usize,
}

/// The ended ECB whose storage is at an address. None if none is known. It may be called by a handler of a signal.
pub fn find(address: usize) -> Option<Stale> {
    if !are_kept() || address >= map::END {
        return None;
    }
    let descriptor = map::lookup(address);
    // SAFETY: descriptors stay readable.
    if descriptor.is_null() || unsafe { (*descriptor).owner.load(Ordering::Relaxed) } != AREA {
        return None;
    }
    let wanted = area::of(descriptor);
    let list = free_list()?;
    let mut next = list.oldest;
    // SAFETY: blocks in the list stay, and no thread is inside: nobody else takes their locks for long.
    unsafe {
        while let Some(block) = next.as_ref() {
            next = block.next_ready.load(Ordering::Relaxed);
            let shared = block.shared.try_lock()?;
            let mut is_it = false;
            block.each_area(&shared, |area| is_it |= core::ptr::eq(area, wanted));
            if is_it {
                return Some(known(block, &shared, wanted, address));
            }
        }
    }
    None
}

/// The list, for a thread that must not wait for ever.
fn free_list() -> Option<Guard<'static, List>> {
    for _ in 0..TRIES {
        if let Some(list) = LIST.try_lock() {
            return Some(list);
        }
        core::hint::spin_loop();
    }
    None
}

/// # Safety
/// The area is the block's, which is kept.
unsafe fn known(block: &'static ControlBlock, shared: &Shared, area: *mut Area, address: usize) -> Stale {
    let class = block.class();
    // SAFETY: the caller's promise.
    let (buffer, bytes) = unsafe { Area::buffer_around(area, address, &class.lists.sizes) }.unwrap_or((0, 0));
    let mut stale =
        Stale { ecb: block.ended_number(), class, buffer, bytes, name: [0; tags::LONGEST], length: 0 };
    // SAFETY: the table is storage of the ECB, with access while it is read.
    unsafe {
        if bytes > 0 && Area::is_tagged(area, buffer) && !shared.tags.is_null() {
            // Not all of the table has access before: its size is in it.
            let from = shared.tags.addr() & !(PAGE - 1);
            let head = (shared.tags.addr() + size_of::<Tags>()).next_multiple_of(PAGE);
            if access(from, head, syscall::PROT_READ) {
                let to = names(shared).1.next_multiple_of(PAGE);
                if access(from, to, syscall::PROT_READ) {
                    stale.length = Tags::name_of(shared.tags, buffer, &mut stale.name);
                    access(from, to, syscall::PROT_NONE);
                }
                access(from, head, syscall::PROT_NONE);
            }
        }
    }
    stale
}

/// # Safety
/// The pages are those of a kept ECB.
unsafe fn access(from: usize, to: usize, protection: u32) -> bool {
    // SAFETY: the caller's promise.
    unsafe { syscall::mprotect(from as *mut u8, to - from, protection) }.is_ok()
}
