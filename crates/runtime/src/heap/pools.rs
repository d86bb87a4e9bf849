//! Heap pools (HEAPPOOLS), and requests that are counted one by one (RPTSTG): heaps whose requests are served differently.
//!
//! ```text
//!                 small request ──> bin of the size's class          the same way, with other classes
//! HEAPPOOLS       bin empty, or larger ──> get ──> class of the pool ──> thread's extents of the pool's size
//!                 larger than the largest cell ──> element
//! RPTSTG(ON)      each request ──> get: no size has a class, so every bin is empty ──> count it, then as above
//! ```
//!
//! A pool is a class of cells of the default heap. Each thread has its own extents of it, so pools of one size, such as (32,4),
//! divide the threads: a thread uses the pool of its number.
//!
//! Invariant: the classes of a heap are set before its first thread has cells, and never change. The cells in use of a pool never
//! exceed those of its extents.
//! Cost: none while both options are off. A small request that finds a cell costs the same with pools; counting one by one takes
//! the slow path at each request.
//! Not here: how an option text is read (`underbar-options`), and the pages of the figures (`ledger::pools`).

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering};

use underbar_ledger::Pools;
use underbar_ledger::pools::{PoolRow, ROWS, step_of};
use underbar_options::{HeapPools, POOL_SIZES, POOLS_UNDER_AUTO};

use super::extent::before_cells;
use super::map::PAGE;
use super::object::{Heap, Settings};
use super::size::{CLASS_OF_UNITS, Cells, LARGEST_SMALL, STANDARD, UNITS, row_of};
use super::{Got, class_for, element, own_heap};
use crate::ledger;

/// Lists of a pool's cells are this many times as long as others.
const POOL_LISTS: u32 = 4;
/// The largest extent: its bytes are a number of 32 bits.
const LARGEST_EXTENT: u64 = 1 << 30;

/// The pools of the default heap.
struct Shape {
    cells: Cells,
    class_of: [u8; UNITS],
    /// How many classes there are; the first one is 1.
    classes: usize,
    /// For each class: its first row in the ledger, and how many it has.
    rows: [(u8, u8); POOL_SIZES + 1],
    /// The pools as they are set.
    option: Option<HeapPools>,
    initial: u64,
}

struct Once(UnsafeCell<Shape>);

/// SAFETY: written by `configure` before the first thread has cells, under the lock of the default heap's threads; read afterwards
/// only.
unsafe impl Sync for Once {}

static SHAPE: Once = Once(UnsafeCell::new(Shape {
    cells: Cells::NONE,
    class_of: [0; UNITS],
    classes: 0,
    rows: [(0, 0); POOL_SIZES + 1],
    option: None,
    initial: 0,
}));

fn shape() -> &'static Shape {
    // SAFETY: see there.
    unsafe { &*SHAPE.0.get() }
}

/// Sets up pools for the default heap, if no thread has cells of it yet; true if so.
pub fn configure(heap: &Heap, option: &HeapPools, initial: u64) -> bool {
    let threads = heap.threads.lock();
    if !threads.is_empty() {
        return false;
    }
    // SAFETY: no thread has cells, and this one has the lock without which none gets any.
    unsafe { *SHAPE.0.get() = Shape::of(option, initial) };
    true
}

