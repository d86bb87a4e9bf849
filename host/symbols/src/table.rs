//! Named addresses in order, found by bisection.
//!
//! ```text
//! start   0    10        20   30
//!         [main]  [outer------------)
//!                        [inner)           25 is in inner, 35 in outer, 5 in main (of no length: up to the next)
//! reach   8    50        50   50           the farthest end of this entry and all before it
//! ```
//!
//! Names stay where the file has them, in one text: of the tens of thousands of names of a large program, few are ever
//! used.
//!
//! Invariant: `entries` are in order of their starts, no two with the same; `reach[i]` is the greatest end of the first
//! `i + 1` of them, so the walk back stops where no earlier one can contain the address. Names with the same address are
//! compared, up to four times the length of all texts; beyond that, the first one counts.
//! Not here: symbols of files ([`crate::names`]).

use std::cmp::Ordering;
use std::ops::Range;
use std::rc::Rc;

/// The preference of a name among those of one address; less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(pub u8);

/// A name and its start.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Address of its first byte.
    pub start: u64,
    /// Its bytes; 0 if not given.
    pub size: u64,
    /// The start of its name in the texts.
    pub name: u32,
    /// Among names of the same address, the least counts.
    pub rank: Rank,
}

impl Entry {
    fn order(&self) -> (u64, bool, Rank) {
        (self.start, self.size == 0, self.rank)
    }
}

/// The entry at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<'a> {
    /// Address of its first byte.
    pub start: u64,
    /// Its bytes.
    pub size: u64,
    /// Its name, as in the file.
    pub name: &'a str,
}

/// Names, each ended by a zero byte.
#[derive(Clone, Debug, Default)]
pub struct Texts(Rc<[u8]>);

impl Texts {
    /// The texts of a file's section.
    pub fn new(bytes: &[u8]) -> Texts {
        Texts(bytes.into())
    }

    /// The first byte of a name; None beyond the end.
    pub fn first(&self, at: u32) -> Option<u8> {
        self.0.get(at as usize).copied()
    }

    fn bytes(&self, at: u32) -> &[u8] {
        let rest = self.0.get(at as usize..).unwrap_or_default();
        &rest[..rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len())]
    }

    fn text(&self, at: u32) -> Option<&str> {
        std::str::from_utf8(self.bytes(at)).ok()
    }
}

/// The limit of compared bytes, as a multiple of the texts' length: linkers let names end in one another.
const MOST_COMPARED: usize = 4;

/// Names in order.
#[derive(Debug, Default)]
pub struct Table {
    entries: Vec<Entry>,
    reach: Vec<u64>,
    texts: Texts,
}

impl Table {
    /// Puts names in order. A name without a length reaches to the next, and at most to the end of its section.
    pub fn new(mut entries: Vec<Entry>, texts: Texts, sections: &[Range<u64>]) -> Table {
        entries.sort_by_key(Entry::order);
        let mut left = texts.0.len().saturating_mul(MOST_COMPARED);
        for alike in entries.chunk_by_mut(|a, b| a.order() == b.order()) {
            if alike.len() > 1 {
                let best = best(alike, &texts, &mut left);
                alike.swap(0, best);
            }
        }
        entries.dedup_by_key(|entry| entry.start);
        for at in 0..entries.len() {
            if entries[at].size == 0 {
                let start = entries[at].start;
                let next = entries.get(at + 1).map_or(u64::MAX, |next| next.start);
                let end = sections
                    .iter()
                    .find(|section| section.contains(&start))
                    .map_or(start, |section| section.end);
                entries[at].size = next.min(end).saturating_sub(start);
            }
        }
        let mut farthest = 0;
        let reach = entries
            .iter()
            .map(|entry| {
                farthest = entry.start.saturating_add(entry.size).max(farthest);
                farthest
            })
            .collect();
        Table { entries, reach, texts }
    }

    /// The innermost entry with the address; None also if its name is not text.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<Found<'_>> {
        let after = self.entries.partition_point(|entry| entry.start <= address);
        for at in (0..after).rev() {
            if self.reach[at] <= address {
                return None;
            }
            let entry = &self.entries[at];
            if address - entry.start < entry.size {
                return self.found(entry);
            }
        }
        None
    }

    fn found(&self, entry: &Entry) -> Option<Found<'_>> {
        Some(Found { start: entry.start, size: entry.size, name: self.texts.text(entry.name)? })
    }

    /// All of them.
    #[cfg(test)]
    pub fn iter(&self) -> impl Iterator<Item = Found<'_>> {
        self.entries.iter().filter_map(|entry| self.found(entry))
    }

    /// Whether there is no name.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// The index of the best name among entries that are otherwise equal; `left` bytes may still be compared.
