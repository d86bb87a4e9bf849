//! A ledger as the host sees it: bytes of a file, checked, never trusted.
//!
//! The host reads the file with ordinary reads; it maps nothing and needs no `unsafe`. A reader sees each counter whole (an
//! aligned eight-byte store is), but two counters may be an instant apart while the process runs. Noise gives an error or odd
//! figures, never a crash.

use core::mem::offset_of;

use crate::classes::{self, ClassRow, OfList, Sum};
use crate::counter::{Fold, Scope, Writer};
use crate::heap_steps::HeapSteps;
use crate::heaps::{self, HeapKind, HeapRow, RowState};
use crate::layout::{
    AllocatorRole, CLASSES_BYTES, CLASSES_OFFSET, Directory, Fault, FaultKind, HEAP_STEPS_BYTES,
    HEAP_STEPS_OFFSET, Header, Identity, LEFT, MAGIC, OPTIONS_OFFSET, OPTIONS_ROOM, OWNERS, Owner,
    SLOT_BYTES, SLOTS, SLOTS_OFFSET, Slot, SlotState, TRACES_BYTES, TRACES_OFFSET, not_below_zero,
};
use crate::pairs::{self, PairRow, PairSum, Pairs};
use crate::pools::{self, Head, PoolRow, Pools};
use crate::sizes;
use crate::table::{FINGERPRINT, Key, LAYOUT_VERSION};
use crate::traces::{self, Entry, Table, Traced, Traces};

/// Number of first bytes of a file that show whether it is a ledger of this version.
pub const CHECKED_BYTES: usize = offset_of!(Header, made_ns);

/// Why bytes are not a ledger that this version reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LedgerError {
    /// The file is shorter than a header: cut, or not written yet.
    Short,
    /// The file is something else, or its maker died before it was complete.
    NotALedger,
    /// Written by another version of underbar, with other counters or another layout.
    OtherVersion,
}

impl core::fmt::Display for LedgerError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Short => "the ledger is cut short",
            Self::NotALedger => "this is not a ledger",
            Self::OtherVersion => "the ledger was written by another version of underbar",
        })
    }
}

impl core::error::Error for LedgerError {}

/// A whole ledger.
#[derive(Clone, Copy)]
pub struct LedgerView<'a> {
    bytes: &'a [u8],
}

/// One process, or the sum of ended processes of one program.
#[derive(Clone, Copy)]
pub struct SlotView<'a> {
    bytes: &'a [u8],
    /// The pages of its classes of ECBs; empty if the file was not read so far.
    classes: &'a [u8],
    /// The requests of its heaps by steps; empty as above.
    heap_steps: &'a [u8],
    /// The pages of its trace tables, likewise.
    traces: &'a [u8],
    /// The state of the slot.
    pub state: SlotState,
    /// Its process; the last one of an aggregate.
    pub process: Identity,
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

