//! The heaps below the line and below the bar: storage with addresses below 16 MiB (`__malloc24`) and 2 GiB (`__malloc31`).
//!
//! ```text
//! __malloc24 ──> heap below the line ──> element of a segment that ends below 16 MiB        HEAP's init24 and incr24
//! __malloc31 ──> heap below the bar  ──> element of a segment that ends below  2 GiB        HEAP's init and incr
//! free, realloc ──> the heap around the address                                             realloc stays in it
//! __malloc31 inside an ECB ──> the ECB's part below the bar (`ecb::low`), with pages of the heap below the bar
//! ```
//!
//! Each is made with its first request, and has a row in the ledger. Linux gives such addresses only on request: a segment is mapped
//! at the first place that is free. Below the line that is 16 MiB less `vm.mmap_min_addr` (64 KiB as a rule), and less the program
//! itself if it is linked to fixed addresses.
//!
//! Invariant: an element of a heap ends below its limit; where there is no room the result is null and ENOMEM.
//! Not here: the C names (`preload`), and how a segment is divided (`space`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use underbar_ledger::HeapKind;
use underbar_options::HeapBelow;

use super::object::{DEFAULT, Heap};
use super::space::{Disposition, Policy};
use super::{
    OurSegments, count_element, ecb, obey_if_changed, out_of_storage_of, pools, registry, usable_size,
};
use crate::{coverage, start};

/// One of the two heaps.
pub struct Below {
    kind: HeapKind,
    /// Where its addresses end.
    limit: usize,
    /// Null until its first request. Written once (AcqRel), read by any thread (Acquire).
    heap: AtomicPtr<Heap>,
}

/// Storage below 16 MiB.
pub static LINE: Below = Below::new(HeapKind::Line, 16 << 20);
/// Storage below 2 GiB.
pub static BAR: Below = Below::new(HeapKind::Bar, 2 << 30);

/// Sizes of segments below the line. Written once, before the first request; relaxed.
static INITIAL: AtomicUsize = AtomicUsize::new(0);
static INCREMENT: AtomicUsize = AtomicUsize::new(0);

/// Obeys HEAP's sizes for storage below the line. Before the first request.
pub fn configure(sizes: HeapBelow) {
    INITIAL.store(usize::try_from(sizes.init).unwrap_or(0), Ordering::Relaxed);
    INCREMENT.store(usize::try_from(sizes.increment).unwrap_or(0), Ordering::Relaxed);
}

impl Below {
    const fn new(kind: HeapKind, limit: usize) -> Self {
        Self { kind, limit, heap: AtomicPtr::new(null_mut()) }
    }

    /// Storage for `size` bytes, aligned to 16. Null, with errno ENOMEM, if there is none.
    pub fn get(&self, size: usize) -> *mut u8 {
        start::ensure();
        // Inside an ECB it is part of the ECB.
        if self.kind == HeapKind::Bar
            && ecb::is_inside()
            && let Some(buffer) = self.heap().and_then(|heap| ecb::get_low(heap, size))
        {
            return buffer;
        }
        match self.heap() {
            Some(heap) => get_from(heap, size),
            None => out_of_storage_of(&DEFAULT),
        }
    }

    fn heap(&self) -> Option<&'static Heap> {
        // SAFETY: heaps stay where they are for ever.
        let heap = unsafe { self.heap.load(Ordering::Acquire).as_ref() };
        if heap.is_some() { heap } else { self.make() }
    }

    #[cold]
    fn make(&self) -> Option<&'static Heap> {
        let of_default = DEFAULT.space.lock().policy();
        let policy = match self.kind {
            // Segments of AUTO would be a sixteenth of all that there is.
            HeapKind::Line => Policy {
                initial: INITIAL.load(Ordering::Relaxed),
                increment: INCREMENT.load(Ordering::Relaxed).max(4096),
                disposition: match of_default.disposition {
                    Disposition::Auto => Disposition::Keep,
                    disposition => disposition,
                },
                ..of_default
            },
            _ => of_default,
        };
        let made = registry::create_named(self.kind, b"", policy)?;
        let heap = made.heap;
        heap.settings.keep_within();
        heap.space.lock().set_limit(self.limit);
        let new = core::ptr::from_ref(heap).cast_mut();
        match self.heap.compare_exchange(null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Some(heap),
            // Another thread was faster. No lock is held meanwhile, since a fork would have to wait for it.
            Err(first) => {
                let _ = registry::end(made);
                // SAFETY: as above.
                unsafe { first.as_ref() }
            }
        }
    }
}

/// Storage from one of these heaps.
fn get_from(heap: &Heap, size: usize) -> *mut u8 {
    obey_if_changed();
    let element = heap.space.lock().get_with_zone(size, 16, 0);
    let Some(element) = element else { return out_of_storage_of(heap) };
    count_element(heap, &element, size);
    pools::count_if_each(heap, size);
    coverage::look_if_due::<OurSegments>();
    let address = element.address as *mut u8;
    if let Some(fill) = heap.settings.fill_get() {
        // SAFETY: the storage is new and nobody else's.
        unsafe { address.write_bytes(fill, usable_size(address)) };
    }
    address
}

/// realloc of an element of one of these heaps: it moves within its heap. Null if there is no room, and the element stays.
///
/// # Safety
/// As realloc of C; the address is that of an element in use of that heap.
pub unsafe fn realloc(heap: &Heap, address: *mut u8, size: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    let old = unsafe { usable_size(address) };
    let new = get_from(heap, size);
    if !new.is_null() {
        // SAFETY: both are at least as long. Not `copy_nonoverlapping`, as in `realloc`.
        unsafe { core::ptr::copy(address, new, old.min(size)) };
    }
    new
}