fn best(alike: &[Entry], texts: &Texts, left: &mut usize) -> usize {
    let mut best = (0, texts.bytes(alike[0].name));
    for (place, entry) in alike.iter().enumerate().skip(1) {
        let name = texts.bytes(entry.name);
        let Some(rest) = left.checked_sub(name.len() + 1) else { break };
        *left = rest;
        if better(name, best.1) == Ordering::Less {
            best = (place, name);
        }
    }
    best.0
}

/// Names with fewer underscores before them are the public ones; then the shorter one.
fn better(a: &[u8], b: &[u8]) -> Ordering {
    let key = |name: &[u8]| (name.iter().take_while(|&&byte| byte == b'_').count(), name.len());
    key(a).cmp(&key(b)).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice;

    const SECTION: Range<u64> = 0..100;

    fn table(names: &[(u64, u64, u8, &str)], sections: &[Range<u64>]) -> Table {
        let mut texts = vec![0];
        let entries = names
            .iter()
            .map(|&(start, size, rank, name)| {
                let at = texts.len() as u32;
                texts.extend(name.bytes().chain([0]));
                Entry { start, size, name: at, rank: Rank(rank) }
            })
            .collect();
        Table::new(entries, Texts::new(&texts), sections)
    }

    fn check(table: &Table, address: u64, expect: Option<&str>) {
        assert_eq!(table.find(address).map(|found| found.name), expect, "{address}");
    }

    #[test]
    fn the_innermost_counts_and_gaps_have_no_name() {
        let names = [
            (20, 5, 0, "inner"),
            (10, 40, 0, "outer"),
            (0, 8, 0, "main"),
            (60, 0, 0, "open"),
            (70, 0, 0, "last"),
        ];
        let table = table(&names, slice::from_ref(&SECTION));
        for (address, name) in [
            (0, Some("main")),
            (7, Some("main")),
            (8, None),
            (22, Some("inner")),
            (25, Some("outer")),
            (49, Some("outer")),
        ] {
            check(&table, address, name);
        }
        for (address, name) in
            [(50, None), (69, Some("open")), (70, Some("last")), (99, Some("last")), (100, None)]
        {
            check(&table, address, name);
        }
        check(&Table::default(), 5, None);
    }

    #[test]
    fn among_names_of_one_address_the_public_one_counts() {
        let name = |names: &[(u64, u64, u8, &str)]| {
            table(names, slice::from_ref(&SECTION)).find(0).map(|found| found.name.to_owned())
        };
        let names = [(0, 4, 1, "weak"), (0, 4, 0, "__libc_malloc"), (0, 4, 0, "malloc")];
        assert_eq!(name(&names).as_deref(), Some("malloc"));
        assert_eq!(name(&[(0, 0, 0, "label"), (0, 9, 2, "local")]).as_deref(), Some("local"));
    }

    #[test]
    fn many_long_names_of_one_address_are_bounded_work() {
        // A thousand entries that share one name of 64 KiB: compared one by one they would be 64 MiB.
        let texts = Texts::new(&[b'x'; 1 << 16]);
        let entry = |name| Entry { start: 0, size: 1, name, rank: Rank(0) };
        let mut left = (1 << 16) * MOST_COMPARED;
        best(&(0..1000).map(entry).collect::<Vec<_>>(), &texts, &mut left);
        assert!(left < 1 << 16, "it stopped: {left}");
    }

    #[test]
    fn sizes_and_names_beyond_all_bounds_do_no_harm() {
        let far = table(&[(u64::MAX, u64::MAX, 0, "end"), (1, u64::MAX, 0, "all")], &[]);
        check(&far, u64::MAX - 1, Some("all"));
        check(&far, 0, None);
        let entry = Entry { start: 0, size: 9, name: u32::MAX, rank: Rank(0) };
        check(&Table::new(vec![entry, entry], Texts::new(b"\0x\0"), &[]), 3, Some(""));
        check(&Table::new(vec![Entry { name: 0, ..entry }], Texts::new(b"\xff\xfe\0"), &[]), 3, None);
    }
}
