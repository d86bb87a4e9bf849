//! Control blocks: their table, and those that wait for the next ECB of their class.
//!
//! ```text
//! end ──> the thread's own few (`seat`) ──> the class's: with pages ──> without pages
//! create <── the last one that came
//! ```
//!
//! An ECB that ends leaves its control block and its area to the next one of the class: first to one of the same thread, without a
//! lock. As many wait as ECBs are alive, and at least [`LEAST_READY`]; the pages of further ones go back to the kernel, and where twice
//! as many wait, those of one more at each end.
//!
//! Invariant: a block that waits has a closed generation, a clear area, and no thread inside. A control block is never unmapped.
//! Not here: an ECB that is alive (`control_block`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering};

use underbar_sys::lock::Lock;
use underbar_sys::syscall;

use super::super::gate::Gate;
use super::super::inbox::Inbox;
use super::super::map::PAGE;
use super::super::private_storage::OWN;
use super::area::{Area, PAGE_MARKS};
use super::chains::Bits;
use super::class::{Class, MAKING, Waiting};
use super::control_block::{ControlBlock, Shared};
use crate::sandbox;

/// At least so many blocks keep their pages while they wait.
const LEAST_READY: usize = 64;
/// Control blocks that are made at a time, and how often.
const CHUNK: usize = 64;
const CHUNKS: usize = 16_384;

/// The control blocks, by number; the first ones filled. Written under [`MAKING`] (Release), read by any thread (Acquire).
static BLOCKS: [AtomicPtr<ControlBlock>; CHUNKS] = [const { AtomicPtr::new(null_mut()) }; CHUNKS];
/// How many control blocks there are.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// The control block of that number; None if there is none.
pub fn block_at(index: u32) -> Option<&'static ControlBlock> {
    if index >= COUNT.load(Ordering::Acquire) {
        return None;
    }
    let chunk = BLOCKS[index as usize / CHUNK].load(Ordering::Acquire);
    // SAFETY: a chunk has so many blocks, which stay for ever.
    unsafe { chunk.add(index as usize % CHUNK).as_ref() }
}

/// Calls `then` for each control block.
pub fn each_block(mut then: impl FnMut(&'static ControlBlock)) {
    for index in 0..COUNT.load(Ordering::Acquire) {
        if let Some(block) = block_at(index) {
            then(block);
        }
    }
}

/// A block for a new ECB, with a clear area: one that waits, or a new one. Null if there is no memory.
pub fn take(class: &'static Class) -> *mut ControlBlock {
    let mut waiting = class.waiting.lock();
    let mut block: *mut ControlBlock = waiting.first.cast();
    // SAFETY: blocks that wait are the class's, under the lock.
    unsafe {
        if !block.is_null() {
            waiting.first = (*block).next_ready.load(Ordering::Relaxed).cast();
            waiting.count -= 1;
        } else if !waiting.clean.is_null() {
            block = waiting.clean.cast();
            waiting.clean = (*block).next_ready.load(Ordering::Relaxed).cast();
        }
    }
    drop(waiting);
    if block.is_null() { make(class) } else { block }
}

#[cold]
fn make(class: &'static Class) -> *mut ControlBlock {
    let block = new_block(class);
    if block.is_null() {
        return block;
    }
    // SAFETY: the block is new; its marks stay where they are.
    unsafe {
        let marks = (&raw mut (*block).marks).cast();
        let area = Area::cut(class.heap(), &mut class.waiting.lock().uncut, class.area_bytes, marks);
        if area.is_null() {
            // The block stays without an ECB: no memory is no reason to look for a place to keep it.
            return null_mut();
        }
        (*block).shared.lock().begin(area);
        (*block).area.store(area, Ordering::Relaxed);
    }
    block
}

/// Takes a block back whose ECB has ended, with what its area holds up to that address.
///
/// # Safety
/// No thread is inside, and none knows it; the area is clear.
pub unsafe fn put(block: *mut ControlBlock) {
    // SAFETY: the caller's promise.
    let class = unsafe { (*block).class() };
    let mut waiting = class.waiting.lock();
    let most = LEAST_READY.max(class.alive());
    // SAFETY: the caller's promise; the area is the block's.
    unsafe {
        if waiting.count < most || sandbox::is_closed() {
            (*block).next_ready.store(waiting.first.cast(), Ordering::Relaxed);
            waiting.first = block.cast();
            waiting.count += 1;
            return;
        }
        clean(&mut waiting, block);
        if waiting.count > 2 * most {
            let further: *mut ControlBlock = waiting.first.cast();
            waiting.first = (*further).next_ready.load(Ordering::Relaxed).cast();
            waiting.count -= 1;
            clean(&mut waiting, further);
        }
    }
}

/// Gives the pages of a block back.
///
/// # Safety
/// As [`put`].
unsafe fn clean(waiting: &mut Waiting, block: *mut ControlBlock) {
    // SAFETY: the caller's promise; the area is the block's.
    unsafe {
        let area = (*block).area.load(Ordering::Relaxed);
        // The last page ends with the header of the next block.
        let pages = (*area).bytes() - PAGE;
        // If the kernel refuses, the pages stay.
        let _ = syscall::madvise((*area).start() as *mut u8, pages, syscall::MADV_DONTNEED);
        (*block).next_ready.store(waiting.clean.cast(), Ordering::Relaxed);
    }
    waiting.clean = block.cast();
}

/// A block that no ECB ever had.
fn new_block(class: &'static Class) -> *mut ControlBlock {
    let _made = MAKING.lock();
    let index = COUNT.load(Ordering::Relaxed);
    let Some(chunk) = BLOCKS.get(index as usize / CHUNK) else { return null_mut() };
    if (index as usize).is_multiple_of(CHUNK) {
        let new: *mut ControlBlock = OWN.lock().get(CHUNK * size_of::<ControlBlock>()).cast();
        if new.is_null() {
            return new;
        }
        chunk.store(new, Ordering::Release);
    }
    // SAFETY: the chunk has room for it, and no thread knows it.
    let block = unsafe { chunk.load(Ordering::Relaxed).add(index as usize % CHUNK) };
    // SAFETY: as above.
    unsafe {
        block.write(ControlBlock {
            gate: Gate::new(),
            returned: Inbox::new(),
            marks: [0; PAGE_MARKS],
            shared: Lock::new(Shared::NONE),
            area: AtomicPtr::new(null_mut()),
            class: AtomicPtr::new(core::ptr::from_ref(class).cast_mut()),
            next_ready: AtomicPtr::new(null_mut()),
            chains: Bits::new(),
            kept: AtomicU8::new(0),
            is_threaded: AtomicU8::new(0),
            named: AtomicPtr::new(null_mut()),
            counts_each: AtomicU8::new(0),
            index,
        });
        // The first generation is 1, so that a number of 0 is none.
        (*block).gate.close();
    }
    COUNT.store(index + 1, Ordering::Release);
    block
}
