//! Named addresses in order, found by bisection.
//!
//! ```text
//! start   0    10        20   30
//!         [main]  [outer------------)
//!                        [inner)           25 lies in inner, 35 in outer, 5 in main (of no length: up to the next)
//! reach   8    50        50   50           the farthest end of this entry and all before it
//! ```
//!
//! Invariant: `entries` are in order of their starts, no two with the same; `reach[i]` is the greatest end of the first
//! `i + 1` of them, so whoever walks back stops where nothing before can contain the address.

use std::ops::Range;

/// How much a name is to be preferred among those of one address; less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(pub u8);

/// A name and where it begins.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Address of its first byte.
    pub start: u64,
    /// Bytes that it has; 0 where it does not say.
    pub size: u64,
    /// Among names of the same address, the least counts.
    pub rank: Rank,
    /// As it stands in the file.
    pub name: String,
}

/// Names in order.
#[derive(Debug, Default)]
pub struct Table {
    entries: Vec<Entry>,
    reach: Vec<u64>,
}

impl Table {
    /// Puts names in order. One without a length reaches to the next, and at most to the end of its section.
    pub fn new(mut entries: Vec<Entry>, sections: &[Range<u64>]) -> Table {
        entries.sort_by(|a, b| {
            let order = |entry: &Entry| {
                (entry.start, entry.size == 0, entry.rank, underscores(&entry.name), entry.name.len())
            };
            order(a).cmp(&order(b)).then_with(|| a.name.cmp(&b.name))
        });
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
        Table { entries, reach }
    }

    /// The innermost entry that the address lies in.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<&Entry> {
        let after = self.entries.partition_point(|entry| entry.start <= address);
        for at in (0..after).rev() {
            if self.reach[at] <= address {
                return None;
            }
            let entry = &self.entries[at];
            if address - entry.start < entry.size {
                return Some(entry);
            }
        }
        None
    }

    /// All of them.
    #[cfg(test)]
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Is there no name?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Names with fewer underscores before them are the public ones.
fn underscores(name: &str) -> usize {
    name.len() - name.trim_start_matches('_').len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice;

    const SECTION: Range<u64> = 0..100;

    fn entry(start: u64, size: u64, rank: u8, name: &str) -> Entry {
        Entry { start, size, rank: Rank(rank), name: name.to_owned() }
    }

    fn check(table: &Table, address: u64, expect: Option<&str>) {
        assert_eq!(table.find(address).map(|entry| entry.name.as_str()), expect, "{address}");
    }

    #[test]
    fn the_innermost_counts_and_gaps_have_no_name() {
        let entries = vec![
            entry(20, 5, 0, "inner"),
            entry(10, 40, 0, "outer"),
            entry(0, 8, 0, "main"),
            entry(60, 0, 0, "open"),
            entry(70, 0, 0, "last"),
        ];
        let table = Table::new(entries, slice::from_ref(&SECTION));
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
        let names =
            |entries| Table::new(entries, slice::from_ref(&SECTION)).find(0).map(|entry| entry.name.clone());
        let entries = vec![entry(0, 4, 1, "weak"), entry(0, 4, 0, "__libc_malloc"), entry(0, 4, 0, "malloc")];
        assert_eq!(names(entries).as_deref(), Some("malloc"));
        assert_eq!(names(vec![entry(0, 0, 0, "label"), entry(0, 9, 2, "local")]).as_deref(), Some("local"));
    }

    #[test]
    fn sizes_beyond_all_bounds_do_no_harm() {
        let table = Table::new(vec![entry(u64::MAX, u64::MAX, 0, "end"), entry(1, u64::MAX, 0, "all")], &[]);
        check(&table, u64::MAX - 1, Some("all"));
        check(&table, 0, None);
    }
}
