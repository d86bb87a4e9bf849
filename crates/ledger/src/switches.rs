//! Switches of a process, counted by call site: pages behind all slots, classes, traces and steps of the file.
//!
//! ```text
//! head, owners, modules, overflow | known sites, open addressing | table of the 1st thread | of the 2nd | ... | of the 26th | note
//!   | functions of libraries that ZIIP(3GL) names, by number
//!
//! key of a site   63      48 47                    0       a thread's table: a site is at the lowest byte of its address, or in the
//!                  function   return address               neighbouring entry; a third one there goes to the known sites
//! ```
//!
//! A thread counts in its own table without locks, and nothing is added up while the program runs: the figure of a site is the sum of its
//! entries. So a process that is killed has lost nothing. A thread that ends leaves its table, with its counts, to the next one.
//!
//! Invariant: a table is written by the thread that owns it, and by no other; the known sites and `overflow` are changed by additions.
//! An entry of a thread whose handler of a signal moved it in the middle of a step may be off by one.
//! Not here: the sum of several processes (`fold`), the functions (`switch_names`), when they are counted (`runtime::switch`), and their display (`report`).

mod fold;

use core::sync::atomic::{AtomicU64, Ordering};

use crate::layout::SWITCHES_BYTES;
use crate::switch_names::FUNCTIONS;
use crate::text::Text;

/// Rows of modules. Sites in more than this many are in no module.
pub const MODULES: usize = 152;
/// Sites that a process can know.
pub const KNOWN: usize = 1024;
/// Entries of a thread's table.
pub const ENTRIES: usize = 256;
/// Tables of a process. Further threads count among the known sites at once.
pub const TABLES: usize = 26;
/// Room for functions, so that the pages' layout does not change with each name.
pub const OVERFLOW: usize = 512;
/// Functions of libraries that can be counted in a process.
pub const CALLED: usize = 1024;
/// The number of the first of them, in keys of sites.
pub const FIRST_CALLED: usize = SAMPLED + 1;
/// Classes of lengths of runs.
pub const RUNS: usize = 64;
/// Bytes of a note of a host.
pub const NOTED_BYTES: usize = 4 * 4096;
/// The place of the function's number in a key.
pub const FUNCTION_SHIFT: u32 = 48;
/// Addresses below this one are no addresses: the number of a row of modules and 1, in the sum of several processes.
pub const ROWS_BELOW: u64 = 4096;
/// Entries at which a search among the known sites ends.
const STEPS: usize = 24;

/// A site with its count.
#[repr(C)]
pub struct Entry {
    /// The function's number above the return address; 0: free.
    pub key: AtomicU64,
    /// Calls.
    pub count: AtomicU64,
    /// The sum of the third arguments: bytes asked for, of functions for which it is that.
    pub bytes: AtomicU64,
    /// The lower half: the first argument of the first call and 1, a descriptor, of functions for which it is that. The upper half, of a known
    /// site: 1 if its module hides its callers; of an entry in a table: calls until the next sample of its caller.
    pub first: AtomicU64,
}

/// The function of entries that count samples: of a site in a module that hides its callers, the caller of that module.
pub const SAMPLED: usize = FUNCTIONS;
/// The row of a caller that was not found.
pub const NO_ROW: usize = 255;

/// The address of the entry that counts samples of a caller, by rows of modules: of the one that hides, and of the caller.
#[must_use]
pub const fn sample(hiding: usize, caller: usize) -> u64 {
    1 + (hiding as u64) * 256 + caller as u64
}

/// The rows of such an address.
#[must_use]
pub const fn rows_of_sample(address: u64) -> (usize, usize) {
    let rows = address.saturating_sub(1);
    ((rows / 256) as usize, (rows % 256) as usize)
}

/// Bit of [`Entry::first`]: the site is in a component that the user named as eligible.
pub const ELIGIBLE: u64 = 1 << 31;
/// Bit of [`Entry::first`]: the descriptor of the first call was that of a pipe.
pub const OF_PIPE: u64 = 1 << 30;
/// Bit of [`Entry::first`]: the descriptor of the first call was that of a file that WORKFILE names.
pub const OF_WORK_FILE: u64 = 1 << 29;
/// All such bits. The others of the lower half are the descriptor and 1.
pub const FLAGS: u64 = ELIGIBLE | OF_PIPE | OF_WORK_FILE;