impl Shape {
    fn of(option: &HeapPools, initial: u64) -> Self {
        let mut shape = Shape {
            cells: Cells::NONE,
            class_of: [0; UNITS],
            classes: 0,
            rows: [(0, 0); POOL_SIZES + 1],
            option: Some(*option),
            initial,
        };
        let mut row = 0;
        each_size(option, |size| {
            let bytes = option.element(size.cell);
            // No pool of its own, since the one before it serves the same requests: its row stays 0.
            let is_new = shape.classes == 0 || u64::from(shape.cells.bytes[shape.classes]) < bytes;
            let rows = usize::from(size.pools).min(ROWS - row);
            if is_new {
                shape.classes += 1;
                let class = shape.classes;
                let of_size = row_of(bytes as usize);
                let cells = core::mem::replace(&mut shape.cells, Cells::NONE);
                shape.cells = cells.with(class, bytes as u32, of_size);
                // A pool is for a size that is asked for often.
                shape.cells.carved[class] *= POOL_LISTS;
                let most = LARGEST_EXTENT / bytes;
                let count = option.cells_per_extent(size, initial).min(most);
                let before = before_cells(bytes as u32);
                let extent = (count * bytes + u64::from(before)).next_multiple_of(PAGE as u64);
                shape.cells.extents[class] = (extent as u32, count as u32);
                shape.rows[class] = (row as u8, rows as u8);
            }
            row += rows;
        });
        for (units, class) in shape.class_of.iter_mut().enumerate().take(LARGEST_SMALL / 16 + 1) {
            let holds = |class: &usize| shape.cells.bytes[*class] as usize >= units * 16;
            *class = (1..=shape.classes).find(holds).unwrap_or(0) as u8;
        }
        shape
    }

    /// The largest request that a cell serves.
    fn largest(&self) -> usize {
        self.cells.bytes[self.classes] as usize
    }

    /// The class that serves a request of this size.
    #[inline]
    fn class_of(&self, size: usize) -> Option<usize> {
        match self.class_of.get(size.div_ceil(16)) {
            Some(&class) if size <= LARGEST_SMALL => (class != 0).then_some(class as usize),
            _ => (1..=self.classes).find(|&class| self.cells.bytes[class] as usize >= size),
        }
    }

    /// The class that serves a request.
    fn class_for(&self, size: usize, align: usize) -> Option<usize> {
        if align <= 16 {
            return self.class_of(size);
        }
        let bytes = |class: usize| self.cells.bytes[class] as usize;
        let need = size.max(align);
        let first = self.class_of(need)?;
        // Because of its alignment, a request takes no cell that is much larger than it needs: an element is smaller.
        let suits = |&class: &usize| {
            bytes(class).is_multiple_of(align) && (class == first || bytes(class) <= need.saturating_mul(2))
        };
        (first..=self.classes).find(suits)
    }
}

/// Calls `then` for each size, the smallest first.
fn each_size(option: &HeapPools, mut then: impl FnMut(&underbar_options::PoolSize)) {
    let sizes = option.sizes();
    let mut done = [false; POOL_SIZES];
    for _ in 0..sizes.len() {
        let left = sizes.iter().enumerate().filter(|(at, _)| !done[*at]);
        let Some((at, size)) = left.min_by_key(|(_, size)| size.cell) else { return };
        done[at] = true;
        then(size);
    }
}

/// The cells of a heap with these settings, and the class of each small size: none if each request is counted.
pub fn cells_of(settings: &Settings) -> (&'static Cells, [u8; UNITS]) {
    let cells = if settings.has_pools() { &shape().cells } else { &STANDARD };
    let class_of = match (settings.counts_each(), settings.has_pools()) {
        (true, _) => [0; UNITS],
        (false, true) => shape().class_of,
        (false, false) => CLASS_OF_UNITS,
    };
    (cells, class_of)
}

