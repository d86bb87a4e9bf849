//! Classes of ECBs: a heap and lists for each, and control blocks that wait for the next ECB.
//!
//! ```text
//! class "SSL" ── heap (its row in the ledger) ── areas, frames, large buffers
//!      | lists: the sizes of AVL1 to AVL5
//!      '-- ready: control block + area ── control block + area         the last one that ended is the next one
//! ```
//!
//! An ECB that ends leaves its control block and its area to the next one of the class: first to one of the same thread, without a
//! lock. As many wait as ECBs are alive, and at least [`LEAST_READY`]; the pages of further ones go back to the kernel.
//!
//! Invariant: a class is never removed. A block that waits has a closed generation, a clear area, and no thread inside.
//! Not here: an ECB that is alive (`control_block`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Ordering};

use underbar_ledger::HeapKind;
use underbar_sys::lock::Lock;
use underbar_sys::syscall;

use super::super::gate::Gate;
use super::super::inbox::Inbox;
use super::super::map::PAGE;
use super::super::object::{DEFAULT, Heap, UNNUMBERED};
use super::super::private_storage::OWN;
use super::super::registry;
use super::super::space::HugePages;
use super::area::{Area, PAGE_MARKS, Uncut};
use super::control_block::{ControlBlock, Shared};
use super::lists::{AVAILABLE, Lists};
use super::seat::Seat;
use crate::sandbox;

/// Classes with a row of their own; later ones share the last.
pub const CLASSES: usize = 12;
/// Bytes of the name of a class that are kept.
pub const NAME: usize = 32;
/// At least so many blocks keep their pages while they wait.
const LEAST_READY: usize = 64;
/// Control blocks that are made at a time, and how often.
const CHUNK: usize = 64;
const CHUNKS: usize = 16_384;
/// One ECB in so many is counted request by request.
const COUNTED: usize = 32;
/// The sizes of the available lists of a class without any of its own.
const STANDARD: [u32; AVAILABLE] = [32, 64, 128, 256, 512];

/// One class.
pub struct Class {
    name: [u8; NAME],
    length: usize,
    heap: &'static Heap,
    /// The sizes of its buffers.
    pub lists: Lists,
    /// ECBs alive; relaxed: a hint for how many blocks may wait.
    alive: AtomicUsize,
    /// ECBs created, as far as it matters for who is counted; relaxed.
    created: AtomicUsize,
    frames: AtomicUsize,
    ready: Lock<Waiting>,
}

/// Blocks that wait.
struct Waiting {
    first: *mut ControlBlock,
    count: usize,
    /// Blocks without pages in memory.
    clean: *mut ControlBlock,
    uncut: Uncut,
}

// SAFETY: followed under the lock only.
unsafe impl Send for Waiting {}

/// The classes, the first ones filled. Written under [`MAKING`] (Release), read by any thread (Acquire).
static ALL: [AtomicPtr<Class>; CLASSES] = [const { AtomicPtr::new(null_mut()) }; CLASSES];
/// The control blocks, by number; as above.
static BLOCKS: [AtomicPtr<ControlBlock>; CHUNKS] = [const { AtomicPtr::new(null_mut()) }; CHUNKS];
/// How many control blocks there are.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// What is made once and kept. This lock comes after the registry of heaps, and before all other locks.
pub static MAKING: Lock<Made> = Lock::new(Made { spare_seats: null_mut() });

/// Under [`MAKING`].
pub struct Made {
    /// Seats of threads that have ended, linked by `deeper`.
    pub spare_seats: *mut Seat,
}

// SAFETY: followed under the lock only.
unsafe impl Send for Made {}

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

/// The class of that name, made if missing. None if there is no memory.
pub fn of(name: &[u8]) -> Option<&'static Class> {
    let name = if name.is_empty() { b"ECB" } else { &name[..name.len().min(NAME)] };
    if let Some(class) = known(name) {
        return Some(class);
    }
    // The registry's lock comes first.
    let policy = {
        let mut policy = DEFAULT.space.lock().policy();
        (policy.initial, policy.increment) = (0, 0);
        // Areas are larger than what most ECBs touch of them.
        policy.huge_pages = HugePages::Off;
        policy
    };
    let mut registry = registry::REGISTRY.lock();
    let _made = MAKING.lock();
    if let Some(class) = known(name) {
        return Some(class);
    }
    let free = ALL.iter().find(|class| class.load(Ordering::Relaxed).is_null())?;
    let handle = registry::create_in(&mut registry, HeapKind::Class, name, policy, UNNUMBERED)?;
    handle.heap.settings.serve_ecbs();
    let place: *mut Class = OWN.lock().get(size_of::<Class>()).cast();
    if place.is_null() {
        return None;
    }
    let mut kept = [0; NAME];
    kept[..name.len()].copy_from_slice(name);
    // SAFETY: new storage of that size, aligned to 64.
    unsafe {
        place.write(Class {
            name: kept,
            length: name.len(),
            heap: handle.heap,
            lists: Lists::new(STANDARD),
            alive: AtomicUsize::new(0),
            created: AtomicUsize::new(0),
            frames: AtomicUsize::new(0),
            ready: Lock::new(Waiting { first: null_mut(), count: 0, clean: null_mut(), uncut: Uncut::NONE }),
        });
    }
    free.store(place, Ordering::Release);
    // SAFETY: it stays for ever.
    unsafe { place.as_ref() }
}