/// [`Entry::first`] of standard output and standard error.
pub const PRINT: core::ops::RangeInclusive<u64> = 2..=3;

/// A module, as it was loaded.
#[repr(C)]
pub struct Module {
    /// Its first address.
    pub start: AtomicU64,
    /// The address behind it; 0: the row is not whole yet. Stored last, with Release.
    pub end: AtomicU64,
    /// Its file name.
    pub name: Text<4>,
}

/// Counts of a function of which no site is known.
#[repr(C)]
pub struct Overflow {
    /// Calls.
    pub count: AtomicU64,
}

/// A function of a library that ZIIP(3GL) names. Its place is its number. A thread that meets a call of it for the first time writes the
/// texts; several may write the same at a time.
#[repr(C)]
pub struct Called {
    /// Its name, as far as there is room.
    pub name: Text<11>,
    /// File name of its library; empty: the row is free.
    pub library: Text<5>,
}

/// The first pages.
#[repr(C, align(4096))]
pub struct Head {
    /// The kernel's number of the thread that has each table; 0: none. Changed by compare-and-swap, AcqRel: the next owner sees what the
    /// last one wrote.
    pub owners: [AtomicU64; TABLES],
    /// A bit for each table whose pages are there. Relaxed, under the owner's word.
    pub made: AtomicU64,
    /// 1: the pages were used, and are not all zeros. Stored when they are first used; relaxed.
    pub used: AtomicU64,
    /// Rows of modules that were given out. Any thread adds; relaxed.
    pub modules_given: AtomicU64,
    /// Functions that were found and replaced. Written at the start; relaxed.
    pub functions_bound: AtomicU64,
    /// The modules.
    pub modules: [Module; MODULES],
    /// Counts for which there was no room among the known sites. Any thread adds; relaxed.
    pub overflow: [Overflow; OVERFLOW],
    /// The kernel's counts of read and write calls before the program began, as the file of its first thread has them and that of the process.
    /// Written at the start; relaxed, as only a host reads them.
    pub before: [[AtomicU64; 2]; 2],
    /// 1: the pages of functions of libraries are there. Stored with Release when they are; only set again to 0 by [`Fixed::wipe`].
    pub called_made: AtomicU64,
    /// Functions of libraries for which there was no room, so that they are not counted. Any thread adds; relaxed.
    pub called_left_out: AtomicU64,
    /// Runs of eligible components by their length, see [`bucket`]. Any thread adds; relaxed.
    pub runs: [Overflow; RUNS],
}

impl Head {
    /// The count of runs of a class; of the last one if there is no such class.
    #[must_use]
    pub fn runs(&self, bucket: usize) -> &AtomicU64 {
        &self.runs[bucket.min(RUNS - 1)].count
    }
}

/// The class of a run that takes so many nanoseconds: four classes for each power of two, from 1.024 us on.
#[must_use]
pub const fn bucket(nanoseconds: u64) -> usize {
    if nanoseconds < 1024 {
        return 0;
    }
    let power = nanoseconds.ilog2();
    let class = (power as usize - 10) * 4 + ((nanoseconds >> (power - 2)) as usize & 3);
    if class < RUNS { class } else { RUNS - 1 }
}

/// The length below which all runs of a class are, in nanoseconds. The last class has longer ones, too.
#[must_use]
pub const fn below(bucket: usize) -> u64 {
    (1_u64 << (8 + bucket / 4)).saturating_mul(5 + bucket as u64 % 4)
}

/// A thread's sites.
#[repr(C, align(4096))]
pub struct Table(pub [Entry; ENTRIES]);

/// What is there from the start.
#[repr(C, align(4096))]
pub struct Fixed {
    /// Head, modules, overflow.
    pub head: Head,
    /// Sites that left a table, and all others with a count of 0.
    pub known: [Entry; KNOWN],
}

/// All of a process.
#[repr(C, align(4096))]
pub struct Switches {
    /// The part that is there from the start.
    pub fixed: Fixed,
    /// The tables, each there when it is first owned.
    pub tables: [Table; TABLES],
    /// What a host has noted at a reset; the process neither reads nor writes it. See [`switch_reset`](crate::switch_reset).
    pub noted: [u64; NOTED_BYTES / 8],
    /// Functions of libraries; there if the head's `called_made` is 1.
    pub called: [Called; CALLED],
}

