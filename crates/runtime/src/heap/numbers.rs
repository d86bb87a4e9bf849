//! Numbers of heaps: a program names a heap by a positive number, and 0 is the default one, or that of its enclave.
//!
//! ```text
//! id     generation << 17 | place         so the first ids are 131,072 and more: a small number is no id by mistake
//! place  chunk of 1,024 entries, mapped when its first place is needed
//! entry  heap, and a word: generation << 32 | generation of the heap's gate; 0: no heap
//!
//! find            word, heap, word again: the same word, so they belong together            any thread, no lock
//! create, discard under the lock of the registry; a place waits while 1,024 others do, and places are left
//! ```
//!
//! A number that was found may end at once; who uses it enters the heap's gate, which knows.
//!
//! Invariant: an id is in use at most once. It comes back only after [`GENERATIONS`] further heaps in its place.
//! Cost: create and discard do not depend on how many heaps there are.
//! Not here: what the services do with a heap (`services`), and its end (`registry`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use underbar_ledger::HeapKind;
use underbar_sys::lock::Guard;

use super::map::{self, SEGMENT};
use super::object::{DEFAULT, Heap};
use super::private_storage::OWN;
use super::registry::{self, Handle, REGISTRY, Refused, Registry};
use super::space::{Policy, Segment, around};
use crate::start;

const PLACE_BITS: u32 = 17;
const PLACES: u32 = 1 << PLACE_BITS;
/// Generations of a place: they fit into the rest of a positive number, and none is 0.
const GENERATIONS: u32 = (1 << (31 - PLACE_BITS)) - 1;
/// More places than this wait before the first of them is used again, as long as there are others.
const WAITING: u32 = 1024;
const CHUNK: usize = 1024;

/// Heaps that can exist at one time, besides the default one, which has place 0.
#[cfg(test)]
pub const MOST: u32 = PLACES - 1;

/// One place.
struct Entry {
    /// The heap; meaningful if the word is not 0. Written (Release) after the word became 0 and before its next value; read
    /// (Acquire) between two reads of the word, so that a newer heap shows in the second one.
    heap: AtomicPtr<Heap>,
    /// See the drawing. Written under the lock of the registry.
    word: AtomicU64,
    /// The last generation, and the next place that waits; under the lock of the registry.
    generation: AtomicU32,
    next: AtomicU32,
}

/// Chunks are set once, under the lock of the registry (Release), and stay.
static CHUNKS: [AtomicPtr<[Entry; CHUNK]>; PLACES as usize / CHUNK] =
    [const { AtomicPtr::new(null_mut()) }; PLACES as usize / CHUNK];

/// Places that were never used begin here; those that wait for their next use, the one that waits longest first. Under the lock
/// of the registry; relaxed.
static FRESH: AtomicU32 = AtomicU32::new(1);
static FIRST: AtomicU32 = AtomicU32::new(0);
static LAST: AtomicU32 = AtomicU32::new(0);
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Why no heap was created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failed {
    /// Every place has one.
    Full,
    /// There is no memory.
    NoMemory,
}

/// The heap with that id. It may end at any moment.
pub fn find(id: i32) -> Option<Handle> {
    if id <= 0 {
        return (id == 0).then(registry::default);
    }
    let (place, generation) = (id as u32 % PLACES, id as u32 >> PLACE_BITS);
    at(place, |word| (word >> 32) as u32 == generation)
}

/// The heap that an address is in, if it has a number. It may be wrong if the address is not that of something in use.
pub fn find_around(address: usize) -> Option<Handle> {
    // The map folds higher addresses onto these.
    if address >= map::END {
        return None;
    }
    // SAFETY: descriptors stay readable for ever, and the number of one that is not live is not trusted.
    let number = unsafe {
        let descriptor = around(address).as_ref()?;
        if descriptor.owner.load(Ordering::Relaxed) != SEGMENT {
            return None;
        }
        let segment: *const Segment = core::ptr::from_ref(descriptor).cast();
        (*segment).number.load(Ordering::Relaxed)
    };
    match number {
        0 => Some(registry::default()),
        place => at(place, |_| true),
    }
}

fn at(place: u32, is_it: impl Fn(u64) -> bool) -> Option<Handle> {
    let entry = entry(place)?;
    let word = entry.word.load(Ordering::Acquire);
    let heap = entry.heap.load(Ordering::Acquire);
    if word == 0 || !is_it(word) || entry.word.load(Ordering::Relaxed) != word {
        return None;
    }
    // SAFETY: the word was written after this heap, and heaps stay where they are for ever.
    Some(Handle { heap: unsafe { heap.as_ref()? }, generation: word as u32 })
}

fn entry(place: u32) -> Option<&'static Entry> {
    let chunk = CHUNKS.get(place as usize / CHUNK)?.load(Ordering::Acquire);
    // SAFETY: a chunk stays mapped for ever.
    Some(&unsafe { chunk.as_ref()? }[place as usize % CHUNK])
}