/// A number for a new thread of a heap with pools, whose pages are made if they are missing. Under the lock of its threads.
pub fn number_for(settings: &Settings) -> Option<u32> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    if settings.is_pooled() && !cfg!(feature = "no-accounts") {
        ledger::make_pools(|pages| fill_in(pages, settings));
    }
    settings.has_pools().then(|| NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Describes the pools in the ledger; returns how many rows they have.
fn fill_in(pages: &Pools, settings: &Settings) -> u64 {
    let relaxed = Ordering::Relaxed;
    pages.head.counts_steps.store(u64::from(settings.counts_each()), relaxed);
    let shape = shape();
    let Some(option) = shape.option.filter(|_| settings.has_pools()) else { return 0 };
    let initial = if shape.initial == 0 { POOLS_UNDER_AUTO } else { shape.initial };
    pages.head.initial.store(if option.are_percent { initial } else { 0 }, relaxed);
    let mut row = 0;
    each_size(&option, |size| {
        for _ in 0..size.pools {
            let Some(pool) = pages.rows.get(row) else { return };
            pool.cell.store(u64::from(size.cell), relaxed);
            pool.element.store(option.element(size.cell), relaxed);
            pool.percent.store(if option.are_percent { size.share } else { 0 }, relaxed);
            let most = LARGEST_EXTENT / option.element(size.cell);
            pool.cells_per_extent.store(option.cells_per_extent(size, shape.initial).min(most), relaxed);
            row += 1;
        }
    });
    row as u64
}

/// Gets storage from a heap with pools, or whose requests are counted one by one.
///
/// # Safety
/// As for `get`.
#[cold]
#[inline(never)]
pub unsafe fn get(heap: &'static Heap, size: usize, align: usize) -> Got {
    let mut got = None;
    if let (Some(class), Some(thread)) = (class_in(heap, size, align), own_heap()) {
        note_largest(size);
        // SAFETY: this thread owns its heap, whose classes are those of `heap`.
        let cell = unsafe { (*thread).get(class) };
        if !cell.is_null() {
            got = Some(Got { address: cell.cast(), zero_from: usize::MAX });
        }
    }
    let got = got.unwrap_or_else(|| element(heap, size, align));
    if !got.address.is_null() {
        count_aligned(heap, size, align);
    }
    got
}

/// The class of the cells that serve a request of a heap with pools, or whose requests are counted one by one; none if an element does.
pub fn class_in(heap: &Heap, size: usize, align: usize) -> Option<usize> {
    if align > LARGEST_SMALL {
        None
    } else if heap.settings.has_pools() {
        shape().class_for(size, align)
    } else if heap.settings.has_cells_when_counted(size) {
        class_for(size, align)
    } else {
        None
    }
}

/// Records the largest request of this thread, as `note_largest` of the parent.
pub fn note_largest(size: usize) {
    let Some(thread) = own_heap() else { return };
    // SAFETY: this thread owns its heap.
    unsafe {
        if !(*thread).has_noted(size) {
            (*thread).heap.raise(underbar_ledger::Key::HeapLargestRequest, size as u64);
            (*thread).note_small(size);
        }
    }
}

/// Counts a request; an aligned one as a multiple of its alignment, since it needs a cell of such a size.
pub fn count_aligned(heap: &Heap, size: usize, align: usize) {
    if !cfg!(feature = "no-accounts") {
        let size = if align > 16 && align <= LARGEST_SMALL { size.next_multiple_of(align) } else { size };
        count(heap, size, heap.settings.has_pools());
    }
}

/// Counts a request.
pub fn count(heap: &Heap, size: usize, has_pools: bool) {
    let Some(pages) = ledger::pools::pages() else { return };
    if has_pools && size > shape().largest() {
        pages.head.larger.fetch_add(1, Ordering::Relaxed);
    }
    if heap.settings.counts_each()
        && let Some(step) = step_of(size)
    {
        pages.steps[step].fetch_add(1, Ordering::Relaxed);
        heap.account.count_step(step);
    }
}

/// Counts a request that an element serves, in a heap that counts requests one by one.
pub fn count_if_each(heap: &Heap, size: usize) {
    if heap.settings.counts_each() {
        count(heap, size, false);
    }
}

/// The row of a pool that a thread uses.
fn row(number: u32, class: usize) -> Option<&'static PoolRow> {
    let (first, count) = *shape().rows.get(class)?;
    let at = number.checked_rem(u32::from(count))? as usize + usize::from(first);
    ledger::pools::pages()?.rows.get(at)
}