const _: () = assert!(size_of::<Switches>() == SWITCHES_BYTES && FUNCTIONS < OVERFLOW && MODULES < NO_ROW);
const _: () = assert!(size_of::<Head>() == 3 * 4096 && size_of::<Table>() == 8192);
const _: () = assert!(FUNCTIONS + 1 < OVERFLOW && FIRST_CALLED + CALLED < 1 << 15);

/// The key of a site. The number of a function is stored plus 1, so that no key is 0.
#[must_use]
#[inline(always)]
pub const fn key(function: usize, address: u64) -> u64 {
    (function as u64 + 1) << FUNCTION_SHIFT | address & ((1 << FUNCTION_SHIFT) - 1)
}

/// Function and address of a key.
#[must_use]
pub const fn parts(key: u64) -> (usize, u64) {
    (((key >> FUNCTION_SHIFT) as usize).wrapping_sub(1), key & ((1 << FUNCTION_SHIFT) - 1))
}

impl Entry {
    /// Makes all words 0, the key first.
    pub fn wipe(&self) {
        for word in [&self.key, &self.count, &self.bytes, &self.first] {
            word.store(0, Ordering::Relaxed);
        }
    }
}

impl Table {
    /// Makes all entries free.
    pub fn wipe(&self) {
        self.0.iter().for_each(Entry::wipe);
    }
}

/// Makes all rows free.
pub fn wipe_called(rows: &[Called; CALLED]) {
    let is_used = |row: &&Called| !row.library.is_empty();
    rows.iter().filter(is_used).for_each(|row| row.library.store(b""));
}

impl Fixed {
    /// Makes all words 0. Pages that were never used are not touched.
    pub fn wipe(&self) {
        let head = &self.head;
        if head.used.swap(1, Ordering::Relaxed) == 0 {
            return;
        }
        let of_called = [&head.called_made, &head.called_left_out];
        let words = head.owners.iter().chain([&head.made, &head.modules_given, &head.functions_bound]);
        let words = words.chain(of_called).chain(head.before.iter().flatten());
        words.for_each(|word| word.store(0, Ordering::Relaxed));
        for module in &head.modules {
            module.end.store(0, Ordering::Relaxed);
        }
        let counts = head.overflow.iter().chain(&head.runs);
        counts.for_each(|of| of.count.store(0, Ordering::Relaxed));
        self.known.iter().for_each(Entry::wipe);
    }

    /// The entry of a known site, made if there is room; and whether it was made now.
    pub fn known(&self, key: u64) -> Option<(&Entry, bool)> {
        let first = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize;
        for at in first..first + STEPS {
            let entry = &self.known[at % KNOWN];
            let mut there = entry.key.load(Ordering::Relaxed);
            if there == 0 {
                match entry.key.compare_exchange(0, key, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => return Some((entry, true)),
                    Err(other) => there = other,
                }
            }
            if there == key {
                return Some((entry, false));
            }
        }
        None
    }

    /// Adds calls to a known site, or to its function if there is no room for the site. Returns whether the site was not known before.
    pub fn add(&self, key: u64, [count, bytes, first]: [u64; 3]) -> bool {
        match self.known(key) {
            Some((entry, is_new)) => {
                entry.count.fetch_add(count, Ordering::Relaxed);
                entry.bytes.fetch_add(bytes, Ordering::Relaxed);
                if is_new {
                    entry.first.store(first, Ordering::Relaxed);
                }
                is_new
            }
            None => {
                // Of functions of libraries only the sum is kept.
                let of = &self.head.overflow[parts(key).0.min(OVERFLOW - 1)];
                of.count.fetch_add(count, Ordering::Relaxed);
                false
            }
        }
    }

    /// The row of the module that has an address.
    #[must_use]
    pub fn module_of(&self, address: u64) -> Option<usize> {
        self.rows()
            .find(|&(_, module)| {
                let (start, end) = (module.start.load(Ordering::Relaxed), module.end.load(Ordering::Acquire));
                (start..end).contains(&address)
            })
            .map(|(row, _)| row)
    }