/// Creates a heap, and returns its id. It goes with `owner`, the heap of an enclave, at the latest, if there is one.
pub fn create(policy: Policy, owner: Option<Handle>) -> Result<i32, Failed> {
    let (id, handle) = create_as(HeapKind::Additional, b"", policy)?;
    if let Some(owner) = owner {
        handle.heap.owner.store(core::ptr::from_ref(owner.heap).cast_mut(), Ordering::Relaxed);
        owner.heap.owns.store(true, Ordering::Relaxed);
    }
    Ok(id)
}

/// Creates a heap of any kind, with a name.
pub fn create_as(kind: HeapKind, name: &[u8], policy: Policy) -> Result<(i32, Handle), Failed> {
    start::ensure();
    let mut registry = REGISTRY.lock();
    let place = take_place(&registry)?;
    let entry = entry(place).ok_or(Failed::NoMemory)?;
    let Some(handle) = registry::create_in(&mut registry, kind, name, policy, place) else {
        put_place(&registry, place, entry);
        return Err(Failed::NoMemory);
    };
    let generation = entry.generation.load(Ordering::Relaxed) % GENERATIONS + 1;
    entry.generation.store(generation, Ordering::Relaxed);
    entry.heap.store(core::ptr::from_ref(handle.heap).cast_mut(), Ordering::Release);
    entry.word.store(u64::from(generation) << 32 | u64::from(handle.generation), Ordering::Release);
    Ok(((generation << PLACE_BITS | place) as i32, handle))
}

/// Ends the heap with that id, and returns whether it was damaged. None if there is none, or if it is the default one or that of an
/// enclave.
pub fn discard(id: i32) -> Option<bool> {
    let mut registry = REGISTRY.lock();
    let is_additional =
        |handle: &Handle| !core::ptr::eq(handle.heap, &DEFAULT) && !handle.heap.code.is_some();
    let handle = find(id).filter(is_additional)?;
    let place = id as u32 % PLACES;
    let entry = entry(place)?;
    entry.word.store(0, Ordering::Relaxed);
    let was_damaged = registry::discard_in(&mut registry, handle);
    put_place(&registry, place, entry);
    was_damaged
}

/// Ends a heap with a number that no thread is inside of, and before it those that it owns.
pub fn end(handle: Handle) -> Result<(), Refused> {
    while handle.heap.owns.load(Ordering::Relaxed) {
        match owned_by(handle.heap) {
            Some(id) => drop(discard(id)),
            None => handle.heap.owns.store(false, Ordering::Relaxed),
        }
    }
    let place = handle.heap.number.load(Ordering::Relaxed);
    registry::end(handle)?;
    if let Some(entry) = (place < PLACES).then(|| entry(place)).flatten() {
        let registry = REGISTRY.lock();
        entry.word.store(0, Ordering::Relaxed);
        put_place(&registry, place, entry);
    }
    Ok(())
}

/// The id of a heap that goes with this one; it has no owner from now on.
fn owned_by(owner: &Heap) -> Option<i32> {
    let _registry = REGISTRY.lock();
    let mut found = None;
    registry::each(|heap| {
        if core::ptr::eq(heap.owner.load(Ordering::Relaxed), owner) {
            found = Some(heap);
        }
    });
    let found = found?;
    // Asked for once: a heap that cannot be ended, behind a closed sandbox, stays among the live ones.
    found.owner.store(null_mut(), Ordering::Relaxed);
    let place = found.number.load(Ordering::Relaxed);
    Some((entry(place)?.generation.load(Ordering::Relaxed) << PLACE_BITS | place) as i32)
}

/// How many places were ever used, the default heap's included.
#[cfg(test)]
pub fn places() -> u32 {
    FRESH.load(Ordering::Relaxed)
}

/// A place for a new heap.
fn take_place(_registry: &Guard<'_, Registry>) -> Result<u32, Failed> {
    let fresh = FRESH.load(Ordering::Relaxed);
    if COUNT.load(Ordering::Relaxed) > WAITING || (fresh == PLACES && COUNT.load(Ordering::Relaxed) > 0) {
        let place = FIRST.load(Ordering::Relaxed);
        if let Some(entry) = entry(place) {
            FIRST.store(entry.next.load(Ordering::Relaxed), Ordering::Relaxed);
            COUNT.fetch_sub(1, Ordering::Relaxed);
            return Ok(place);
        }
    }
    let chunk = CHUNKS.get(fresh as usize / CHUNK).ok_or(Failed::Full)?;
    if chunk.load(Ordering::Relaxed).is_null() {
        let new: *mut [Entry; CHUNK] = OWN.lock().get(size_of::<[Entry; CHUNK]>()).cast();
        if new.is_null() {
            return Err(Failed::NoMemory);
        }
        // Zeros are entries without a heap.
        chunk.store(new, Ordering::Release);
    }
    FRESH.store(fresh + 1, Ordering::Relaxed);
    Ok(fresh)
}

/// The place has no heap any more.
fn put_place(_registry: &Guard<'_, Registry>, place: u32, new: &Entry) {
    new.next.store(0, Ordering::Relaxed);
    if COUNT.fetch_add(1, Ordering::Relaxed) == 0 {
        FIRST.store(place, Ordering::Relaxed);
    } else if let Some(last) = entry(LAST.load(Ordering::Relaxed)) {
        last.next.store(place, Ordering::Relaxed);
    }
    LAST.store(place, Ordering::Relaxed);
}
