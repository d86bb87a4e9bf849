//! The value of a name: a member with its pages, or an alias; encoding to and decoding from a leaf's cell.
//!
//! Invariant: decode(encode(x)) == x. A separate check, [`Value::is_inside`], runs whenever an entry is handed out: its pages
//! must be inside the file.

use crate::attribute::{Attributes, Classes, FetchOptions, PAGE, pages};
use crate::bytes::{put, u8_at, u16_at, u32_at, u64_at};
use crate::name::Name;
use crate::sum::sum;
use crate::symbol::Symbol;

use super::superblock::{FIRST_PAGE, Superblock};

/// Offset of the sum in a page of sums.
const SUM: usize = PAGE - 8;

/// Maximum number of runs of a member.
pub const MOST_RUNS: usize = 8;

/// Consecutive pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The first page.
    pub first: u32,
    /// Their number.
    pub pages: u32,
}

/// The pages of a member, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    number: u8,
    runs: [Run; MOST_RUNS],
}

impl Runs {
    /// No runs yet, with room for so many.
    #[must_use]
    pub fn new(given: &[Run]) -> Option<Runs> {
        let mut runs = [Run::default(); MOST_RUNS];
        runs.get_mut(..given.len())?.copy_from_slice(given);
        Some(Runs { number: given.len() as u8, runs })
    }

    /// Each run.
    #[must_use]
    pub fn as_slice(&self) -> &[Run] {
        self.runs.get(..usize::from(self.number)).unwrap_or(&[])
    }

    /// All pages.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.as_slice().iter().map(|run| u64::from(run.pages)).sum()
    }

    /// The page of the file that holds a page of the member.
    #[must_use]
    pub fn page(&self, mut index: u32) -> Option<u32> {
        for run in self.as_slice() {
            if index < run.pages {
                return run.first.checked_add(index);
            }
            index -= run.pages;
        }
        None
    }
}

/// Members with more pages than this have a sum for each page. LOAD does not read these members whole.
pub const TABLE_ABOVE: u32 = 24;
/// The number of sums in a page of sums; the page's own sum comes last.
pub const TABLE_SUMS: u32 = 511;

/// The pages of sums for a member of so many pages.
#[must_use]
pub const fn table_pages(pages: u32) -> u32 {
    if pages > TABLE_ABOVE { pages.div_ceil(TABLE_SUMS) } else { 0 }
}

/// Writes the sum of a page of sums into the page.
pub fn seal_table(page: &mut [u8; PAGE], seed: u64) {
    let sum = sum(seed, &page[..SUM]);
    put(page, SUM, &sum.to_le_bytes());
}

pub(super) fn is_sealed_table(page: &[u8; PAGE], seed: u64) -> bool {
    u64_at(page, SUM) == sum(seed, &page[..SUM])
}

/// A member, as the value of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: Name,
    /// Its attributes.
    pub attributes: Attributes,
    /// How it asks to be fetched.
    pub fetch: FetchOptions,
    /// The member locator token: a number without order that stands for it in lists.
    pub token: u32,
    /// Bytes.
    pub size: u64,
    /// Bytes from the front that are the program in storage.
    pub loadable: u64,
    /// Bytes of storage that the program takes.
    pub storage: u64,
    /// Address of the entry point, in the file's own addresses.
    pub entry_point: Option<u64>,
    /// The function at its entry point; empty if none.
    pub symbol: Symbol,
    /// The sum of all bytes, with seed 0.
    pub sum: u64,
    /// Seconds since 1970.
    pub modified: u64,
    /// First page of the sums of its pages; 0 if it has none.
    pub table: u32,
    /// Its pages.
    pub runs: Runs,
}

impl Member {
    /// Its pages by class of text.
    #[must_use]
    pub fn classes(&self) -> Classes {
        Classes::new(self.size, self.loadable, self.fetch)
    }
}

/// An alias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// Its name.
    pub name: Name,
    /// Its member.
    pub of: Name,
    /// Address of the entry point of this name.
    pub entry_point: Option<u64>,
    /// The function at its entry point; empty if none.
    pub symbol: Symbol,
}

/// The value of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "there is no heap to put the larger one on")]
pub enum Value {
    /// A member.
    Member(Member),
    /// An alias.
    Alias(Alias),
}

/// No entry point.
const NONE: u64 = u64::MAX;
const MEMBER_FIXED: usize = 72;
const ALIAS_FIXED: usize = 16;

impl Value {
    /// Maximum length of an encoded value in bytes.
    pub const LONGEST: usize = MEMBER_FIXED + MOST_RUNS * 8 + Symbol::LONGEST;

    /// The name.
    #[must_use]
    pub fn name(&self) -> Name {
        match self {
            Value::Member(member) => member.name,
            Value::Alias(alias) => alias.name,
        }
    }