    /// Adds the row of a module.
    pub fn add_module(&self, start: u64, end: u64, name: &[u8]) {
        let row = self.head.modules_given.fetch_add(1, Ordering::Relaxed);
        if let Some(module) = usize::try_from(row).ok().and_then(|row| self.head.modules.get(row)) {
            module.name.store(name);
            module.start.store(start, Ordering::Relaxed);
            module.end.store(end, Ordering::Release);
        }
    }

    fn rows(&self) -> impl Iterator<Item = (usize, &Module)> {
        let given = usize::try_from(self.head.modules_given.load(Ordering::Relaxed)).unwrap_or(MODULES);
        self.head.modules.iter().take(given).enumerate()
    }
}

impl Switches {
    /// A program that our own loader has put at these addresses is there from now on. What programs of other names have counted there goes to
    /// their rows, by name: their code is gone, so nobody counts for them meanwhile.
    pub fn program_is_at(&self, start: u64, end: u64, name: &[u8]) {
        let fixed = &self.fixed;
        let mut is_there = false;
        for (row, module) in fixed.rows() {
            let (from, to) = (module.start.load(Ordering::Relaxed), module.end.load(Ordering::Acquire));
            if from >= end || start >= to {
                continue;
            }
            if module.name.is(name) && from <= start && end <= to {
                is_there = true;
            } else {
                self.settle(from, to, row);
                module.end.store(0, Ordering::Release);
            }
        }
        if is_there {
            return;
        }
        let is_free =
            |(_, module): &(usize, &Module)| module.end.load(Ordering::Relaxed) == 0 && module.name.is(name);
        match fixed.rows().find(is_free) {
            None => fixed.add_module(start, end, name),
            Some((_, module)) => {
                module.start.store(start, Ordering::Relaxed);
                module.end.store(end, Ordering::Release);
            }
        }
    }

    /// Gives a row what was counted at these addresses.
    fn settle(&self, start: u64, end: u64, row: usize) {
        let relaxed = Ordering::Relaxed;
        for entry in self.made().flat_map(|table| &table.0).chain(&self.fixed.known) {
            let (function, address) = parts(entry.key.load(relaxed));
            if function == SAMPLED || !(start..end).contains(&address) {
                continue;
            }
            let [count, bytes] = [&entry.count, &entry.bytes].map(|word| word.swap(0, relaxed));
            if count > 0 {
                self.fixed.add(key(function, row as u64 + 1), [count, bytes, entry.first.load(relaxed)]);
            }
        }
    }

    /// The tables that are there.
    pub fn made(&self) -> impl Iterator<Item = &Table> {
        let made = self.fixed.head.made.load(Ordering::Relaxed);
        self.tables.iter().enumerate().filter(move |(at, _)| made >> at & 1 != 0).map(|(_, table)| table)
    }

