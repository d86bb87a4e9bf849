//! A heap as a value: its segments, the heaps of its threads, and its settings.
//!
//! ```text
//! slot -> ThreadHeap --heap--> Heap { space, threads, settings } <--heap-- Segment <-- page map <-- an address
//! ```
//!
//! A request goes to the heap of the calling thread's `ThreadHeap`. A free goes to the heap of the segment around the address.
//!
//! Invariant: a `Heap` keeps its address for ever, so that references to it are `'static`.
//! Not here: operations on segments (`space`) and cells (`thread`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use underbar_sys::lock::Lock;

use super::account::Account;
use super::code::Code;
use super::extent::Extent;
use super::gate::Gate;
use super::index::{Heads, OF_DEFAULT};
use super::line::Line;
use super::map::{Descriptor, SEGMENT};
use super::size::LARGEST_CELL;
use super::slot;
use super::space::{Disposition, Policy, Segment, Space};
use super::thread::{self, Threads};
use super::turnover::Turnover;

/// One heap. Order of locks: the registry, `threads`, `space`, and last the stores of all heaps (`private_storage`, and spare
/// heaps of threads). No thread holds locks of two heaps, except in a fork, which takes all `threads` first.
pub struct Heap {
    /// The heaps of its threads.
    pub threads: Lock<Threads>,
    /// Its segments.
    pub space: Lock<Space>,
    /// Its settings.
    pub settings: Settings,
    /// The classes of large cells that it has.
    pub turnover: Turnover,
    /// When a thread should next look at idle, parked or free storage: nanoseconds of the coarse clock, `u64::MAX` for never.
    /// That of the default heap is no later than those of heaps that last. Written under the lock of `space`, of `threads`, and of a
    /// lasting heap's, relaxed: a hint.
    /// Apart, since each list of cells reads it.
    pub next_look: Line<AtomicU64>,
    /// When heaps of threads that have ended are to be emptied; `u64::MAX`: none is. Written under the lock of `threads`, read by a look,
    /// relaxed: a hint.
    pub next_emptying: AtomicU64,
    /// Entered by threads that get storage from it, and closed at its end.
    pub gate: Line<Gate>,
    /// Its row in the ledger.
    pub account: Account,
    /// The program that it serves, if it is the heap of an enclave.
    pub code: Code,
    /// The heap of the enclave with which it ends at the latest; null if it has none. Written before its number is known.
    pub owner: AtomicPtr<Heap>,
    /// It is the owner of heaps. Relaxed: read when no thread is inside.
    pub owns: AtomicBool,
    /// Neighbours in a list of the registry; under its lock.
    pub next: AtomicPtr<Heap>,
    pub previous: AtomicPtr<Heap>,
    /// The next of the heaps that their threads have left (`of_threads`), under the same lock; or that last, see [`lasts`].
    pub left: AtomicPtr<Heap>,
    /// Its number, by which a program names it: 0 for the default heap, [`UNNUMBERED`] if it has none. Written under the lock of
    /// the registry before any thread knows the heap; relaxed.
    pub number: AtomicU32,
}

/// Small requests are served from pools (HEAPPOOLS).
pub const POOLS: usize = 1;
/// Each request is counted by its size (RPTSTG).
pub const COUNTS_EACH: usize = 2;

/// The number of a heap that programs do not name by a number.
pub const UNNUMBERED: u32 = u32::MAX;

/// What HEAP, STORAGE, HEAPCHK and HEAPZONES say, as the paths of requests need it. Set before the first request. On a cache line of its
/// own: each list of cells reads it, and no thread writes next to it.
#[repr(align(64))]
pub struct Settings {
    /// Requests of fewer bytes are served by cells; 0: each request is an element.
    cells_below: AtomicUsize,
    /// Bytes of an extent, at least; smaller if the increment is small.
    extent_bytes: AtomicUsize,
    /// 256 + the byte that fills storage when got, and when freed; 0: no fill.
    fill_get: AtomicUsize,
    fill_free: AtomicUsize,
    /// [`FILLS`], [`WATCHES`], [`LIMITED`], [`SAMPLES`]; 0: requests go the usual way. [`UNKNOWN`] until the options were read.
    special: AtomicUsize,
    /// [`POOLS`] and [`COUNTS_EACH`]; 0: requests have the usual cells.
    pools: AtomicUsize,
    /// `cells_below` as it would be if requests were not counted one by one.
    counted_below: AtomicUsize,
}

