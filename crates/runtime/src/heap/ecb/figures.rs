//! What a thread has counted of the ECBs of a class and not yet published.
//!
//! ```text
//! seat: lists when the thread leaves ─┐
//!       refills, requests counted ────┼─> figures ── every 64 visits, at the end of the thread ──> class: its heap's row, its page
//! end of an ECB ──────────────────────┘                                                        └─> the process
//! ```
//!
//! malloc counts nothing: of each list a thread knows how many buffers it took in, how many it freed, and how many are left.
//!
//! Invariant: figures of a thread are of one class at a time.
//! Not here: the heap's row (`heap::account`), the class's page (`underbar_ledger::classes`).

use core::sync::atomic::{AtomicU64, Ordering};

use underbar_ledger::Key;
use underbar_ledger::classes::{
    AVAILABLE, LISTS as PLACES, OF_LISTS, OfList, REQUESTS, SUMS, Sum, USES, list_place, low_row,
    request_row, use_row,
};

use super::super::size::row_of;
use super::class::Class;
use super::lists::LISTS;
use crate::ledger;

/// Visits after which figures are published.
const VISITS: u32 = 64;
/// Units of 16 bytes after which they are, too.
const UNITS: i64 = 4096;

/// What an ECB leaves when it ends.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Buffers and units of 16 bytes that are in use.
    pub buffers: i32,
    pub units: i32,
    /// The most bytes of storage that it had.
    pub most: usize,
    /// The most below 2 GiB.
    pub low: usize,
    /// Its table of names was made larger.
    pub expanded_tags: bool,
    /// It had a frame.
    pub with_frame: bool,
}

/// The figures.
pub struct Figures {
    gets: [u32; LISTS],
    /// Lists that have gets.
    touched: u64,
    frees: u64,
    units: i64,
    visits: u32,
    /// For the page of the class; buffers that were got from lists are added from `gets`.
    sums: [u32; SUMS],
    of_lists: [[u32; PLACES]; OF_LISTS],
    refills: Refills,
    high_water: usize,
    uses: [u32; USES],
    used_rows: Rows<{ USES.div_ceil(64) }>,
    requests: [u32; REQUESTS],
    request_rows: Rows<{ REQUESTS.div_ceil(64) }>,
}

/// Requests that found the thread's list empty, by list: filled from shared lists, and by room for new buffers. Modulo 2^32, since the
/// seat was made; what of them was published; and what of them was told to ECBs that are counted themselves.
struct Refills {
    all: [[u32; PLACES]; 2],
    published: [[u32; PLACES]; 2],
    told: [[u32; PLACES]; 2],
}

impl Refills {
    const NONE: Self = Self { all: [[0; PLACES]; 2], published: [[0; PLACES]; 2], told: [[0; PLACES]; 2] };
    /// The first of the two among the figures of a list.
    const FIRST: usize = OfList::Shared as usize;
}

const _: () = assert!(Refills::FIRST + 2 == OF_LISTS);

/// Rows that have a figure.
struct Rows<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Rows<WORDS> {
    #[inline]
    fn note(&mut self, row: usize) {
        self.0[row / 64] |= 1 << (row % 64);
    }

    /// Adds the figures of noted rows, and makes them 0.
    fn publish(&mut self, figures: &mut [u32], to: Option<&[AtomicU64]>) {
        for (at, word) in self.0.iter_mut().enumerate() {
            let mut rows = core::mem::take(word);
            while rows != 0 {
                let row = at * 64 + rows.trailing_zeros() as usize;
                rows &= rows - 1;
                let figure = core::mem::take(&mut figures[row]);
                if let Some(to) = to {
                    to[row].fetch_add(figure.into(), Ordering::Relaxed);
                }
            }
        }
    }
}

/// Adds what is not 0 to each word, and makes it 0.
fn publish_each(figures: &mut [u32], to: Option<&[AtomicU64]>) {
    for (at, figure) in figures.iter_mut().enumerate() {
        if *figure > 0 {
            if let Some(to) = to {
                to[at].fetch_add((*figure).into(), Ordering::Relaxed);
            }
            *figure = 0;
        }
    }
}

