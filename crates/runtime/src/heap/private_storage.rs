//! underbar's own storage for descriptors and thread heaps, apart from the program's segments: one store for all heaps.
//!
//! It outlives each heap: a descriptor stays readable after its heap has ended.
//!
//! Invariant: what was handed out stays mapped for ever, so a stale pointer to a descriptor may be read, but its content is not
//! trusted. Unused descriptors wait in a list and are used again.
//! Not here: the page map's leaves, and the ledger.

use core::ptr::null_mut;

use underbar_ledger::Key;
use underbar_sys::lock::Lock;
use underbar_sys::syscall;

use crate::ledger;

/// The first chunk, unless ANYHEAP says otherwise. Later ones grow with the total, which keeps kernel calls few.
const CHUNK: usize = 64 * 1024;

/// The store of all heaps. Its lock is the last one that is taken.
pub static OWN: Lock<Own> = Lock::new(Own::new());

/// A store of 64-byte pieces.
pub struct Own {
    at: usize,
    end: usize,
    spare: *mut Spare,
    spare_indexes: *mut Spare,
    spare_areas: *mut Spare,
    /// Bytes got from the kernel for this.
    chunks: usize,
    /// Bytes of the first chunk, and of each further one at least, as ANYHEAP says; 0: AUTO.
    sizes: [usize; 2],
    /// Bytes got from the kernel for this and for the page map.
    pub bytes: usize,
    /// Number and bytes of the segments of all heaps: the kernel limits the sum, and the ledger records it.
    pub segments: usize,
    pub segment_bytes: usize,
    /// Requests, pieces that came back, and mappings: in all, and as the ledger knows.
    counts: [u64; 3],
    told: [u64; 3],
}

/// So many requests are told to the ledger at the latest.
const UNTOLD: u64 = 256;

struct Spare {
    next: *mut Spare,
}

// SAFETY: the pointers are to memory that no thread calls its own.
unsafe impl Send for Own {}

impl Own {
    /// Nothing yet.
    const fn new() -> Self {
        Self {
            at: 0,
            end: 0,
            spare: null_mut(),
            spare_indexes: null_mut(),
            spare_areas: null_mut(),
            chunks: 0,
            sizes: [0; 2],
            bytes: 0,
            segments: 0,
            segment_bytes: 0,
            counts: [0; 3],
            told: [0; 3],
        }
    }

    /// Obeys ANYHEAP, with its two sizes. Before the first request.
    pub fn configure(&mut self, sizes: [usize; 2]) {
        self.sizes = sizes;
    }

    /// Zeroed storage, aligned to 64 bytes; null if the kernel has none.
    pub fn get(&mut self, bytes: usize) -> *mut u8 {
        self.count();
        let before = self.chunks;
        let given = self.cut(bytes);
        if self.chunks > before {
            // The bytes of a chunk are many, and chunks few.
            self.tell();
        }
        given
    }

    /// Counts a request.
    fn count(&mut self) {
        self.counts[0] += 1;
        if self.counts[0] - self.told[0] > UNTOLD {
            self.tell();
        }
    }

    /// Tells the ledger.
    pub fn tell(&mut self) {
        ledger::set(Key::HeapOwnBytes, self.bytes as u64);
        let keys = [Key::AnyHeapGets, Key::AnyHeapFrees, Key::AnyHeapSegmentsAllocated];
        for ((key, count), told) in keys.into_iter().zip(self.counts).zip(&mut self.told) {
            let more = count - core::mem::replace(told, count);
            if more > 0 {
                ledger::add(key, more);
            }
        }
    }

    /// What is not told is another process's: this one is its forked child.
    pub fn forget_untold(&mut self) {
        self.told = self.counts;
    }

    /// The page map has got that many mappings from the kernel, of so many bytes in all.
    pub fn count_map(&mut self, mappings: usize, bytes: usize) {
        self.bytes += bytes;
        self.counts[0] += mappings as u64;
        self.counts[2] += mappings as u64;
    }

    fn cut(&mut self, bytes: usize) -> *mut u8 {
        let bytes = bytes.next_multiple_of(64);
        if self.end - self.at < bytes {
            let usual = match self.sizes[usize::from(self.chunks > 0)] {
                0 => CHUNK.max(self.chunks / 2),
                set => set,
            };
            let chunk = usual.max(bytes).next_multiple_of(4096);
            let Ok(start) = syscall::map_anonymous(chunk) else { return null_mut() };
            self.bytes += chunk;
            self.counts[2] += 1;
            self.chunks += chunk;
            (self.at, self.end) = (start as usize, start as usize + chunk);
        }
        let given = self.at as *mut u8;
        self.at += bytes;
        given
    }

    /// A descriptor's worth of storage, with whatever its last user left in it.
    pub fn get_descriptor(&mut self) -> *mut u8 {
        if self.spare.is_null() {
            return self.get(DESCRIPTOR);
        }
        self.count();
        let given = self.spare;
        // SAFETY: a spare descriptor is ours and begins with the link.
        self.spare = unsafe { (*given).next };
        given.cast()
    }

    /// Storage for the descriptor of an ECB's area, as [`Self::get_descriptor`].
    pub fn get_area(&mut self) -> *mut u8 {
        if self.spare_areas.is_null() {
            return self.get(AREA_DESCRIPTOR);
        }
        let given = self.spare_areas;
        // SAFETY: as above.
        self.spare_areas = unsafe { (*given).next };
        given.cast()
    }

    /// Takes such storage back.
    ///
    /// # Safety
    /// It came from `get_area`, and nobody will write to it any more.
    pub unsafe fn put_area(&mut self, area: *mut u8) {
        let spare: *mut Spare = area.cast();
        // SAFETY: the caller's promise.
        unsafe { (*spare).next = self.spare_areas };
        self.spare_areas = spare;
    }

    /// [`INDEX`] zero bytes.
    pub fn get_index(&mut self) -> *mut u8 {
        if self.spare_indexes.is_null() {
            return self.get(INDEX);
        }
        self.count();
        let given = self.spare_indexes;
        // SAFETY: a spare one is ours, and zero except for the link.
        self.spare_indexes = unsafe { core::mem::replace(&mut (*given).next, null_mut()) };
        given.cast()
    }

    /// Takes the storage of an index back.
    ///
    /// # Safety
    /// It came from `get_index`, is zero again, and nobody will write to it any more.
    pub unsafe fn put_index(&mut self, index: *mut u8) {
        self.counts[1] += 1;
        let spare: *mut Spare = index.cast();
        // SAFETY: the caller's promise.
        unsafe { (*spare).next = self.spare_indexes };
        self.spare_indexes = spare;
    }

    /// Takes a descriptor back.
    ///
    /// # Safety
    /// It came from `get_descriptor`, and nobody will write to it any more.
    pub unsafe fn put_descriptor(&mut self, descriptor: *mut u8) {
        self.counts[1] += 1;
        let spare: *mut Spare = descriptor.cast();
        // SAFETY: the caller's promise.
        unsafe { (*spare).next = self.spare };
        self.spare = spare;
    }
}

/// Bytes of the lists of an index.
pub const INDEX: usize = 42 * 32 * size_of::<usize>();

/// Room for one extent or segment.
pub const DESCRIPTOR: usize = 128;

/// Room for the descriptor of an ECB's area.
pub const AREA_DESCRIPTOR: usize = 192;