/// Storage is filled when got or freed.
const FILLS: usize = 1;
/// Requests are checked and traced, and each is an element, because of HEAPCHK or HEAPZONES.
const WATCHES: usize = 2;
/// The options were not read yet.
const UNKNOWN: usize = 4;
/// Addresses of this heap are below a limit, so that its elements may not move elsewhere.
const LIMITED: usize = 8;
/// It is the heap of a class of ECBs: requests of threads go to their seats.
const ECBS: usize = 16;
/// Requests are sampled (SITES).
const SAMPLES: usize = 32;

/// The heap in which each thread begins.
pub static DEFAULT: Heap = Heap {
    gate: Line(Gate::for_ever()),
    number: AtomicU32::new(0),
    ..Heap::new(&raw const DEFAULT, &raw mut OF_DEFAULT)
};

// SAFETY: everything that changes is behind a lock, or atomic.
unsafe impl Sync for Heap {}

impl Heap {
    /// A heap without segments, at that address. Null: the lists of its free blocks come with its first segment.
    pub const fn new(here: *const Heap, heads: *mut Heads) -> Self {
        Self {
            threads: Lock::new(Threads::new()),
            space: Lock::new(Space::new(here, heads)),
            settings: Settings {
                cells_below: AtomicUsize::new(LARGEST_CELL + 1),
                extent_bytes: AtomicUsize::new(64 * 1024),
                fill_get: AtomicUsize::new(0),
                fill_free: AtomicUsize::new(0),
                special: AtomicUsize::new(UNKNOWN),
                pools: AtomicUsize::new(0),
                counted_below: AtomicUsize::new(0),
            },
            turnover: Turnover::new(),
            next_look: Line(AtomicU64::new(u64::MAX)),
            next_emptying: AtomicU64::new(u64::MAX),
            gate: Line(Gate::new()),
            account: Account::new(),
            code: Code::new(),
            owner: AtomicPtr::new(null_mut()),
            owns: AtomicBool::new(false),
            next: AtomicPtr::new(null_mut()),
            previous: AtomicPtr::new(null_mut()),
            left: AtomicPtr::new(null_mut()),
            number: AtomicU32::new(UNNUMBERED),
        }
    }

    /// Applies HEAP and STORAGE, and whether requests are watched. Before the first request.
    ///
    /// If the heap is `watched` (HEAPCHK, HEAPZONES), each request is an element: its header reveals each wrong free, and each write
    /// past its end.
    pub fn configure(&self, policy: Policy, getheap: Option<u8>, freeheap: Option<u8>, watched: bool) {
        let fill = |byte: Option<u8>| byte.map_or(0, |byte| 256 + usize::from(byte));
        let settings = &self.settings;
        settings.fill_get.store(fill(getheap), Ordering::Relaxed);
        settings.fill_free.store(fill(freeheap), Ordering::Relaxed);
        let fills = if getheap.is_some() || freeheap.is_some() { FILLS } else { 0 };
        settings.special.store(fills | if watched { WATCHES } else { 0 }, Ordering::Relaxed);
        let smallest = match (policy.initial, policy.increment) {
            (_, 0) => usize::MAX,
            (0, increment) => increment,
            (initial, increment) => initial.min(increment),
        };
        // Cells would hide when an increment becomes empty (FREE), and their extents must fit into a segment. A large cell wastes
        // address space, not memory, since its last pages are never touched. But if the size of segments was set, address space
        // matters, so large requests are packed as elements.
        let (below, extent) = if watched || policy.disposition == Disposition::Free || smallest < 16 * 1024 {
            (0, 4096)
        } else if smallest < 1 << 20 {
            (513, 4096)
        } else if smallest < usize::MAX {
            (8193, 64 * 1024)
        } else {
            (LARGEST_CELL + 1, 64 * 1024)
        };
        settings.cells_below.store(below, Ordering::Relaxed);
        settings.extent_bytes.store(extent, Ordering::Relaxed);
        self.space.lock().set_policy(policy);
    }

