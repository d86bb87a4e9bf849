//! Which symbols name a few addresses, told in one pass over all symbols in any order.
//!
//! ```text
//!            outer  [-----------------------)     its bytes contain 30: kept
//!            label  |                             of no length, and nearest before 18: kept
//!            inner          [----)                contains 30, begins nearest before it: kept
//!            other [--)                           names neither: not kept
//! addresses          18      30
//! ```
//!
//! Invariant: a [`Table`](crate::table::Table) of all symbols at the kept starts gives the wanted addresses the names that a table of
//! all symbols gives them. One symbol costs one bisection of the wanted addresses.
//! Not here: symbols of files ([`crate::names`]).

/// Addresses of a file whose names are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Addresses in functions.
    pub code: Vec<u64>,
    /// Addresses in variables.
    pub data: Vec<u64>,
}

/// Starts of the symbols that name the wanted addresses.
pub struct Kept {
    /// The wanted addresses in order, each once.
    wanted: Vec<u64>,
    /// The last start at or before the wanted address with this place, and behind the one before it.
    last: Vec<Option<u64>>,
    /// Starts of symbols that contain a wanted address.
    around: Vec<u64>,
}

impl Kept {
    /// None so far.
    pub fn of(wanted: &[u64]) -> Kept {
        let mut wanted = wanted.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        Kept { last: vec![None; wanted.len()], around: Vec::new(), wanted }
    }

    /// Looks at a symbol; `size` is 0 if it has none.
    pub fn see(&mut self, start: u64, size: u64) {
        let after = self.wanted.partition_point(|&address| address < start);
        let Some(&address) = self.wanted.get(after) else { return };
        self.last[after] = self.last[after].max(Some(start));
        if address - start < size {
            self.around.push(start);
        }
    }

    /// The starts in order, each once.
    pub fn starts(mut self) -> Vec<u64> {
        // Where no symbol begins between two wanted addresses, the last one before both is the same.
        let nearest = self.last.iter().scan(None, |before, last| {
            *before = last.or(*before);
            Some(*before)
        });
        self.around.extend(nearest.flatten());
        self.around.sort_unstable();
        self.around.dedup();
        self.around
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Image;
    use crate::table::{Entry, Rank, Table, Texts};
    use std::slice;

    #[test]
    fn the_symbols_around_and_the_nearest_are_kept() {
        let mut kept = Kept::of(&[30, 18, 30, 5]);
        for (start, size) in [(25, 9), (9, 3), (10, 40), (15, 0), (31, 50), (0, 5)] {
            kept.see(start, size);
        }
        assert_eq!(kept.starts(), [0, 10, 15, 25]);
        assert!(Kept::of(&[]).starts().is_empty());
    }

    #[test]
    fn a_table_of_them_names_the_addresses_as_one_of_all_does() {
        let mut state = 7_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let texts = Texts::new(&(0..200).flat_map(|name: u8| [name % 26 + b'a', 0]).collect::<Vec<_>>());
        for _ in 0..500 {
            let entries: Vec<Entry> = (0..next(40))
                .map(|_| Entry {
                    start: next(100),
                    size: next(4) * next(20),
                    name: next(200) as u32 * 2,
                    rank: Rank(next(3) as u8),
                })
                .collect();
            let wanted: Vec<u64> = (0..=next(6)).map(|_| next(120)).collect();
            let mut kept = Kept::of(&wanted);
            entries.iter().for_each(|entry| kept.see(entry.start, entry.size));
            let starts = kept.starts();
            let few = entries.iter().filter(|entry| starts.contains(&entry.start)).copied().collect();
            let section = slice::from_ref(&(0..110));
            let (all, few) =
                (Table::new(entries, texts.clone(), section), Table::new(few, texts.clone(), section));
            for &address in &wanted {
                let name =
                    |table: &Table| table.find(address).map(|found| (found.start, found.name.to_owned()));
                assert_eq!(name(&few), name(&all), "{address} of {wanted:?}");
            }
        }
    }

    #[test]
    fn our_own_file_opened_for_some_addresses_gives_their_names() {
        let path = std::env::current_exe().expect("a path");
        let all = Image::open(&path).expect("an ELF file");
        let first = all.code_named("our_own_file_opened_for").expect("this test");
        let code: Vec<u64> =
            (0..2_000).map(|at| first.wrapping_add(at * 997).wrapping_sub(900_000)).collect();
        let data: Vec<u64> = (0..50_000).map(|at| first + at * 211).collect();
        let few =
            Image::open_for(&path, &Wanted { code: code.clone(), data: data.clone() }).expect("the same");
        for &address in &code {
            assert_eq!(few.code(address), all.code(address), "{address:#x}");
        }
        for &address in &data {
            assert_eq!(few.data(address), all.data(address), "{address:#x}");
        }
        let count =
            |of: &dyn Fn(u64) -> bool, addresses: &[u64]| addresses.iter().filter(|at| of(**at)).count();
        assert!(count(&|at| all.code(at).is_some(), &code) > 500);
        assert!(count(&|at| all.data(at).is_some(), &data) > 0);
    }
}