fn half(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn text(bytes: &[u8], at: usize, room: usize) -> &[u8] {
    let whole = bytes.get(at..at + room).unwrap_or(&[]);
    let end = whole.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    &whole[..end]
}

impl<'a> LedgerView<'a> {
    /// Checks the header.
    ///
    /// # Errors
    /// The reason why the bytes are not a ledger of this version.
    pub fn new(bytes: &'a [u8]) -> Result<Self, LedgerError> {
        Self::check(bytes, bytes.len())?;
        Ok(Self { bytes })
    }

    /// As [`LedgerView::new`], for a file of this length that begins with `bytes`. The first [`CHECKED_BYTES`] of them are enough.
    ///
    /// # Errors
    /// Those of [`LedgerView::new`].
    pub fn check(bytes: &[u8], length: usize) -> Result<(), LedgerError> {
        if length < SLOTS_OFFSET {
            return Err(LedgerError::Short);
        }
        if word(bytes, offset_of!(Header, magic)) != MAGIC {
            return Err(LedgerError::NotALedger);
        }
        if half(bytes, offset_of!(Header, layout_version)) != LAYOUT_VERSION
            || word(bytes, offset_of!(Header, fingerprint)) != FINGERPRINT
        {
            return Err(LedgerError::OtherVersion);
        }
        Ok(())
    }

    /// Process that made the ledger.
    #[must_use]
    pub fn maker(&self) -> u32 {
        half(self.bytes, offset_of!(Header, maker))
    }

    /// When it was made: nanoseconds of CLOCK_BOOTTIME.
    #[must_use]
    pub fn made_ns(&self) -> u64 {
        word(self.bytes, offset_of!(Header, made_ns))
    }

    /// Is the file to outlive its processes?
    #[must_use]
    pub fn keep(&self) -> bool {
        half(self.bytes, offset_of!(Header, keep)) != 0
    }

    /// Has a run ended and left the file to surviving processes?
    #[must_use]
    pub fn is_left(&self) -> bool {
        half(self.bytes, offset_of!(Header, keep)) == LEFT
    }

    /// When the host first found that no process of a left file is alive; 0: not yet.
    #[must_use]
    pub fn found_dead_ns(&self) -> u64 {
        word(self.bytes, offset_of!(Header, found_dead_ns))
    }

    /// May there be forked children that have not come to the ledger yet?
    #[must_use]
    pub fn are_some_on_their_way(&self) -> bool {
        half(self.bytes, offset_of!(Header, on_their_way)) != 0
    }

    /// Are these the first bytes of the file? They name every process that has a slot.
    #[must_use]
    pub fn has_head(&self, head: &[u8]) -> bool {
        self.bytes.starts_with(head)
    }

    /// Processes that found no slot.
    #[must_use]
    pub fn unrecorded(&self) -> u64 {
        word(self.bytes, offset_of!(Header, unrecorded))
    }

    /// The option text with which the run was started, and whether it was cut.
    #[must_use]
    pub fn options(&self) -> (&'a [u8], bool) {
        let length = word(self.bytes, offset_of!(Header, options_bytes));
        let kept = usize::try_from(length).unwrap_or(OPTIONS_ROOM).min(OPTIONS_ROOM);
        (self.bytes.get(OPTIONS_OFFSET..OPTIONS_OFFSET + kept).unwrap_or(&[]), length > OPTIONS_ROOM as u64)
    }

    /// Whether a slot was ever given to a process, so that the file has space there.
    #[must_use]
    pub fn is_used(&self, slot: usize) -> bool {
        slot < SLOTS && word(self.bytes, offset_of!(Header, directory) + slot * 8) != 0
    }

    /// Where the classes of ECBs of a slot's process are in the file.
    #[must_use]
    pub const fn classes_of(slot: usize) -> core::ops::Range<usize> {
        let at = CLASSES_OFFSET + slot * CLASSES_BYTES;
        at..at + CLASSES_BYTES
    }

    /// Whether the process of a slot has made classes of ECBs.
    #[must_use]
    pub fn has_classes(&self, slot: usize) -> bool {
        self.is_used(slot)
            && word(self.bytes, SLOTS_OFFSET + slot * SLOT_BYTES + offset_of!(Slot, classes)) != 0
    }

    /// Where the requests of heaps of a slot's process are in the file.
    #[must_use]
    pub const fn heap_steps_of(slot: usize) -> core::ops::Range<usize> {
        let at = HEAP_STEPS_OFFSET + slot * HEAP_STEPS_BYTES;
        at..at + HEAP_STEPS_BYTES
    }

    /// Whether the process of a slot counts requests of heaps besides its default one.
    #[must_use]
    pub fn has_heap_steps(&self, slot: usize) -> bool {
        let at = SLOTS_OFFSET + slot * SLOT_BYTES;
        let counts = pools::PAGE_OFFSET + offset_of!(Pools, head) + offset_of!(Head, counts_steps);
        self.is_used(slot)
            && [offset_of!(Slot, heaps), offset_of!(Slot, pools), counts]
                .into_iter()
                .all(|field| word(self.bytes, at + field) != 0)
    }

    /// Where the trace tables of a slot's process are in the file.
    #[must_use]
    pub const fn traces_of(slot: usize) -> core::ops::Range<usize> {
        let at = TRACES_OFFSET + slot * TRACES_BYTES;
        at..at + TRACES_BYTES
    }

    /// Whether the process of a slot has trace tables.
    #[must_use]
    pub fn has_traces(&self, slot: usize) -> bool {
        self.is_used(slot)
            && word(self.bytes, SLOTS_OFFSET + slot * SLOT_BYTES + offset_of!(Slot, traces)) != 0
    }

    /// The processes that have claimed a slot and not set it up yet.
    pub fn claimed(&self) -> impl Iterator<Item = Identity> + use<'a> {
        let bytes = self.bytes;
        (0..SLOTS).filter_map(move |slot| {
            let (state, process) = Directory::entry(word(bytes, offset_of!(Header, directory) + slot * 8))?;
            (state == SlotState::Claimed).then_some(process)
        })
    }

    /// Slots that hold figures: live, ended and aggregates, in the order of their places.
    pub fn slots(&self) -> impl Iterator<Item = SlotView<'a>> + use<'a> {
        let bytes = self.bytes;
        (0..SLOTS).filter_map(move |slot| {
            let (state, process) = Directory::entry(word(bytes, offset_of!(Header, directory) + slot * 8))?;
            if !matches!(state, SlotState::Live | SlotState::Ended | SlotState::Aggregate) {
                return None;
            }
            let at = SLOTS_OFFSET + slot * SLOT_BYTES;
            let classes = Self::classes_of(slot);
            let classes = bytes.get(classes).unwrap_or(&[]);
            let heap_steps = bytes.get(Self::heap_steps_of(slot)).unwrap_or(&[]);
            let traces = bytes.get(Self::traces_of(slot)).unwrap_or(&[]);
            Some(SlotView {
                bytes: bytes.get(at..at + SLOT_BYTES)?,
                classes,
                heap_steps,
                traces,
                state,
                process,
            })
        })
    }
}

impl<'a> SlotView<'a> {
    /// A counter's figure.
    #[must_use]
    pub fn get(&self, key: Key) -> u64 {
        not_below_zero(word(self.bytes, offset_of!(Slot, counters) + 8 * key as usize))
    }

    /// Requests of a row of [`sizes::TABLE`].
    #[must_use]
    pub fn requests(&self, row: usize) -> u64 {
        let at = offset_of!(Slot, sizes) + 8 * row;
        if row < sizes::ROWS { not_below_zero(word(self.bytes, at)) } else { 0 }
    }

    /// Parent process.
    #[must_use]
    pub fn parent(&self) -> u32 {
        half(self.bytes, offset_of!(Slot, parent))
    }

    /// How many processes are folded in here.
    #[must_use]
    pub fn processes(&self) -> u32 {
        half(self.bytes, offset_of!(Slot, processes)).max(1)
    }