    /// Like [`Heap::configure`], with the STORAGE, HEAPCHK, RPTSTG and SITES settings of another heap.
    pub fn configure_as(&self, other: &Heap, policy: Policy) {
        let settings = &other.settings;
        self.configure(policy, settings.fill_get(), settings.fill_free(), settings.is_watched());
        self.settings.pools.store(0, Ordering::Relaxed);
        if settings.counts_each() {
            self.make_pooled(COUNTS_EACH);
        }
        if settings.samples() {
            self.settings.sample();
        }
    }

    /// Requests are served from pools, or counted one by one. After [`Heap::configure`], before the first request. Then no request
    /// has the usual cells.
    pub fn make_pooled(&self, how: usize) {
        let settings = &self.settings;
        if settings.pools.fetch_or(how, Ordering::Relaxed) == 0 {
            let below = settings.cells_below.swap(0, Ordering::Relaxed);
            settings.counted_below.store(below, Ordering::Relaxed);
        }
    }

    /// Whether some idle storage waits for a look.
    #[inline(always)]
    fn is_look_ahead(&self) -> bool {
        self.next_look.load(Ordering::Relaxed) != u64::MAX
    }

    /// Runs a due look at this heap, for threads that have no other business with the space: a program that has freed most of its
    /// storage may never need the space again.
    #[inline(always)]
    pub(super) fn heartbeat_if_due(&self) {
        if self.is_look_due()
            && let Some(mut space) = self.space.try_lock()
        {
            space.heartbeat();
            drop(space);
            thread::empty_old(self);
            if core::ptr::eq(self, &DEFAULT) {
                look_at_lasting();
            }
        }
    }
}

impl Settings {
    /// Is a request of this many bytes served by a cell?
    #[inline]
    pub fn has_cells_of(&self, bytes: usize) -> bool {
        bytes < self.cells_below.load(Ordering::Relaxed)
    }

    /// Has this heap pools, or counts requests one by one?
    #[inline]
    pub fn is_pooled(&self) -> bool {
        self.pools.load(Ordering::Relaxed) != 0
    }

    /// Are small requests served from pools?
    pub fn has_pools(&self) -> bool {
        self.pools.load(Ordering::Relaxed) & POOLS != 0
    }

    /// Is each request counted by its size?
    pub fn counts_each(&self) -> bool {
        self.pools.load(Ordering::Relaxed) & COUNTS_EACH != 0
    }

    /// As [`Settings::has_cells_of`], in a heap that counts requests one by one and has no pools.
    pub fn has_cells_when_counted(&self, bytes: usize) -> bool {
        bytes < self.counted_below.load(Ordering::Relaxed)
    }

    /// Bytes of an extent, at least.
    pub fn extent_bytes(&self) -> usize {
        self.extent_bytes.load(Ordering::Relaxed)
    }

    /// The byte with which storage is filled when got.
    #[inline]
    pub fn fill_get(&self) -> Option<u8> {
        filled_with(&self.fill_get)
    }

    /// The byte with which storage is filled when given back.
    #[inline]
    pub fn fill_free(&self) -> Option<u8> {
        filled_with(&self.fill_free)
    }

    /// Whether storage is filled, so that fast paths must not be taken.
    #[inline]
    pub fn fills(&self) -> bool {
        self.special.load(Ordering::Relaxed) & FILLS != 0
    }

    /// Whether requests are filled, checked or traced, or the options were not read yet.
    #[inline(always)]
    pub fn are_special(&self) -> bool {
        self.special.load(Ordering::Relaxed) != 0
    }

    /// Elements keep to this heap from now on, also when they grow. None of them is a sample, since samples move as others do.
    pub fn keep_within(&self) {
        self.sample_no_more();
        self.special.fetch_or(LIMITED, Ordering::Relaxed);
    }

    /// Whether a realloc goes a way of its own: the element is watched or sampled, or has to stay in this heap.
    #[inline]
    pub fn moves_specially(&self) -> bool {
        self.special.load(Ordering::Relaxed) & (WATCHES | LIMITED | SAMPLES) != 0
    }

    /// Requests are sampled. After [`Heap::configure`], before the first request.
    pub fn sample(&self) {
        self.special.fetch_or(SAMPLES, Ordering::Relaxed);
    }

    /// There are no accounts for samples after all, or no samples in this heap.
    pub fn sample_no_more(&self) {
        self.special.fetch_and(!SAMPLES, Ordering::Relaxed);
    }

