//! The sum of the switches of several processes of one program: modules and functions are at other addresses and numbers in each, so
//! their names count.
//!
//! Invariant: only the folder, which has both processes' pages for itself, calls this. The tests are the parent's.

use core::sync::atomic::{AtomicU64, Ordering};

use super::{
    Called, Entry, FIRST_CALLED, Fixed, Module, NO_ROW, OVERFLOW, ROWS_BELOW, SAMPLED, Switches, key, parts,
    rows_of_sample, sample,
};
use crate::layout::not_below_zero;

impl Fixed {
    /// The row of the same name here, made if there is none and there is room.
    fn row_of_name(&self, module: &Module) -> Option<usize> {
        let found = self.rows().find(|(_, own)| own.name.same(&module.name)).map(|(row, _)| row);
        found.or_else(|| {
            let row = usize::try_from(self.head.modules_given.fetch_add(1, Ordering::Relaxed)).ok()?;
            let own = self.head.modules.get(row)?;
            own.name.copy(&module.name);
            own.start.store(0, Ordering::Relaxed);
            own.end.store(0, Ordering::Relaxed);
            Some(row)
        })
    }

    /// Adds one entry of another process, whose module is there, too.
    fn fold_entry(&self, other: &Fixed, entry: &Entry, number_of: &dyn Fn(usize) -> Option<usize>) {
        let load = |word: &AtomicU64| not_below_zero(word.load(Ordering::Relaxed));
        let (key_there, count) = (entry.key.load(Ordering::Relaxed), load(&entry.count));
        if key_there == 0 || count == 0 {
            return;
        }
        let (function, address) = parts(key_there);
        let same = |row: usize| self.row_of_name(other.head.modules.get(row)?);
        if function == SAMPLED {
            let (hiding, caller) = rows_of_sample(address);
            if let Some(hiding) = same(hiding) {
                self.add(key(SAMPLED, sample(hiding, same(caller).unwrap_or(NO_ROW))), [count, 0, 0]);
            }
            return;
        }
        let row = match address {
            0..ROWS_BELOW => usize::try_from(address).ok().and_then(|row| row.checked_sub(1)),
            _ => other.module_of(address),
        };
        let row = row.and_then(same);
        let address = row.map_or(0, |row| row as u64 + 1);
        let function = match function.checked_sub(FIRST_CALLED) {
            None => function,
            Some(called) => number_of(called).map_or(OVERFLOW - 1, |called| FIRST_CALLED + called),
        };
        self.add(key(function, address), [count, load(&entry.bytes), load(&entry.first)]);
    }
}

impl Switches {
    /// The number of the same function here, made if there is none and there is room. Only the folder calls it.
    fn number_of(&self, other: &Called) -> Option<usize> {
        let rows = self.called_rows()?;
        if other.library.is_empty() {
            return None;
        }
        let is_it = |row: &Called| row.library.same(&other.library) && row.name.same(&other.name);
        let found = rows.iter().position(is_it);
        found.or_else(|| {
            let free = rows.iter().rposition(|row| row.library.is_empty())?;
            rows[free].name.copy(&other.name);
            rows[free].library.copy(&other.library);
            Some(free)
        })
    }

    /// Adds another process of the same program, by module: the addresses of both differ.
    pub fn fold(&self, other: &Switches) {
        let entries = other.made().flat_map(|table| &table.0).chain(&other.fixed.known);
        let number_of = |called| self.number_of(other.called_rows()?.get(called)?);
        entries.for_each(|entry| self.fixed.fold_entry(&other.fixed, entry, &number_of));
        let (mine, theirs) = (&self.fixed.head, &other.fixed.head);
        let all = mine.overflow.iter().chain(&mine.runs);
        for (mine, theirs) in all.zip(theirs.overflow.iter().chain(&theirs.runs)) {
            mine.count.fetch_add(not_below_zero(theirs.count.load(Ordering::Relaxed)), Ordering::Relaxed);
        }
    }
}