    /// When the program started: nanoseconds of CLOCK_BOOTTIME.
    #[must_use]
    pub fn started_ns(&self) -> u64 {
        word(self.bytes, offset_of!(Slot, started_ns))
    }

    /// When it ended, or 0.
    #[must_use]
    pub fn ended_ns(&self) -> u64 {
        word(self.bytes, offset_of!(Slot, ended_ns))
    }

    /// Number of option diagnostics of the runtime.
    #[must_use]
    pub fn option_errors(&self) -> u64 {
        word(self.bytes, offset_of!(Slot, option_errors))
    }

    /// Path of the program's file; if it has more than 256 bytes, its last parts, which then do not begin with a slash.
    #[must_use]
    pub fn program(&self) -> &'a [u8] {
        text(self.bytes, offset_of!(Slot, program), 256)
    }

    /// The name by which the program was started, if that is another name of its file; else empty.
    #[must_use]
    pub fn started_as(&self) -> &'a [u8] {
        text(self.bytes, offset_of!(Slot, started_as), 256)
    }

    /// Arguments, separated by zero bytes, cut at 256 bytes.
    #[must_use]
    pub fn arguments(&self) -> &'a [u8] {
        text(self.bytes, offset_of!(Slot, arguments), 256)
    }

    /// The heading that the program gave to its storage report; empty: none.
    #[must_use]
    pub fn heading(&self) -> &'a [u8] {
        text(self.bytes, offset_of!(Slot, heading), 80)
    }

    /// Another allocator that the program has: its role, and the file name of its library.
    #[must_use]
    pub fn allocator(&self) -> Option<(AllocatorRole, &'a [u8])> {
        let role = AllocatorRole::from_number(word(self.bytes, offset_of!(Slot, allocator_role)))?;
        Some((role, text(self.bytes, offset_of!(Slot, allocator), 32)))
    }

    /// Why the runtime ended the process: an invalid free. None if it did not.
    #[must_use]
    pub fn fault(&self) -> Option<FaultView<'a>> {
        let at = offset_of!(Slot, fault);
        let word_at = |field: usize| word(self.bytes, at + field);
        Some(FaultView {
            kind: FaultKind::from_number(word_at(offset_of!(Fault, kind)))?,
            function: text(self.bytes, at + offset_of!(Fault, function), 16),
            address: word_at(offset_of!(Fault, address)),
            block: word_at(offset_of!(Fault, block)),
            block_bytes: word_at(offset_of!(Fault, bytes)),
            module: text(self.bytes, at + offset_of!(Fault, module), 32),
            offset: word_at(offset_of!(Fault, offset)),
            origin_module: text(self.bytes, at + offset_of!(Fault, origin_module), 32),
            origin_offset: word_at(offset_of!(Fault, origin_offset)),
            ecb: word_at(offset_of!(Fault, ecb)),
            class: text(self.bytes, at + offset_of!(Fault, class), 32),
            tag: text(self.bytes, at + offset_of!(Fault, tag), 40),
        })
    }

    /// Heaps of a process that has more than its default one: that one first, then those with a row of their own, and the others
    /// together. None for processes that were folded.
    pub fn heaps(&self) -> impl Iterator<Item = HeapView<'a>> + use<'a> {
        let slot = *self;
        let has_more = self.state != SlotState::Aggregate && word(self.bytes, offset_of!(Slot, heaps)) != 0;
        let first = HeapView { slot, row: None, kind: HeapKind::Default, state: RowState::Live, created: 1 };
        has_more.then_some(first).into_iter().chain(slot.rows().take_while(move |_| has_more))
    }

    fn rows(self) -> impl Iterator<Item = HeapView<'a>> + use<'a> {
        (0..=heaps::ROWS).filter_map(move |row| {
            let at = heaps::PAGE_OFFSET + row * size_of::<HeapRow>();
            let word = word(self.bytes, at + offset_of!(HeapRow, word));
            let (kind, state) = HeapRow::entry(word)?;
            Some(HeapView { slot: self, row: Some(at), kind, state, created: HeapRow::heaps_of(word) })
        })
    }

    /// The heap pools, by ascending size. Empty without HEAPPOOLS.
    pub fn pools(&self) -> impl Iterator<Item = PoolView> + use<'a> {
        let bytes = self.bytes;
        let count = usize::try_from(self.pool_rows().unwrap_or(0)).unwrap_or(0).min(pools::ROWS);
        (0..count).map(move |row| {
            let at = pools::PAGE_OFFSET + offset_of!(Pools, rows) + row * size_of::<PoolRow>();
            let figure = |field: usize| not_below_zero(word(bytes, at + field));
            PoolView {
                cell: figure(offset_of!(PoolRow, cell)),
                element: figure(offset_of!(PoolRow, element)),
                percent: figure(offset_of!(PoolRow, percent)),
                cells_per_extent: figure(offset_of!(PoolRow, cells_per_extent)),
                gets: figure(offset_of!(PoolRow, gets)),
                extents: figure(offset_of!(PoolRow, extents)),
                used: figure(offset_of!(PoolRow, used)),
                used_peak: figure(offset_of!(PoolRow, used_peak)),
            }
        })
    }

    /// The initial size of HEAP of which extents are a percentage, 0 for HEAPPOOLS64, and the requests that were larger than the
    /// largest cell. None without HEAPPOOLS.
    #[must_use]
    pub fn pools_head(&self) -> Option<(u64, u64)> {
        let at = |field: usize| {
            not_below_zero(word(self.bytes, pools::PAGE_OFFSET + offset_of!(Pools, head) + field))
        };
        self.pool_rows().filter(|rows| *rows > 0)?;
        Some((at(offset_of!(Head, initial)), at(offset_of!(Head, larger))))
    }

    /// Requests by steps of 8 bytes; None if the process does not count them.
    pub fn steps(&self) -> Option<impl Iterator<Item = u64> + use<'a>> {
        let bytes = self.bytes;
        let counts = pools::PAGE_OFFSET + offset_of!(Pools, head) + offset_of!(Head, counts_steps);
        (self.pool_rows().is_some() && word(bytes, counts) != 0).then(|| {
            let at = pools::PAGE_OFFSET + offset_of!(Pools, steps);
            (0..pools::STEPS).map(move |step| not_below_zero(word(bytes, at + 8 * step)))
        })
    }

    /// How many pools have a row; None if their pages were never made.
    fn pool_rows(&self) -> Option<u64> {
        word(self.bytes, offset_of!(Slot, pools)).checked_sub(1)
    }

    /// The classes of ECBs, in the order in which they were made. Empty without ECBs.
    pub fn classes(&self) -> impl Iterator<Item = ClassView<'a>> + use<'a> {
        let made = usize::try_from(word(self.bytes, offset_of!(Slot, classes))).unwrap_or(0);
        let pages = self.classes.as_chunks::<{ size_of::<ClassRow>() }>().0;
        let all = pages.iter().take(classes::ROWS).take(made).enumerate();
        all.map(|(index, page)| ClassView { page, index }).filter(|class| !class.name().is_empty())
    }

    /// ECBs by name-value pairs, of all classes: rows that count at least one ECB. Empty if the program attached none.
    pub fn pairs(&self) -> impl Iterator<Item = PairView<'a>> + use<'a> {
        let are_there = word(self.bytes, offset_of!(Slot, pairs)) != 0;
        let pages = self.classes.get(pairs::OFFSET..).unwrap_or(&[]);
        let rows =
            pages.get(offset_of!(Pairs, rows)..).unwrap_or(&[]).as_chunks::<{ size_of::<PairRow>() }>().0;
        let rows = rows.iter().take(if are_there { pairs::ROWS } else { 0 });
        rows.map(|row| PairView { row }).filter(|row| row.sum(PairSum::Ecbs) > 0)
    }

    /// The threads that have a trace table, each with its last requests, the newest first.
    pub fn traces(&self) -> impl Iterator<Item = TraceView<'a>> + use<'a> {
        let has = word(self.bytes, offset_of!(Slot, traces)) != 0 && self.traces.len() == TRACES_BYTES;
        let pages = if has { self.traces } else { &[] };
        let tables = pages.get(offset_of!(Traces, tables)..).unwrap_or(&[]);
        let tables = tables.as_chunks::<{ size_of::<Table>() }>().0;
        tables.iter().map(move |table| TraceView { pages, table }).filter(|table| table.requests() > 0)
    }

    /// Owners of other anonymous memory: name, bytes mapped now, and at most.
    pub fn owners(&self) -> impl Iterator<Item = (&'a [u8], u64, u64)> + use<'a> {
        let bytes = self.bytes;
        (0..OWNERS).filter_map(move |owner| {
            let at = offset_of!(Slot, owners) + owner * size_of::<Owner>();
            let name = text(bytes, at + offset_of!(Owner, name), 32);
            (!name.is_empty()).then(|| {
                (name, word(bytes, at + offset_of!(Owner, bytes)), word(bytes, at + offset_of!(Owner, peak)))
            })
        })
    }
}

