//! Switches of a process, as the host reads them: each entry with the module of its address.

use core::mem::offset_of;

use super::{SlotView, text, word};
use crate::layout::{SWITCHES_BYTES, Slot, not_below_zero};
use crate::switch_reset::{Figure, Noted, OF_FIGURE, OF_RUNS, OFFSET, rows};
use crate::switches::{
    CALLED, Called, ENTRIES, Entry, FIRST_CALLED, Fixed, Head, KNOWN, MODULES, Module, NO_ROW, OVERFLOW,
    Overflow, ROWS_BELOW, RUNS, SAMPLED, Switches, TABLES, Table, parts, rows_of_sample,
};

/// Calls of one function from one site, as one entry has them. A site may have several entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteView<'a> {
    /// The function's number.
    pub function: usize,
    /// The row of the module that called; [`NO_ROW`]: none.
    pub row: usize,
    /// File name of that module; empty: code of no module, or there was no room.
    pub module: &'a [u8],
    /// The return address in the module; 0: not known.
    pub offset: u64,
    /// Calls.
    pub count: u64,
    /// Bytes asked for, if the function has such an argument.
    pub bytes: u64,
    /// The descriptor of the first call and 1, if the function has one; 0: not known. With the bits of [`FLAGS`](crate::switches::FLAGS).
    pub first: u64,
}

/// The switches in these pages, which are [`LedgerView::switches_of`](super::LedgerView::switches_of) a slot: entries to the kernel by
/// all components together, without calls of libraries' functions. They only grow. Cheaper than [`SlotView::sites`], which looks modules up.
#[must_use]
pub fn count_switches(pages: &[u8]) -> u64 {
    let known = offset_of!(Switches, fixed) + offset_of!(Fixed, known);
    let entries = tables(pages).chain((0..KNOWN).map(move |entry| known + entry * size_of::<Entry>()));
    let entries = entries.filter_map(|at| {
        let key = word(pages, at + offset_of!(Entry, key));
        let is_switch = key != 0 && parts(key).0 < SAMPLED;
        is_switch.then(|| not_below_zero(word(pages, at + offset_of!(Entry, count))))
    });
    let overflow = (0..OVERFLOW.min(SAMPLED)).map(|function| {
        not_below_zero(word(pages, offset_of!(Head, overflow) + function * size_of::<Overflow>()))
    });
    entries.chain(overflow).fold(0, u64::saturating_add)
}

/// The places of all entries of the tables that threads have made.
fn tables(pages: &[u8]) -> impl Iterator<Item = usize> + use<> {
    let made = word(pages, offset_of!(Head, made));
    let tables = (0..TABLES).filter(move |table| made >> table & 1 != 0);
    tables.flat_map(|table| {
        let at = offset_of!(Switches, tables) + table * size_of::<Table>();
        (0..ENTRIES).map(move |entry| at + entry * size_of::<Entry>())
    })
}

impl<'a> SlotView<'a> {
    /// Does the process count its switches?
    #[must_use]
    pub fn counts_switches(&self) -> bool {
        word(self.bytes, offset_of!(Slot, switches)) != 0 && self.switches.len() == SWITCHES_BYTES
    }

    /// How many functions of the C library count; 0 if the process counts no switches.
    #[must_use]
    pub fn functions_bound(&self) -> u64 {
        let at = offset_of!(Switches, fixed) + offset_of!(Fixed, head) + offset_of!(Head, functions_bound);
        if self.counts_switches() { word(self.switches, at) } else { 0 }
    }

    /// The entries of all sites with calls. Empty if the process counts no switches.
    pub fn sites(&self) -> impl Iterator<Item = SiteView<'a>> + use<'a> {
        let pages = if self.counts_switches() { self.switches } else { &[] };
        let known = offset_of!(Switches, fixed) + offset_of!(Fixed, known);
        let entries = tables(pages).chain((0..KNOWN).map(move |entry| known + entry * size_of::<Entry>()));
        let sites = entries.filter_map(move |at| {
            let figure = |field: usize| not_below_zero(word(pages, at + field));
            let (key, count) = (word(pages, at + offset_of!(Entry, key)), figure(offset_of!(Entry, count)));
            if key == 0 || count == 0 {
                return None;
            }
            let (function, address) = parts(key);
            if function == SAMPLED {
                return None;
            }
            let (row, module, offset) = module(pages, address);
            let (bytes, first) =
                (figure(offset_of!(Entry, bytes)), figure(offset_of!(Entry, first)) & 0xffff_ffff);
            Some(SiteView { function, row, module, offset, count, bytes, first })
        });
        let overflow = (0..OVERFLOW).filter_map(move |function| {
            let at = offset_of!(Head, overflow) + function * size_of::<Overflow>();
            let count = not_below_zero(word(pages, at));
            let (row, module) = (NO_ROW, &[][..]);
            (count > 0).then_some(SiteView { function, row, module, offset: 0, count, bytes: 0, first: 0 })
        });
        sites.chain(overflow)
    }