    /// Whether requests are sampled.
    #[inline]
    pub fn samples(&self) -> bool {
        self.special.load(Ordering::Relaxed) & SAMPLES != 0
    }

    /// Whether samples are all that makes this heap special.
    #[inline(always)]
    pub fn only_samples(&self) -> bool {
        self.special.load(Ordering::Relaxed) == SAMPLES
    }

    /// Whether nothing but samples makes this heap special.
    #[inline(always)]
    pub fn are_usual(&self) -> bool {
        self.special.load(Ordering::Relaxed) & !SAMPLES == 0
    }

    /// Requests of threads go to their seats in ECBs, and are not sampled. After [`Heap::configure`], before the first request.
    pub fn serve_ecbs(&self) {
        self.sample_no_more();
        self.special.fetch_or(ECBS, Ordering::Relaxed);
    }

    /// Whether requests of threads go to their seats in ECBs.
    #[inline]
    pub fn serves_ecbs(&self) -> bool {
        self.special.load(Ordering::Relaxed) & ECBS != 0
    }

    /// Whether elements have to stay in this heap.
    pub fn has_limit(&self) -> bool {
        self.special.load(Ordering::Relaxed) & LIMITED != 0
    }

    /// Whether requests are checked and traced.
    #[inline]
    pub fn is_watched(&self) -> bool {
        self.special.load(Ordering::Relaxed) & WATCHES != 0
    }
}

#[inline]
fn filled_with(byte: &AtomicUsize) -> Option<u8> {
    let byte = byte.load(Ordering::Relaxed);
    (byte != 0).then_some(byte as u8)
}

/// Whether some idle storage waits for a look, in the heap that serves the calling thread or in the default one.
#[inline(always)]
pub fn is_look_ahead() -> bool {
    current().is_look_ahead() || DEFAULT.is_look_ahead()
}

/// Runs a due look at idle storage: in the heap that serves the calling thread, and in the default one.
#[inline(always)]
pub fn heartbeat_if_due() {
    let here = current();
    here.heartbeat_if_due();
    if !core::ptr::eq(here, &DEFAULT) {
        DEFAULT.heartbeat_if_due();
    }
}

/// Heaps that are never ended and that threads may have left: those of classes of ECBs, linked by `left`. Written under the lock under
/// which classes are made (Release), read by any thread (Acquire).
static LASTING: AtomicPtr<Heap> = AtomicPtr::new(core::ptr::null_mut());

/// A heap lasts: threads that have business with the default heap only look after its idle storage, too. Once for each heap, under one
/// lock.
pub fn lasts(heap: &'static Heap) {
    heap.left.store(LASTING.load(Ordering::Relaxed), Ordering::Relaxed);
    LASTING.store(core::ptr::from_ref(heap).cast_mut(), Ordering::Release);
}

fn each_lasting(mut then: impl FnMut(&'static Heap)) {
    let mut next = LASTING.load(Ordering::Acquire);
    // SAFETY: heaps stay where they are for ever.
    while let Some(heap) = unsafe { next.as_ref() } {
        then(heap);
        next = heap.left.load(Ordering::Relaxed);
    }
}

#[cold]
fn look_at_lasting() {
    each_lasting(Heap::heartbeat_if_due);
}

/// When the first of the lasting heaps needs a look; `u64::MAX`: none does.
pub fn next_look_of_lasting() -> u64 {
    let mut next = u64::MAX;
    each_lasting(|heap| next = next.min(heap.next_look.load(Ordering::Relaxed)));
    next
}

/// The heap that serves the calling thread's requests.
#[inline]
pub fn current() -> &'static Heap {
    // SAFETY: the slot holds the address of a thread's heap, which names one for ever.
    unsafe { (*slot::get()).heap }
}

/// The heap whose storage a page is.
///
/// # Safety
/// The descriptor is that of a page in which the caller has something in use.
#[inline]
pub unsafe fn of(descriptor: *mut Descriptor) -> &'static Heap {
    // SAFETY: the caller's promise, so that the descriptor and its segment stay what they are.
    unsafe {
        let segment: *mut Segment = if (*descriptor).owner.load(Ordering::Relaxed) == SEGMENT {
            descriptor.cast()
        } else {
            (*descriptor.cast::<Extent>()).segment.cast()
        };
        &*(*segment).heap
    }
}