/// Counts requests that a thread made of a class.
pub fn count_gets(number: u32, class: usize, requests: i64) {
    if let Some(row) = row(number, class) {
        row.gets.fetch_add(requests as u64, Ordering::Relaxed);
    }
}

/// Counts an extent that a thread got for a class.
pub fn count_extent(number: u32, class: usize) {
    if let Some(row) = row(number, class) {
        row.extents.fetch_add(1, Ordering::Relaxed);
    }
}

/// Counts cells that a thread got, or that came back to it.
pub fn use_cells(number: u32, cell_bytes: u32, change: i64) {
    let class = shape().class_of(cell_bytes as usize);
    if let Some(row) = class.and_then(|class| row(number, class)) {
        row.change_use(change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use underbar_options::{ProgramName, Settings as Options, WhereSet};

    fn shape(text: &str, initial: u64) -> Shape {
        let mut options = Options::default();
        options.apply(text.as_bytes(), &ProgramName::default(), WhereSet::CommandLine, &mut |_| ());
        Shape::of(&options.heap_pools().expect("pools"), initial)
    }

    #[test]
    fn a_request_has_the_smallest_cell_that_holds_it() {
        let shape = shape("HEAPPOOLS(ON,136,1,24,1,1000,1,8,1,5000,1,0)", 0);
        assert_eq!(shape.cells.bytes[..7], [0, 16, 32, 144, 1008, 5008, 0]);
        for size in 0..=6000 {
            let class = shape.class_for(size, 16);
            let expect = (1..=5).find(|&class| shape.cells.bytes[class] as usize >= size);
            assert_eq!(class, expect, "{size}");
            if size <= LARGEST_SMALL {
                assert_eq!(usize::from(shape.class_of[size.div_ceil(16)]), expect.unwrap_or(0), "{size}");
            }
        }
        assert_eq!(shape.largest(), 5008);
    }

    #[test]
    fn an_aligned_request_has_a_cell_of_a_multiple() {
        let shape = shape("HEAPPOOLS(ON,48,1,64,1,512,1,65536,1,0)", 0);
        let cell = |size, align| shape.class_for(size, align).map(|class| shape.cells.bytes[class]);
        assert_eq!(cell(40, 16), Some(48));
        assert_eq!(cell(40, 32), Some(64), "48 is no multiple");
        assert_eq!(cell(65, 64), Some(512), "what a request without alignment has");
        assert_eq!(cell(10, 1024), Some(65_536));
        assert_eq!(cell(70_000, 64), None);
        let shape = super::tests::shape("HEAPPOOLS(ON,48,1,4096,1,0)", 0);
        let cell = |size, align| shape.class_for(size, align).map(|class| shape.cells.bytes[class]);
        assert_eq!(cell(40, 32), None, "an element is smaller");
    }

    #[test]
    fn sizes_that_are_one_on_linux_have_one_class_and_a_row_each() {
        let shape = shape("HEAPPOOLS(ON,(8,2),10,(16,3),10,(64,90),10,128,10,0)", 32_768);
        assert_eq!((shape.classes, &shape.cells.bytes[..5]), (3, &[0, 16, 64, 128, 0][..]));
        // The rows of 16 are there, 64 has what is left of them, and 128 is not counted.
        assert_eq!(shape.rows[..4], [(0, 0), (0, 2), (5, 58), (63, 0)]);
        assert_eq!(shape.cells.extents[1], (4096, 204));
        // 51 cells of 64 bytes, and the next block's header.
        assert_eq!(shape.cells.extents[2], (4096, 51));
    }

    #[test]
    fn extents_have_a_limit() {
        let shape = shape("HEAPPOOLS(ON,16,90,65536,90,0)", 1 << 46);
        for class in [1, 2] {
            let (bytes, cells) = shape.cells.extents[class];
            assert_eq!(u64::from(cells) * u64::from(shape.cells.bytes[class]), LARGEST_EXTENT);
            assert!(u64::from(bytes) >= LARGEST_EXTENT + 8);
        }
    }
}