/// The last requests of a thread: [`Table`] as the host reads it.
#[derive(Clone, Copy)]
pub struct TraceView<'a> {
    pages: &'a [u8],
    table: &'a [u8],
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedRequest<'a> {
    /// What it did.
    pub kind: Traced,
    /// The buffer.
    pub address: u64,
    /// Bytes that were asked for; of a freed buffer its usable bytes.
    pub bytes: u64,
    /// The caller's module; empty: not known.
    pub module: &'a [u8],
    /// Its address in that module; without one a plain address.
    pub offset: u64,
    /// The number of the ECB; 0: another one than the thread was in.
    pub ecb: u64,
}

impl<'a> TraceView<'a> {
    /// The kernel's number of the thread.
    #[must_use]
    pub fn thread(&self) -> u64 {
        word(self.table, offset_of!(Table, thread))
    }

    /// Requests so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        word(self.table, offset_of!(Table, requests))
    }

    /// The last ones, the newest first.
    pub fn last(&self) -> impl Iterator<Item = TracedRequest<'a>> + use<'a> {
        let (pages, table) = (self.pages, self.table);
        let limit = word(table, offset_of!(Table, limit)).clamp(1, traces::ENTRIES as u64);
        let requests = self.requests();
        (1..=limit.min(requests)).filter_map(move |back| {
            let at = offset_of!(Table, entries)
                + usize::try_from((requests - back) % limit).ok()? * size_of::<Entry>();
            let field = |field: usize| word(table, at + field);
            let buffer = field(offset_of!(Entry, buffer));
            let kind = match buffer & traces::TRACED {
                1 => Traced::Got,
                2 => Traced::Freed,
                3 => Traced::Resized,
                _ => return None,
            };
            let caller = field(offset_of!(Entry, caller));
            let module =
                usize::try_from(caller >> traces::MODULE_SHIFT).ok().and_then(|at| at.checked_sub(1));
            let module = module.filter(|at| *at < traces::MODULES);
            Some(TracedRequest {
                kind,
                address: buffer & !traces::TRACED,
                bytes: field(offset_of!(Entry, bytes)),
                module: module.map_or(&[], |at| text(pages, offset_of!(Traces, modules) + 32 * at, 32)),
                offset: caller & ((1 << traces::MODULE_SHIFT) - 1),
                ecb: field(offset_of!(Entry, ecb)),
            })
        })
    }
}