    /// Name and library of a function of that number, at least [`FIRST_CALLED`]; both are empty if it was never called.
    #[must_use]
    pub fn called_function(&self, number: usize) -> (&'a [u8], &'a [u8]) {
        let called = number.checked_sub(FIRST_CALLED).filter(|called| *called < CALLED);
        let is_there = self.counts_switches() && word(self.switches, offset_of!(Head, called_made)) != 0;
        match called.filter(|_| is_there) {
            None => (&[], &[]),
            Some(called) => {
                let at = offset_of!(Switches, called) + called * size_of::<Called>();
                let of = |field: usize, bytes| text(self.switches, at + field, bytes);
                (of(offset_of!(Called, name), 88), of(offset_of!(Called, library), 40))
            }
        }
    }

    /// Functions of libraries that ZIIP(3GL) names for which there was no room.
    #[must_use]
    pub fn called_left_out(&self) -> u64 {
        if self.counts_switches() { word(self.switches, offset_of!(Head, called_left_out)) } else { 0 }
    }

    /// Samples of who calls modules that hide their callers: the rows of the module and of its caller ([`NO_ROW`]: not found), and how many.
    pub fn samples_of_callers(&self) -> impl Iterator<Item = (usize, usize, u64)> + use<'a> {
        let pages = if self.counts_switches() { self.switches } else { &[] };
        let known = offset_of!(Switches, fixed) + offset_of!(Fixed, known);
        (0..KNOWN).filter_map(move |entry| {
            let at = known + entry * size_of::<Entry>();
            let (function, address) = parts(word(pages, at + offset_of!(Entry, key)));
            let count = not_below_zero(word(pages, at + offset_of!(Entry, count)));
            let (hiding, caller) = rows_of_sample(address);
            (function == SAMPLED && count > 0).then_some((hiding, caller, count))
        })
    }

    /// Runs of eligible components by the classes of [`bucket`](crate::switches::bucket), since the last reset.
    pub fn runs_since_reset(&self) -> impl Iterator<Item = u64> + use<'a> {
        let mut runs: [u64; RUNS] = core::array::from_fn(|class| self.runs().nth(class).unwrap_or(0));
        for noted in self.noted_switches().filter(|noted| noted.function == OF_RUNS) {
            if let Some(count) = runs.get_mut(noted.row) {
                *count = count.saturating_sub(noted.count);
            }
        }
        runs.into_iter()
    }

    /// Runs of eligible components by the classes of [`bucket`](crate::switches::bucket).
    pub fn runs(&self) -> impl Iterator<Item = u64> + use<'a> {
        let pages = if self.counts_switches() { self.switches } else { &[] };
        let at = |class: usize| offset_of!(Head, runs) + class * size_of::<Overflow>();
        (0..RUNS).map(move |class| not_below_zero(word(pages, at(class))))
    }

    /// The kernel's counts of read and write calls before the program began: by the file of its first thread, and by that of the process.
    #[must_use]
    pub fn kernel_before(&self) -> [[u64; 2]; 2] {
        let at = offset_of!(Head, before);
        let pages = if self.counts_switches() { self.switches } else { &[] };
        core::array::from_fn(|of| core::array::from_fn(|sort| word(pages, at + (of * 2 + sort) * 8)))
    }

    /// A figure that a host has noted at a reset of this process. None: there was no reset, or the figure could not be read then.
    #[must_use]
    pub fn noted_figure(&self, figure: Figure) -> Option<u64> {
        let is_it = |noted: &Noted| noted.function == OF_FIGURE && noted.row == figure as usize;
        self.noted_switches().find(is_it).map(|noted| noted.count)
    }

    /// What a host has noted at a reset of this process; nothing if there was none.
    pub fn noted_switches(&self) -> impl Iterator<Item = Noted> + use<'a> {
        let page = if self.counts_switches() { self.switches.get(OFFSET..) } else { None };
        rows(page.unwrap_or(&[]), self.process)
    }

    /// File name of the module of a row; empty: there is none.
    #[must_use]
    pub fn module_of_row(&self, row: usize) -> &'a [u8] {
        if self.counts_switches() && row < MODULES { module(self.switches, row as u64 + 1).1 } else { &[] }
    }
}

/// The row and the name of the module that has an address, and the place in it.
fn module(pages: &[u8], address: u64) -> (usize, &[u8], u64) {
    let row = |row: usize| {
        let at = offset_of!(Head, modules) + row * size_of::<Module>();
        let name = text(pages, at + offset_of!(Module, name), 32);
        (row, name, word(pages, at + offset_of!(Module, start)), word(pages, at + offset_of!(Module, end)))
    };
    const NONE: (usize, &[u8], u64) = (NO_ROW, &[], 0);
    match address {
        0 => NONE,
        1..ROWS_BELOW => {
            let number = usize::try_from(address - 1).unwrap_or(MODULES);
            if number < MODULES { (number, row(number).1, 0) } else { NONE }
        }
        _ => (0..MODULES)
            .map(row)
            .find(|(_, _, start, end)| (*start..*end).contains(&address))
            .map_or(NONE, |(row, name, start, _)| (row, name, address - start)),
    }
}