    /// Encodes the value for a cell; also returns its length in bytes.
    #[must_use]
    pub fn encode(&self) -> ([u8; Value::LONGEST], usize) {
        let mut value = [0; Value::LONGEST];
        let end = match self {
            Value::Member(member) => {
                put(&mut value, 0, &[1, member.fetch.code()]);
                put(&mut value, 2, &member.attributes.0.to_le_bytes());
                put(&mut value, 4, &member.token.to_le_bytes());
                put(&mut value, 8, &member.size.to_le_bytes());
                put(&mut value, 16, &member.loadable.to_le_bytes());
                put(&mut value, 24, &member.storage.to_le_bytes());
                put(&mut value, 32, &member.entry_point.unwrap_or(NONE).to_le_bytes());
                put(&mut value, 40, &member.sum.to_le_bytes());
                put(&mut value, 48, &member.modified.to_le_bytes());
                put(&mut value, 56, &member.table.to_le_bytes());
                let (runs, symbol) = (member.runs.as_slice(), member.symbol.as_bytes());
                put(&mut value, 60, &[runs.len() as u8, symbol.len() as u8]);
                let mut at = MEMBER_FIXED;
                for run in runs {
                    put(&mut value, at, &run.first.to_le_bytes());
                    put(&mut value, at + 4, &run.pages.to_le_bytes());
                    at += 8;
                }
                put(&mut value, at, symbol);
                at + symbol.len()
            }
            Value::Alias(alias) => {
                let (of, symbol) = (alias.of.as_bytes(), alias.symbol.as_bytes());
                put(&mut value, 0, &[2, of.len() as u8, symbol.len() as u8]);
                put(&mut value, 8, &alias.entry_point.unwrap_or(NONE).to_le_bytes());
                put(&mut value, ALIAS_FIXED, of);
                put(&mut value, ALIAS_FIXED + of.len(), symbol);
                ALIAS_FIXED + of.len() + symbol.len()
            }
        };
        (value, end)
    }

    /// Decodes a value from a cell; None for anything else. Does not check that its pages are inside the file.
    #[must_use]
    pub fn decode(name: &Name, value: &[u8]) -> Option<Value> {
        let address = |field: u64| (field != NONE).then_some(field);
        match u8_at(value, 0) {
            1 if value.len() >= MEMBER_FIXED => {
                let number = usize::from(u8_at(value, 60));
                let symbol_at = MEMBER_FIXED + number * 8;
                let mut runs = [Run::default(); MOST_RUNS];
                for (index, run) in runs.get_mut(..number)?.iter_mut().enumerate() {
                    let at = MEMBER_FIXED + index * 8;
                    *run = Run { first: u32_at(value, at), pages: u32_at(value, at + 4) };
                }
                let symbol = value.get(symbol_at..)?;
                if symbol.len() != usize::from(u8_at(value, 61)) {
                    return None;
                }
                Some(Value::Member(Member {
                    name: *name,
                    attributes: Attributes(u16_at(value, 2)),
                    fetch: FetchOptions::from_code(u8_at(value, 1))?,
                    token: u32_at(value, 4),
                    size: u64_at(value, 8),
                    loadable: u64_at(value, 16),
                    storage: u64_at(value, 24),
                    entry_point: address(u64_at(value, 32)),
                    symbol: Symbol::new(symbol)?,
                    sum: u64_at(value, 40),
                    modified: u64_at(value, 48),
                    table: u32_at(value, 56),
                    runs: Runs { number: number as u8, runs },
                }))
            }
            2 if value.len() >= ALIAS_FIXED => {
                let symbol_at = ALIAS_FIXED + usize::from(u8_at(value, 1));
                let symbol = value.get(symbol_at..)?;
                if symbol.len() != usize::from(u8_at(value, 2)) {
                    return None;
                }
                Some(Value::Alias(Alias {
                    name: *name,
                    of: Name::new(value.get(ALIAS_FIXED..symbol_at)?).ok()?,
                    entry_point: address(u64_at(value, 8)),
                    symbol: Symbol::new(symbol)?,
                }))
            }
            _ => None,
        }
    }

    /// Are its pages inside the file, and does their number match its size?
    #[must_use]
    pub fn is_inside(&self, superblock: &Superblock) -> bool {
        let Value::Member(member) = self else { return true };
        let is_inside = |first: u32, number: u32| {
            first >= FIRST_PAGE && first.checked_add(number).is_some_and(|end| end <= superblock.pages)
        };
        let needed = member.size.div_ceil(PAGE as u64);
        let table = table_pages(pages(member.size));
        member.runs.pages() == needed
            && member.runs.as_slice().iter().all(|run| run.pages > 0 && is_inside(run.first, run.pages))
            && (table == 0 || is_inside(member.table, table))
    }
}

#[cfg(test)]
mod tests {
    use super::super::superblock::tests::superblock;
    use super::*;

    fn name(text: &str) -> Name {
        Name::new(text.as_bytes()).expect("a name")
    }

    #[test]
    fn values_are_read_as_they_were_written() {
        let member = Member {
            name: name("A"),
            attributes: Attributes::PROGRAM,
            fetch: FetchOptions::Prime,
            token: 3,
            size: 3 * 4096 + 1,
            loadable: 9000,
            storage: 99_999,
            entry_point: Some(0x1139),
            symbol: Symbol::new(b"a_function").expect("short"),
            sum: 1 << 60,
            modified: 1 << 31,
            table: 0,
            runs: Runs::new(&[Run { first: 2, pages: 3 }, Run { first: 50, pages: 1 }]).expect("few"),
        };
        let alias = Alias {
            name: name("B"),
            of: name("A"),
            entry_point: None,
            symbol: Symbol::new(b"b").expect("short"),
        };
        for value in [Value::Member(member), Value::Alias(alias)] {
            let (bytes, length) = value.encode();
            assert_eq!(Value::decode(&value.name(), &bytes[..length]), Some(value));
            assert_eq!(Value::decode(&value.name(), &bytes[..length - 1]), None);
            assert!(value.is_inside(&superblock()));
        }
        assert_eq!(
            (member.runs.page(2), member.runs.page(3), member.runs.page(4)),
            (Some(4), Some(50), None)
        );
        for (size, runs) in
            [(4096, &[Run { first: 1, pages: 1 }][..]), (4096, &[Run { first: 100, pages: 1 }]), (1, &[])]
        {
            let liar = Member { size, runs: Runs::new(runs).expect("few"), ..member };
            assert!(!Value::Member(liar).is_inside(&superblock()), "{runs:?}");
        }
    }
}