    /// The functions of libraries, if their pages are there.
    pub fn called_rows(&self) -> Option<&[Called; CALLED]> {
        (self.fixed.head.called_made.load(Ordering::Acquire) != 0).then_some(&self.called)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::boxed::Box;
    use std::vec::Vec;

    fn pages() -> Box<Switches> {
        let zeroed = || AtomicU64::new(0);
        let entry = || Entry { key: zeroed(), count: zeroed(), bytes: zeroed(), first: zeroed() };
        let module =
            || Module { start: zeroed(), end: zeroed(), name: Text(core::array::from_fn(|_| zeroed())) };
        Box::new(Switches {
            fixed: Fixed {
                head: Head {
                    owners: core::array::from_fn(|_| zeroed()),
                    made: zeroed(),
                    used: zeroed(),
                    modules_given: zeroed(),
                    functions_bound: zeroed(),
                    before: core::array::from_fn(|_| core::array::from_fn(|_| zeroed())),
                    called_made: zeroed(),
                    called_left_out: zeroed(),
                    modules: core::array::from_fn(|_| module()),
                    overflow: core::array::from_fn(|_| Overflow { count: zeroed() }),
                    runs: core::array::from_fn(|_| Overflow { count: zeroed() }),
                },
                known: core::array::from_fn(|_| entry()),
            },
            tables: core::array::from_fn(|_| Table(core::array::from_fn(|_| entry()))),
            noted: [0; NOTED_BYTES / 8],
            called: core::array::from_fn(|_| Called {
                name: Text(core::array::from_fn(|_| zeroed())),
                library: Text(core::array::from_fn(|_| zeroed())),
            }),
        })
    }

    #[test]
    fn a_key_is_a_function_and_an_address() {
        assert_eq!(parts(key(0, 0x7fff_ffff_ffff)), (0, 0x7fff_ffff_ffff));
        assert_eq!(parts(key(300, 0x55_0000)), (300, 0x55_0000));
        assert_ne!(key(0, 0), 0);
    }

    #[test]
    fn runs_have_classes_by_quarters_of_powers_of_two() {
        assert_eq!([0, 1_023, 1_024, 1_279, 1_280, 2_047, 2_048].map(bucket), [0, 0, 0, 0, 1, 3, 4]);
        assert_eq!((below(0), below(1), below(3), below(4)), (1_280, 1_536, 2_048, 2_560));
        for run in (0..40).map(|power| 1_000_u64 << power) {
            let class = bucket(run);
            assert!(class == RUNS - 1 || run < below(class), "{run}");
            assert!(class == 0 || run >= below(class - 1), "{run}");
        }
    }

    #[test]
    fn sites_beyond_the_room_are_counted_by_function() {
        let pages = pages();
        let fixed = &pages.fixed;
        let new = (1..=3_000).filter(|site| fixed.add(key(7, site * 64 + 5_000), [2, 1, 0])).count();
        assert!(new > 900 && new <= KNOWN, "{new}");
        let known: u64 = fixed.known.iter().map(|entry| entry.count.load(Ordering::Relaxed)).sum();
        let rest = fixed.head.overflow[7].count.load(Ordering::Relaxed);
        assert_eq!((known, rest), (2 * new as u64, 6_000 - 2 * new as u64));
        fixed.wipe();
        assert!(!fixed.add(key(7, 5_064), [0; 3]), "the first time there is nothing to wipe");
        fixed.wipe();
        assert!(fixed.add(key(7, 64), [1, 0, 0]) && !fixed.add(key(7, 64), [1, 0, 0]));
    }

    /// Programs that come and go at the same addresses: each keeps what was counted for it.
    #[test]
    fn programs_at_the_same_addresses_have_their_own_rows() {
        let pages = pages();
        let fixed = &pages.fixed;
        let name = |address| fixed.head.modules[fixed.module_of(address).expect("a row")].name.bytes();
        let named = |row: u64| fixed.head.modules[row as usize - 1].name.bytes();
        fixed.head.made.store(1, Ordering::Relaxed);
        let table = |at: usize| &pages.tables[0].0[at];
        let calls = |at: u64, count| {
            table(at as usize & 0xff).key.store(key(7, at), Ordering::Relaxed);
            table(at as usize & 0xff).count.fetch_add(count, Ordering::Relaxed);
            fixed.add(key(7, at + 0x100), [1, 0, 0]);
        };
        pages.program_is_at(0x10_0000, 0x10_2000, b"PAYROLL");
        pages.program_is_at(0x20_0000, 0x20_2000, b"TAXES");
        pages.program_is_at(0x10_0000, 0x10_2000, b"PAYROLL");
        assert_eq!(fixed.head.modules_given.load(Ordering::Relaxed), 2);
        for _ in 0..3 {
            pages.program_is_at(0x10_0000, 0x10_2000, b"PAYROLL");
            calls(0x10_0010, 10);
            assert_eq!(name(0x10_0010)[..7], *b"PAYROLL");
            pages.program_is_at(0x10_1000, 0x10_3000, b"BENEFITS");
            calls(0x10_1010, 5);
            assert_eq!(name(0x10_2fff)[..8], *b"BENEFITS");
        }
        assert_eq!(fixed.head.modules_given.load(Ordering::Relaxed), 3);
        let of = |wanted: &[u8]| {
            let by_row = (1..4).filter(|row| named(*row).starts_with(wanted));
            by_row
                .map(|row| fixed.known(key(7, row)).expect("room").0.count.load(Ordering::Relaxed))
                .sum::<u64>()
        };
        // The last round of BENEFITS is still by address.
        assert_eq!((of(b"PAYROLL"), of(b"BENEFITS"), of(b"TAXES")), (33, 12, 0));
    }

    /// Functions of libraries have other numbers in other processes: their names count.
    #[test]
    fn functions_of_libraries_are_added_by_name() {
        let (sum, other) = (pages(), pages());
        for (pages, number) in [(&sum, 3), (&other, 7)] {
            pages.fixed.add_module(0x10_0000, 0x20_0000, b"prog");
            pages.fixed.head.called_made.store(1, Ordering::Relaxed);
            pages.called[number].name.store(b"sqrt_3gl");
            pages.called[number].library.store(b"lib3gl.so");
            pages.fixed.add(key(FIRST_CALLED + number, 0x10_0009), [5, 0, 0]);
        }
        other.called[8].name.store(b"other");
        other.called[8].library.store(b"lib3gl.so");
        other.fixed.add(key(FIRST_CALLED + 8, 0x10_0010), [2, 0, 0]);
        // A row without a name cannot be told from others.
        other.fixed.add(key(FIRST_CALLED + 9, 0x10_0011), [1, 0, 0]);
        sum.fold(&other);
        let of = |number: usize, at| {
            let entry = sum.fixed.known(key(number, at)).expect("room").0;
            entry.count.load(Ordering::Relaxed)
        };
        assert_eq!([of(FIRST_CALLED + 3, 0x10_0009), of(FIRST_CALLED + 3, 1)], [5, 5]);
        assert_eq!(of(FIRST_CALLED + CALLED - 1, 1), 2, "the last row was free");
        assert_eq!(of(OVERFLOW - 1, 1), 1);
        let mut room = [0; 88];
        assert_eq!(sum.called[CALLED - 1].name.read(&mut room), b"other");
    }

    /// Two processes of a program have their modules at other addresses.
    #[test]
    fn processes_are_added_by_module() {
        let (sum, other) = (pages(), pages());
        for (pages, base) in [(&sum, 0x10_0000), (&other, 0x70_0000)] {
            let names: [&[u8]; 2] = if base == 0x10_0000 { [b"a", b"b"] } else { [b"b", b"c"] };
            pages.fixed.add_module(base, base + 0x1000, names[0]);
            pages.fixed.add_module(base + 0x1000, base + 0x2000, names[1]);
            pages.fixed.head.made.store(2, Ordering::Relaxed);
            let entry = &pages.tables[1].0[9];
            entry.key.store(key(3, base + 9), Ordering::Relaxed);
            entry.count.store(5, Ordering::Relaxed);
            pages.fixed.add(key(3, base + 0x1009), [7, 0, 0]);
            pages.fixed.add(key(SAMPLED, sample(1, 0)), [2, 0, 0]);
            pages.fixed.add(key(SAMPLED, sample(1, NO_ROW)), [1, 0, 0]);
        }
        sum.fold(&other);
        sum.fold(&other);
        let by_name = |wanted: &str| {
            let entries = sum.made().flat_map(|table| &table.0).chain(&sum.fixed.known);
            let counts = entries.filter_map(|entry| {
                let key = Some(entry.key.load(Ordering::Relaxed)).filter(|&key| key != 0)?;
                let (function, address) = parts(key);
                if function == SAMPLED {
                    return None;
                }
                let row =
                    if address < ROWS_BELOW { address as usize - 1 } else { sum.fixed.module_of(address)? };
                let name = sum.fixed.head.modules[row].name.bytes();
                (name[0] == wanted.as_bytes()[0]).then(|| entry.count.load(Ordering::Relaxed))
            });
            counts.collect::<Vec<u64>>().iter().sum::<u64>()
        };
        let samples = |hiding, caller| {
            sum.fixed
                .known(key(SAMPLED, sample(hiding, caller)))
                .expect("room")
                .0
                .count
                .load(Ordering::Relaxed)
        };
        assert_eq!([samples(1, 0), samples(1, NO_ROW), samples(2, 1), samples(2, NO_ROW)], [2, 1, 4, 2]);
        let used = |entry: &&Entry| entry.key.load(Ordering::Relaxed) != 0;
        assert!(sum.fixed.known.iter().filter(used).count() == 3 + 4);
        assert_eq!(["a", "b", "c"].map(by_name), [5, 7 + 10, 14]);
    }
}
