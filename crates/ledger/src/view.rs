//! A ledger as the host sees it: bytes of a file, checked, never trusted.
//!
//! The host reads the file with ordinary reads; it maps nothing and needs no `unsafe`. A reader sees each counter whole (an
//! aligned eight-byte store is), but two counters may be an instant apart while the process runs. Noise gives an error or odd
//! figures, never a crash.

mod caches;
mod ecbs;
mod heaps;
mod switches;

use core::mem::offset_of;

use crate::classes::{self, ClassRow};
use crate::layout::{
    AllocatorRole, CACHES_BYTES, CACHES_OFFSET, CLASSES_BYTES, CLASSES_OFFSET, Directory, Fault, FaultKind,
    HEAP_STEPS_BYTES, HEAP_STEPS_OFFSET, Header, Identity, LEFT, MAGIC, OPTIONS_OFFSET, OPTIONS_ROOM, OWNERS,
    Owner, SLOT_BYTES, SLOTS, SLOTS_OFFSET, STARTS, SWITCHES_BYTES, SWITCHES_OFFSET, Slot, SlotState,
    TRACES_BYTES, TRACES_OFFSET, not_below_zero,
};
use crate::pairs::{self, PairRow, PairSum, Pairs};
use crate::pools::{self, Head, Pools};
use crate::sizes;
use crate::table::{FINGERPRINT, Key, LAYOUT_VERSION};
use crate::traces::{Table, Traces};

pub use caches::CacheView;
pub use ecbs::{ClassView, PairView, TraceView, TracedRequest};
pub use heaps::{HeapView, PoolView};
pub use switches::{SiteView, count_switches};

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
    /// The pages of its switches, likewise.
    switches: &'a [u8],
    /// The pages of its caches of files, likewise.
    caches: &'a [u8],
    /// Its place in the file.
    pub place: usize,
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

    /// Where the counters of a slot's process are in the file: the slot itself, without what is behind it.
    #[must_use]
    pub const fn counters_of(slot: usize) -> core::ops::Range<usize> {
        let at = SLOTS_OFFSET + slot * SLOT_BYTES;
        at..at + size_of::<Slot>()
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

    /// Where the switches of a slot's process are in the file.
    #[must_use]
    pub const fn switches_of(slot: usize) -> core::ops::Range<usize> {
        let at = SWITCHES_OFFSET + slot * SWITCHES_BYTES;
        at..at + SWITCHES_BYTES
    }

    /// Whether the process of a slot counts its switches.
    #[must_use]
    pub fn has_switches(&self, slot: usize) -> bool {
        self.is_used(slot)
            && word(self.bytes, SLOTS_OFFSET + slot * SLOT_BYTES + offset_of!(Slot, switches)) != 0
    }

    /// Where the caches of files of a slot's process are in the file.
    #[must_use]
    pub const fn caches_of(slot: usize) -> core::ops::Range<usize> {
        let at = CACHES_OFFSET + slot * CACHES_BYTES;
        at..at + CACHES_BYTES
    }

    /// Whether the process of a slot has caches of files.
    #[must_use]
    pub fn has_caches(&self, slot: usize) -> bool {
        self.is_used(slot)
            && word(self.bytes, SLOTS_OFFSET + slot * SLOT_BYTES + offset_of!(Slot, caches)) != 0
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
            let switches = bytes.get(Self::switches_of(slot)).unwrap_or(&[]);
            Some(SlotView {
                bytes: bytes.get(at..at + SLOT_BYTES)?,
                classes,
                heap_steps,
                traces,
                switches,
                caches: bytes.get(Self::caches_of(slot)).unwrap_or(&[]),
                place: slot,
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

    /// Programs that are LINKed and have a limit of CPU time: the thread of each, and the number of its start.
    pub fn starts(&self) -> impl Iterator<Item = (u32, u32)> + use<'a> {
        let bytes = self.bytes;
        (0..STARTS).filter_map(move |place| {
            let start = word(bytes, offset_of!(Slot, starts) + 8 * place);
            (start != 0).then_some(((start >> 32) as u32, start as u32))
        })
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

    /// Its caches of files: rows that served a file or left one alone. Empty if it has none.
    pub fn caches(&self) -> impl Iterator<Item = CacheView<'a>> + use<'a> {
        let has = word(self.bytes, offset_of!(Slot, caches)) != 0 && self.caches.len() == CACHES_BYTES;
        let rows = if has { self.caches } else { &[] };
        let rows = rows.as_chunks::<{ size_of::<crate::caches::CacheRow>() }>().0;
        rows.iter().enumerate().map(|(number, row)| CacheView { row, number }).filter(CacheView::is_used)
    }

    /// The threads that have a trace table, each with its last requests, the newest first.
    pub fn traces(&self) -> impl Iterator<Item = TraceView<'a>> + use<'a> {
        let has = word(self.bytes, offset_of!(Slot, traces)) != 0 && self.traces.len() == TRACES_BYTES;
        let pages = if has { self.traces } else { &[] };
        let tables = pages.get(offset_of!(Traces, tables)..).unwrap_or(&[]);
        let tables = tables.as_chunks::<{ size_of::<Table>() }>().0;
        tables.iter().map(move |table| TraceView { pages, table }).filter(|table| table.requests() > 0)
    }

    /// Threads that found no trace table.
    #[must_use]
    pub fn threads_without_trace(&self) -> u64 {
        let has = word(self.bytes, offset_of!(Slot, traces)) != 0 && self.traces.len() == TRACES_BYTES;
        let at = offset_of!(Traces, tables) + offset_of!(Table, without);
        if has { not_below_zero(word(self.traces, at)) } else { 0 }
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
mod tests;
