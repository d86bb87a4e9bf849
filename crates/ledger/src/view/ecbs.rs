//! Classes of ECBs, their name-value pairs and trace tables, as the host reads them.
//!
//! Invariant: that of the parent: noise gives odd figures, never a crash.
//! Not here: where the pages are (the parent).

use core::mem::offset_of;

use super::{text, word};
use crate::classes::{self, ClassRow, OfList, Sum};
use crate::layout::not_below_zero;
use crate::pairs::{self, PairRow, PairSum};
use crate::traces::{self, Entry, Table, Traced, Traces};

/// The last requests of a thread: [`Table`] as the host reads it.
#[derive(Clone, Copy)]
pub struct TraceView<'a> {
    pub(super) pages: &'a [u8],
    pub(super) table: &'a [u8],
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
    pub(super) page: &'a [u8],
    pub(super) index: usize,
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
    pub(super) row: &'a [u8],
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