/// A class that is there; the last one, if there is room for no other.
fn known(name: &[u8]) -> Option<&'static Class> {
    let mut last = None;
    for class in &ALL {
        // SAFETY: classes stay for ever.
        let class = unsafe { class.load(Ordering::Acquire).as_ref() }?;
        if class.name() == name {
            return Some(class);
        }
        last = Some(class);
    }
    last
}

/// Calls `then` for each class.
pub fn each(mut then: impl FnMut(&'static Class)) {
    for class in &ALL {
        // SAFETY: classes stay for ever.
        if let Some(class) = unsafe { class.load(Ordering::Acquire).as_ref() } {
            then(class);
        }
    }
}

impl Class {
    /// Its name.
    pub fn name(&self) -> &[u8] {
        &self.name[..self.length]
    }

    /// Its heap, with its row in the ledger.
    #[inline(always)]
    pub fn heap(&self) -> &'static Heap {
        self.heap
    }

    /// Counts a frame.
    pub fn count_frame(&self) {
        self.frames.fetch_add(1, Ordering::Relaxed);
    }

    /// A block for a new ECB, with a clear area: one that waits, or a new one. Null if there is no memory.
    pub fn take(&'static self) -> *mut ControlBlock {
        let mut waiting = self.ready.lock();
        let mut block = waiting.first;
        // SAFETY: blocks that wait are the class's, under the lock.
        unsafe {
            if !block.is_null() {
                waiting.first = (*block).next_ready.load(Ordering::Relaxed);
                waiting.count -= 1;
            } else if !waiting.clean.is_null() {
                block = waiting.clean;
                waiting.clean = (*block).next_ready.load(Ordering::Relaxed);
            }
        }
        drop(waiting);
        if block.is_null() { self.make() } else { block }
    }

    #[cold]
    fn make(&'static self) -> *mut ControlBlock {
        let block = new_block(self);
        if block.is_null() {
            return block;
        }
        // SAFETY: the block is new; its marks stay where they are.
        unsafe {
            let marks = (&raw mut (*block).marks).cast();
            let area = Area::cut(self.heap, &mut self.ready.lock().uncut, marks);
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
    pub unsafe fn put(&self, block: *mut ControlBlock) {
        let mut waiting = self.ready.lock();
        let most = LEAST_READY.max(self.alive.load(Ordering::Relaxed));
        // SAFETY: the caller's promise; the area is the block's.
        unsafe {
            if waiting.count < most || sandbox::is_closed() {
                (*block).next_ready.store(waiting.first, Ordering::Relaxed);
                waiting.first = block;
                waiting.count += 1;
                return;
            }
            let area = (*block).area.load(Ordering::Relaxed);
            // The last page ends with the header of the next block.
            let pages = (*area).bytes() - PAGE;
            // If the kernel refuses, the pages stay.
            let _ = syscall::madvise((*area).start() as *mut u8, pages, syscall::MADV_DONTNEED);
            (*block).next_ready.store(waiting.clean, Ordering::Relaxed);
            waiting.clean = block;
        }
    }

    /// An ECB begins. Whether it is to be counted request by request.
    pub fn begins(&self) -> bool {
        self.alive.fetch_add(1, Ordering::Relaxed);
        let number = self.created.fetch_add(1, Ordering::Relaxed);
        self.heap.settings.counts_each() || number % COUNTED == COUNTED - 1
    }

    /// An ECB has ended.
    pub fn ends(&self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }

    /// Is no thread at the blocks that wait?
    pub fn is_quiet(&self) -> bool {
        self.ready.try_lock().is_some()
    }

    /// The lock of the blocks that wait, for a fork.
    pub fn hold(&self) {
        self.ready.hold();
    }

    /// Gives it back.
    ///
    /// # Safety
    /// This thread called [`Self::hold`].
    pub unsafe fn release(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.ready.release() }
    }
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
            chains: AtomicU8::new(0),
            is_threaded: AtomicU8::new(0),
            counts_each: AtomicU8::new(0),
            index,
        });
        // The first generation is 1, so that a number of 0 is none.
        (*block).gate.close();
    }
    COUNT.store(index + 1, Ordering::Release);
    block
}