impl Figures {
    /// Nothing counted.
    pub const NONE: Self = Self {
        gets: [0; LISTS],
        touched: 0,
        frees: 0,
        units: 0,
        visits: 0,
        sums: [0; SUMS],
        of_lists: [[0; PLACES]; OF_LISTS],
        refills: Refills::NONE,
        high_water: 0,
        uses: [0; USES],
        used_rows: Rows([0; _]),
        requests: [0; REQUESTS],
        request_rows: Rows([0; _]),
    };

    /// So many buffers of a list of that size were got and freed. A list number of 0 is for buffers with pages of their own.
    #[inline]
    pub fn count(&mut self, list: usize, size: u32, gets: u32, frees: u32) {
        self.gets[list] += gets;
        self.touched |= 1 << list;
        self.frees += u64::from(frees);
        self.of_lists[OfList::Freed as usize][list_place(list)] += frees;
        self.units += (i64::from(gets) - i64::from(frees)) * i64::from(size / 16);
    }

    /// A request found the thread's list empty.
    #[inline]
    pub fn count_refill(&mut self, list: usize, by: OfList) {
        let count = &mut self.refills.all[by as usize - Refills::FIRST][list_place(list)];
        *count = count.wrapping_add(1);
    }

    /// A visit of an ECB that is counted itself begins.
    pub fn visit_begins(&mut self) {
        self.refills.told = self.refills.all;
    }

    /// Requests of that visit that found the list empty, since the last call: from shared lists, and by room for new buffers.
    pub fn refills_of_visit(&mut self) -> [[u32; PLACES]; 2] {
        let mut since = self.refills.all;
        for (count, told) in since.as_flattened_mut().iter_mut().zip(self.refills.told.as_flattened()) {
            *count = count.wrapping_sub(*told);
        }
        self.refills.told = self.refills.all;
        since
    }

    /// A request of an ECB whose requests are counted one by one.
    #[inline]
    pub fn count_request(&mut self, size: usize) {
        let row = request_row(size);
        self.requests[row] += 1;
        self.request_rows.note(row);
    }

    /// A large buffer was got, or freed.
    pub fn count_large(&mut self, class: &Class, bytes: usize, is_freed: bool) {
        if is_freed {
            self.of_lists[OfList::Freed as usize][AVAILABLE] += 1;
            self.frees += 1;
            self.units -= (bytes / 16) as i64;
        } else {
            self.of_lists[OfList::Got as usize][AVAILABLE] += 1;
            self.count_refill(0, OfList::Carved);
            class.heap().add(Key::HeapGets, 1);
            class.heap().raise(Key::HeapLargestRequest, bytes as u64);
            ledger::add_requests(row_of(bytes), 1);
            self.units += (bytes / 16) as i64;
        }
    }

    /// A buffer below 2 GiB was got, or freed.
    pub fn count_low(&mut self, is_freed: bool) {
        let sum = if is_freed { Sum::LowFreed } else { Sum::LowGot };
        self.sums[sum as usize] += 1;
    }

    /// An ECB was created; whether its requests are counted one by one.
    #[inline]
    pub fn count_created(&mut self, class: &Class, counts_each: bool) {
        self.sums[Sum::Created as usize] += 1;
        self.sums[Sum::Counted as usize] += u32::from(counts_each);
        if self.sums[Sum::Created as usize] >= VISITS {
            self.publish(class);
        }
    }

    /// An ECB ended.
    #[inline]
    pub fn count_end(&mut self, ended: Ended) {
        self.frees += u64::try_from(ended.buffers).unwrap_or(0);
        self.units -= i64::from(ended.units);
        self.sums[Sum::Ended as usize] += 1;
        self.sums[Sum::WithBuffer as usize] += u32::from(ended.most > 0);
        self.sums[Sum::ExpandedTags as usize] += u32::from(ended.expanded_tags);
        self.sums[Sum::WithFrame as usize] += u32::from(ended.with_frame);
        self.high_water = self.high_water.max(ended.most);
        let row = use_row(ended.most);
        self.uses[row] += 1;
        self.used_rows.note(row);
    }

    /// A visit is over.
    #[inline]
    pub fn visited(&mut self, class: &Class) {
        self.visits += 1;
        if self.visits >= VISITS || self.units.abs() > UNITS {
            self.publish(class);
        }
    }