/// A class of ECBs of a process: [`ClassRow`] as the host reads it.
#[derive(Clone, Copy)]
pub struct ClassView<'a> {
    page: &'a [u8],
    index: usize,
}

impl<'a> ClassView<'a> {
    /// Its number among the classes of the process.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Classes that share its page.
    #[must_use]
    pub fn sharing(&self) -> u64 {
        self.figure(offset_of!(ClassRow, sharing))
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'a [u8] {
        text(self.page, offset_of!(ClassRow, name), 32)
    }

    fn figure(&self, at: usize) -> u64 {
        not_below_zero(word(self.page, at))
    }

    fn figures<const COUNT: usize>(&self, at: usize) -> [u64; COUNT] {
        core::array::from_fn(|number| self.figure(at + 8 * number))
    }

    /// Bytes of a buffer of each available list; 0: not in use.
    #[must_use]
    pub fn sizes(&self) -> [u64; classes::AVAILABLE] {
        self.figures(offset_of!(ClassRow, sizes))
    }

    /// Bytes of the preallocated area of an ECB.
    #[must_use]
    pub fn area(&self) -> u64 {
        self.figure(offset_of!(ClassRow, area))
    }

    /// One ECB in so many is counted request by request.
    #[must_use]
    pub fn counted_one_in(&self) -> u64 {
        self.figure(offset_of!(ClassRow, counted_one_in))
    }

    /// A sum.
    #[must_use]
    pub fn sum(&self, sum: Sum) -> u64 {
        self.figure(offset_of!(ClassRow, sums) + 8 * sum as usize)
    }

    /// A figure of each list; the last one is of all that are not available lists.
    #[must_use]
    pub fn of_lists(&self, of: OfList) -> [u64; classes::LISTS] {
        self.figures(offset_of!(ClassRow, of_lists) + 8 * classes::LISTS * of as usize)
    }

    /// Ended ECBs by the most storage that they had, by rows of [`classes::use_limit`].
    #[must_use]
    pub fn uses(&self) -> [u64; classes::USES] {
        self.figures(offset_of!(ClassRow, uses))
    }

    /// Bytes of a piece of an ECB's part below 2 GiB.
    #[must_use]
    pub fn low(&self) -> u64 {
        self.figure(offset_of!(ClassRow, low))
    }

    /// Ended ECBs by the most storage that they had there, by rows of [`classes::low_limit`].
    #[must_use]
    pub fn low_uses(&self) -> [u64; classes::LOW_USES] {
        self.figures(offset_of!(ClassRow, low_uses))
    }

    /// Requests of ECBs that were counted one by one, by rows of [`classes::request_limit`].
    #[must_use]
    pub fn requests(&self) -> [u64; classes::REQUESTS] {
        self.figures(offset_of!(ClassRow, requests))
    }
}

/// ECBs of a class with a name-value pair: [`PairRow`] as the host reads it.
#[derive(Clone, Copy)]
pub struct PairView<'a> {
    row: &'a [u8],
}

impl<'a> PairView<'a> {
    /// The number of its class.
    #[must_use]
    pub fn class(&self) -> u64 {
        word(self.row, offset_of!(PairRow, class))
    }

    /// Name and value; None: ECBs whose pairs have no row.
    #[must_use]
    pub fn pair(&self) -> Option<(&'a [u8], &'a [u8])> {
        let name = text(self.row, offset_of!(PairRow, name), pairs::BYTES);
        (!name.is_empty()).then(|| (name, text(self.row, offset_of!(PairRow, value), pairs::BYTES)))
    }

    /// A sum.
    #[must_use]
    pub fn sum(&self, sum: PairSum) -> u64 {
        not_below_zero(word(self.row, offset_of!(PairRow, sums) + 8 * sum as usize))
    }

    /// Buffers that each list dispensed, and those that were freed; the last one is of all that are not available lists.
    #[must_use]
    pub fn lists(&self) -> [[u64; classes::LISTS]; 2] {
        [offset_of!(PairRow, got), offset_of!(PairRow, freed)]
            .map(|at| core::array::from_fn(|list| not_below_zero(word(self.row, at + 8 * list))))
    }
}

/// A heap pool of a process: [`PoolRow`] as the host reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolView {
    /// Bytes of a cell as it was set.
    pub cell: u64,
    /// Bytes that a cell takes.
    pub element: u64,
    /// The percentage that was set; 0 for HEAPPOOLS64.
    pub percent: u64,
    /// Cells of an extent.
    pub cells_per_extent: u64,
    /// Requests that it served.
    pub gets: u64,
    /// Extents that were allocated.
    pub extents: u64,
    /// Cells in use.
    pub used: u64,
    /// The most cells in use at one time.
    pub used_peak: u64,
}

/// A heap of a process.
#[derive(Clone, Copy)]
pub struct HeapView<'a> {
    slot: SlotView<'a>,
    /// The place of its row; the default heap has none.
    row: Option<usize>,
    /// Its use.
    pub kind: HeapKind,
    /// Has it ended?
    pub state: RowState,
    /// How many heaps of this kind and name were created, one after the other; the figures are those of all.
    pub created: u64,
}

impl<'a> HeapView<'a> {
    /// Its name; empty: it has none.
    #[must_use]
    pub fn name(&self) -> &'a [u8] {
        self.row.map_or(&[], |at| text(self.slot.bytes, at + offset_of!(HeapRow, name), 32))
    }

    /// Its requests by steps of 8 bytes; None if the process does not count them, or its file was not read so far. The default heap has
    /// those of the process less those of the others.
    pub fn steps(&self) -> Option<impl Iterator<Item = u64> + use<'a>> {
        let (slot, row) = (self.slot, self.row);
        let all = slot.steps().filter(|_| slot.heap_steps.len() == HEAP_STEPS_BYTES)?;
        let of_row = move |at: usize, step: usize| {
            let row = (at - heaps::PAGE_OFFSET) / size_of::<HeapRow>();
            not_below_zero(word(slot.heap_steps, row * size_of::<HeapSteps>() + 8 * step))
        };
        Some(all.enumerate().map(move |(step, whole)| match row {
            Some(at) => of_row(at, step),
            None => {
                let others = slot.rows().filter_map(|heap| heap.row).map(|at| of_row(at, step));
                whole.saturating_sub(others.fold(0, u64::saturating_add))
            }
        }))
    }

    /// A counter's figure; None for a counter that heaps do not have, and for the default heap's peaks, which are known only for
    /// the whole process. Its sums are those of the process less those of the others.
    #[must_use]
    pub fn get(&self, key: Key) -> Option<u64> {
        let entry = key.entry();
        if entry.scope != Scope::Heap {
            return None;
        }
        let in_row = |at: usize| word(self.slot.bytes, at + offset_of!(HeapRow, counters) + 8 * key as usize);
        match (self.row, entry.fold, entry.writer) {
            (Some(at), _, _) => Some(not_below_zero(in_row(at))),
            (None, _, Writer::Start) => Some(self.slot.get(key)),
            (None, Fold::Max, _) => None,
            (None, Fold::Sum, _) => {
                let others = self.slot.rows().filter_map(|heap| heap.row);
                let others = others.fold(0_u64, |sum, at| sum.wrapping_add(in_row(at)));
                let whole = word(self.slot.bytes, offset_of!(Slot, counters) + 8 * key as usize);
                Some(not_below_zero(whole.wrapping_sub(others)))
            }
        }
    }
}