    /// Adds everything to the class's row and page, and to the process's figures.
    #[cold]
    pub fn publish(&mut self, class: &Class) {
        let mut gets = 0;
        let mut touched = core::mem::take(&mut self.touched);
        while touched != 0 {
            let list = touched.trailing_zeros() as usize;
            touched &= touched - 1;
            let of_list = core::mem::take(&mut self.gets[list]);
            if of_list > 0 {
                gets += u64::from(of_list);
                self.of_lists[OfList::Got as usize][list_place(list)] += of_list;
                let size = class.lists.sizes[list];
                ledger::add_requests(row_of(size as usize), u64::from(of_list));
                class.heap().raise(Key::HeapLargestRequest, u64::from(size));
            }
        }
        let heap = class.heap();
        if gets > 0 {
            heap.add(Key::HeapGets, gets);
        }
        let frees = core::mem::take(&mut self.frees);
        if frees > 0 {
            heap.add(Key::HeapFrees, frees);
        }
        publish_use(class, core::mem::take(&mut self.units));
        self.visits = 0;
        self.publish_page(class);
    }

    fn publish_page(&mut self, class: &Class) {
        let page = class.row();
        let refills = &mut self.refills;
        let counts = self.of_lists[Refills::FIRST..].as_flattened_mut().iter_mut();
        let published = refills.published.as_flattened_mut().iter_mut();
        for ((count, all), published) in counts.zip(refills.all.as_flattened()).zip(published) {
            *count = all.wrapping_sub(*published);
            *published = *all;
        }
        publish_each(&mut self.sums, page.map(|page| &page.sums[..]));
        publish_each(self.of_lists.as_flattened_mut(), page.map(|page| page.of_lists.as_flattened()));
        self.used_rows.publish(&mut self.uses, page.map(|page| &page.uses[..]));
        self.request_rows.publish(&mut self.requests, page.map(|page| &page.requests[..]));
        let high_water = core::mem::take(&mut self.high_water);
        if let Some(page) = page {
            page.raise_high_water(Sum::HighWater, high_water as u64);
        }
    }
}

fn publish_use(class: &Class, units: i64) {
    let change = units * 16;
    if change != 0 {
        class.heap().account.change(Key::HeapUsed, Key::HeapUsedPeak, change);
        let used = ledger::change_use(change);
        if change > 0 {
            ledger::raise_use(used);
        }
    }
}

/// An ECB of a class was created by a thread that has the figures of another class.
#[cold]
pub fn publish_created(class: &Class, counts_each: bool) {
    if let Some(page) = class.row() {
        page.sum(Sum::Created).fetch_add(1, Ordering::Relaxed);
        page.sum(Sum::Counted).fetch_add(counts_each.into(), Ordering::Relaxed);
    }
}

/// An ECB of a class ended that had so many bytes below 2 GiB.
#[cold]
pub fn publish_low(class: &Class, bytes: usize) {
    if let Some(page) = class.row() {
        page.sum(Sum::WithLow).fetch_add(1, Ordering::Relaxed);
        page.raise_high_water(Sum::LowHighWater, bytes as u64);
        page.low_uses[low_row(bytes)].fetch_add(1, Ordering::Relaxed);
    }
}

/// An ECB of a class was ended by such a thread.
#[cold]
pub fn publish_end(class: &Class, ended: Ended) {
    if let Ok(frees @ 1..) = u64::try_from(ended.buffers) {
        class.heap().add(Key::HeapFrees, frees);
    }
    publish_use(class, -i64::from(ended.units));
    if let Some(page) = class.row() {
        let add = |sum: Sum, is: bool| page.sum(sum).fetch_add(is.into(), Ordering::Relaxed);
        add(Sum::Ended, true);
        add(Sum::WithBuffer, ended.most > 0);
        add(Sum::ExpandedTags, ended.expanded_tags);
        add(Sum::WithFrame, ended.with_frame);
        page.raise_high_water(Sum::HighWater, ended.most as u64);
        page.uses[use_row(ended.most)].fetch_add(1, Ordering::Relaxed);
    }
}