/// [`Fault`] as the host reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultView<'a> {
    /// The kind of fault.
    pub kind: FaultKind,
    /// C name of the function that was called.
    pub function: &'a [u8],
    /// The address that the program gave.
    pub address: u64,
    /// The beginning of the block.
    pub block: u64,
    /// Usable bytes of the block; 0: not known.
    pub block_bytes: u64,
    /// File name of the module that called; empty: not known.
    pub module: &'a [u8],
    /// Address of the caller in that module.
    pub offset: u64,
    /// The same of who freed a block that was freed again, or got one with another fault.
    pub origin_module: &'a [u8],
    /// Its address in that module.
    pub origin_offset: u64,
    /// The number of the ECB that has ended; 0: not known.
    pub ecb: u64,
    /// Its class; empty: not known.
    pub class: &'a [u8],
    /// The buffer's name; empty: it had none.
    pub tag: &'a [u8],
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::layout::FILE_BYTES;
    use std::vec;
    use std::vec::Vec;

    const OUTER: Identity = Identity { namespace: 0xeffffffc, number: 4711 };

    /// A ledger with one live slot, made by hand from the layout's offsets.
    fn ledger() -> Vec<u8> {
        let mut bytes = vec![0_u8; FILE_BYTES];
        let mut put = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        put(offset_of!(Header, magic), MAGIC);
        put(offset_of!(Header, layout_version), u64::from(LAYOUT_VERSION) | (77 << 32));
        put(offset_of!(Header, fingerprint), FINGERPRINT);
        put(offset_of!(Header, directory) + 8 * 3, Directory::word(SlotState::Live, OUTER));
        put(SLOTS_OFFSET + 3 * SLOT_BYTES + offset_of!(Slot, counters) + 8 * Key::HeapFrees as usize, 42);
        put(SLOTS_OFFSET + 3 * SLOT_BYTES + offset_of!(Slot, program), u64::from_le_bytes(*b"/bin/tru"));
        bytes
    }

    #[test]
    fn reads_what_the_layout_says() {
        let bytes = ledger();
        let view = LedgerView::new(&bytes).expect("a good ledger");
        let slots: Vec<_> = view.slots().collect();
        assert_eq!((view.maker(), slots.len()), (77, 1));
        assert_eq!((slots[0].process, slots[0].state), (OUTER, SlotState::Live));
        assert_eq!((slots[0].get(Key::HeapFrees), slots[0].get(Key::HeapGets)), (42, 0));
        assert_eq!(slots[0].program(), b"/bin/tru");
    }

    /// A thread freed a cell that another had got and not counted yet: the sum was shown as 2^64-1.
    #[test]
    fn a_figure_that_is_below_zero_for_a_moment_is_none() {
        let mut bytes = ledger();
        let at = SLOTS_OFFSET + 3 * SLOT_BYTES + offset_of!(Slot, counters) + 8 * Key::HeapUsed as usize;
        bytes[at..at + 8].copy_from_slice(&(-64_i64).to_le_bytes());
        let view = LedgerView::new(&bytes).expect("a good ledger");
        assert_eq!(view.slots().next().expect("a slot").get(Key::HeapUsed), 0);
    }

    /// A ledger whose process has a heap of 40 bytes in use, and `used` bytes in all.
    fn ledger_with_a_heap(used: u64) -> Vec<u8> {
        let mut bytes = ledger();
        let slot = SLOTS_OFFSET + 3 * SLOT_BYTES;
        let row = slot + heaps::PAGE_OFFSET + 2 * size_of::<HeapRow>();
        let mut put = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        put(slot + offset_of!(Slot, heaps), 1);
        put(slot + offset_of!(Slot, counters) + 8 * Key::HeapUsed as usize, used);
        put(slot + offset_of!(Slot, counters) + 8 * Key::HeapInitialSize as usize, 1 << 20);
        put(row + offset_of!(HeapRow, word), HeapRow::word_of(HeapKind::Enclave, RowState::Ended));
        put(row + offset_of!(HeapRow, name), u64::from_le_bytes(*b"parser\0\0"));
        put(row + offset_of!(HeapRow, counters) + 8 * Key::HeapUsed as usize, 40);
        bytes
    }

    #[test]
    fn heaps_are_read_where_there_is_more_than_one() {
        let bytes = ledger();
        assert_eq!(LedgerView::new(&bytes).expect("good").slots().next().expect("a slot").heaps().count(), 0);
        let bytes = ledger_with_a_heap(100);
        let slot = LedgerView::new(&bytes).expect("good").slots().next().expect("a slot");
        let heaps: Vec<_> = slot.heaps().collect();
        let kinds: Vec<_> = heaps.iter().map(|heap| (heap.kind, heap.state, heap.name())).collect();
        assert_eq!(
            kinds,
            [
                (HeapKind::Default, RowState::Live, &b""[..]),
                (HeapKind::Enclave, RowState::Ended, &b"parser"[..])
            ]
        );
        let of = |key| heaps.iter().map(|heap| heap.get(key)).collect::<Vec<_>>();
        assert_eq!(of(Key::HeapUsed), [Some(60), Some(40)]);
        assert_eq!(of(Key::HeapUsedPeak), [None, Some(0)], "not known apart");
        assert_eq!(of(Key::HeapInitialSize), [Some(1 << 20), Some(0)]);
        assert_eq!(of(Key::StackLargest), [None, None], "no counter of heaps");
    }

    /// A process that writes past its own storage can damage its rows like everything else.
    #[test]
    fn damaged_rows_are_left_out_and_give_no_figure_below_zero() {
        let mut bytes = ledger_with_a_heap(10);
        let row = SLOTS_OFFSET + 3 * SLOT_BYTES + heaps::PAGE_OFFSET;
        for (at, word) in [(0, u64::MAX), (1, 9 << 8 | 1), (3, 2 << 8 | 7)] {
            let at = row + at * size_of::<HeapRow>();
            bytes[at..at + size_of::<HeapRow>()].fill(0xa5);
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
        let slot = LedgerView::new(&bytes).expect("good").slots().next().expect("a slot");
        let used: Vec<_> = slot.heaps().map(|heap| heap.get(Key::HeapUsed)).collect();
        assert_eq!(used, [Some(0), Some(40)]);
        // Cut in the middle of the rows: the slot is missing.
        assert_eq!(LedgerView::new(&bytes[..row + 100]).expect("good").slots().count(), 0);
    }

    #[test]
    fn classes_are_read_if_the_process_made_some() {
        let mut bytes = ledger();
        let pages = LedgerView::classes_of(3).start;
        let mut put = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        put(pages + offset_of!(ClassRow, name), u64::from_le_bytes(*b"SSL\0\0\0\0\0"));
        put(pages + offset_of!(ClassRow, sizes) + 8, 64);
        put(pages + offset_of!(ClassRow, sums) + 8 * Sum::Ended as usize, 7);
        put(pages + offset_of!(ClassRow, of_lists) + 8 * (classes::LISTS + 2), 5);
        let is_there = |bytes: &[u8]| LedgerView::new(bytes).expect("good").has_classes(3);
        assert!(!is_there(&bytes));
        let slot = SLOTS_OFFSET + 3 * SLOT_BYTES + offset_of!(Slot, classes);
        // The second one has no page.
        bytes[slot..slot + 8].copy_from_slice(&2_u64.to_le_bytes());
        assert!(is_there(&bytes));
        let slot = LedgerView::new(&bytes).expect("good").slots().next().expect("a slot");
        let all: Vec<_> = slot.classes().collect();
        assert_eq!(
            (all.len(), all[0].name(), all[0].sizes()[1], all[0].sum(Sum::Ended)),
            (1, &b"SSL"[..], 64, 7)
        );
        assert_eq!(all[0].of_lists(OfList::Freed), [0, 0, 5, 0, 0, 0]);
        // A file that was not read to its end.
        let slot = LedgerView::new(&bytes[..pages]).expect("good").slots().next().expect("a slot");
        assert_eq!(slot.classes().count(), 0);
    }

    #[test]
    fn the_last_requests_of_a_thread_are_read_the_newest_first() {
        let mut bytes = ledger();
        let pages = LedgerView::traces_of(3).start;
        let table = pages + offset_of!(Traces, tables) + size_of::<Table>();
        let mut put = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        put(pages + offset_of!(Traces, modules) + 32, u64::from_le_bytes(*b"server\0\0"));
        put(table + offset_of!(Table, thread), 4712);
        put(table + offset_of!(Table, requests), 5);
        put(table + offset_of!(Table, limit), 2);
        for (place, kind, caller) in [(0, Traced::Freed, 2 << 48 | 0x1234), (1, Traced::Got, 0x7f00)] {
            let entry = table + offset_of!(Table, entries) + place * size_of::<Entry>();
            put(entry, 0x5000 | kind as u64);
            put(entry + offset_of!(Entry, bytes), 64);
            put(entry + offset_of!(Entry, caller), caller);
        }
        let slot = SLOTS_OFFSET + 3 * SLOT_BYTES + offset_of!(Slot, traces);
        assert!(!LedgerView::new(&bytes).expect("good").has_traces(3));
        bytes[slot..slot + 8].copy_from_slice(&1_u64.to_le_bytes());
        let view = LedgerView::new(&bytes).expect("good");
        assert!(view.has_traces(3));
        let slot = view.slots().next().expect("a slot");
        let all: Vec<_> = slot.traces().collect();
        assert_eq!((all.len(), all[0].thread(), all[0].requests()), (1, 4712, 5));
        let last: Vec<_> = all[0].last().map(|one| (one.kind, one.address, one.module, one.offset)).collect();
        let expect =
            [(Traced::Freed, 0x5000, &b"server"[..], 0x1234), (Traced::Got, 0x5000, &b""[..], 0x7f00)];
        assert_eq!(last, expect);
        // A file that was not read to its end.
        let slot = LedgerView::new(&bytes[..pages]).expect("good").slots().next().expect("a slot");
        assert_eq!(slot.traces().count(), 0);
    }

    #[test]
    fn pairs_are_read_if_the_process_made_some() {
        let mut bytes = ledger();
        let at = LedgerView::classes_of(3).start + pairs::OFFSET + offset_of!(Pairs, rows);
        let row = at + (classes::ROWS + 2) * size_of::<PairRow>();
        let mut put = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        put(row + offset_of!(PairRow, class), 1);
        put(row + offset_of!(PairRow, name), u64::from_le_bytes(*b"USER\0\0\0\0"));
        put(row + offset_of!(PairRow, value), u64::from_le_bytes(*b"ANN\0\0\0\0\0"));
        put(row + offset_of!(PairRow, sums) + 8 * PairSum::Ecbs as usize, 7);
        put(row + offset_of!(PairRow, freed) + 8, 5);
        put(at + offset_of!(PairRow, sums), 2);
        let read = |bytes: &[u8]| {
            let slot = LedgerView::new(bytes).expect("good").slots().next().expect("a slot");
            let of = |pair: PairView<'_>| {
                let pair_of = pair.pair().map(|(name, value)| (name.to_vec(), value.to_vec()));
                (pair.class(), pair_of, pair.sum(PairSum::Ecbs), pair.lists()[1][1])
            };
            slot.pairs().map(of).collect::<Vec<_>>()
        };
        assert_eq!(read(&bytes), []);
        bytes[SLOTS_OFFSET + 3 * SLOT_BYTES + offset_of!(Slot, pairs)] = 1;
        let ann = (1, Some((b"USER".to_vec(), b"ANN".to_vec())), 7, 5);
        assert_eq!(read(&bytes), [(0, None, 2, 0), ann]);
        assert_eq!(read(&bytes[..row]), [], "cut");
    }

    #[test]
    fn a_cut_or_foreign_or_older_file_is_refused() {
        let good = ledger();
        assert_eq!(LedgerView::new(&good[..4096]).err(), Some(LedgerError::Short));
        let mut foreign = good.clone();
        foreign[0] ^= 1;
        assert_eq!(LedgerView::new(&foreign).err(), Some(LedgerError::NotALedger));
        let mut older = good;
        older[offset_of!(Header, fingerprint)] ^= 1;
        assert_eq!(LedgerView::new(&older).err(), Some(LedgerError::OtherVersion));
    }

    #[test]
    fn noise_behind_a_good_header_never_panics() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..200 {
            let mut bytes = ledger();
            bytes.truncate(LedgerView::classes_of(4).end);
            for at in (offset_of!(Header, made_ns)..bytes.len()).step_by(8) {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                if at >= offset_of!(Header, fingerprint) + 8 {
                    bytes[at..at + 8].copy_from_slice(&state.to_le_bytes());
                }
            }
            let cut = (state as usize % bytes.len()).max(SLOTS_OFFSET);
            let view = LedgerView::new(&bytes[..cut]).expect("the header is untouched");
            for slot in view.slots() {
                let _ = (slot.get(Key::HeapGets), slot.program(), slot.arguments(), slot.owners().count());
                let _ = (slot.pools().count(), slot.pools_head(), slot.steps().map(Iterator::count));
                for table in slot.traces() {
                    let _ = (table.thread(), table.last().count());
                }
                for class in slot.classes() {
                    let _ = (class.name(), class.sum(Sum::Counted), class.uses(), class.requests());
                }
                for pair in slot.pairs() {
                    let _ = (pair.class(), pair.pair(), pair.sum(PairSum::Bytes), pair.lists());
                }
                for heap in slot.heaps() {
                    let _ = (heap.name(), crate::table::KEYS.map(|key| heap.get(key)));
                }
            }
            let _ = view.options();
        }
    }
}
