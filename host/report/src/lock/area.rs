//! Reads a lock area: bytes of a file, never trusted, to structures of this crate.
//!
//! The process may still be writing: each word is whole, but two of them may be an instant apart. A file that is cut gives the
//! structures that are wholly in it. Noise after a good header gives odd figures, never a crash.
//!
//! Invariant: places of locks in edges are places in [`Area::locks`]; texts are valid UTF-8.
//! Not here: the layout (`underbar_ledger::locks`), and the figures made from it ([`super::gather`]).

use std::mem::offset_of;

use underbar_ledger::locks::{
    Area as Layout, CALLS, Call as LayoutCall, EDGES, Edge as LayoutEdge, Header, INTERVALS, LOCKS,
    LockRecord, MAGIC, MODULES, Module as LayoutModule, PATH_ROOM, READY, SITES, Site as LayoutSite, VERSION,
};

/// Bytes of a whole area; a file of it has no more.
pub const AREA_BYTES: usize = size_of::<Layout>();

/// Why bytes are no lock area that this version reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AreaError {
    /// The file is shorter than a header.
    Short,
    /// The file is something else, or its process died before it was complete.
    NotAnArea,
    /// Written by another version of underbar.
    OtherVersion,
}

impl std::fmt::Display for AreaError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Short => "the lock area is cut short",
            Self::NotAnArea => "this is not a lock area",
            Self::OtherVersion => "the lock area was written by another version of underbar",
        })
    }
}

impl std::error::Error for AreaError {}

/// The contents of a lock area.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Area {
    /// The process's number.
    pub process: u32,
    /// When its program began: nanoseconds of CLOCK_BOOTTIME, as in its slot of the ledger.
    pub started_ns: u64,
    /// Contended acquisitions of locks for which there was no record.
    pub unrecorded: u64,
    /// Edges for which there was no room.
    pub edges_lost: u64,
    /// LOCK, as a number.
    pub mode: u32,
    /// Files that were loaded.
    pub modules: Vec<Module>,
    /// Locks whose records are set up, in the order of their places.
    pub locks: Vec<Record>,
    /// Locks that were held while another was waited for.
    pub edges: Vec<Edge>,
}

/// A file that was loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// The number that is added to the addresses in the file.
    pub base: u64,
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// Its path; empty for the program itself.
    pub path: String,
}

/// The record of one lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// A `Sort`, as a number.
    pub sort: u32,
    /// Its address.
    pub address: u64,
    /// Return address of the call that first waited.
    pub first_site: u64,
    /// See `LockRecord`, also for the fields below.
    pub contended: u64,
    /// Acquisitions by trying again.
    pub spun: u64,
    /// Sleeps.
    pub parked: u64,
    /// Wakes.
    pub woken: u64,
    /// Time of all waits.
    pub wait_ns: u64,
    /// The longest wait.
    pub wait_max_ns: u64,
    /// Processor time spent on trying again.
    pub spin_ns: u64,
    /// Time in which threads were runnable and did not run.
    pub runnable_ns: u64,
    /// Threads that waited when this was read.
    pub waiting: u32,
    /// Times that the same thread unlocked it again.
    pub same_holder: u64,
    /// Times that it was unlocked while others waited.
    pub given_up: u64,
    /// Policy of waiting.
    pub policy: u32,
    /// Number of looks at its holder.
    pub looked: u32,
    /// Acquisitions, counted while its policy is on trial.
    pub acquired: u64,
    /// Waits by their length; interval `n` is 2^n to 2^(n+1) nanoseconds.
    pub histogram: Vec<u64>,
    /// Where threads waited.
    pub waiters: Vec<Site>,
    /// Where it was unlocked.
    pub holders: Vec<Site>,
    /// System calls of its holder: number, and how often each was seen.
    pub blocked: Vec<(u32, u64)>,
}

/// A place in the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Return address.
    pub address: u64,
    /// How often.
    pub count: u64,
    /// Total time.
    pub ns: u64,
}

/// One lock was held while another was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Place in [`Area::locks`] of the one that was held.
    pub held: usize,
    /// Of the one that was waited for.
    pub wanted: usize,
    /// Return address of the call that waited.
    pub site: u64,
    /// How often.
    pub count: u64,
}

/// A structure somewhere in the bytes; missing bytes read as zero.
#[derive(Clone, Copy)]
struct At<'a>(&'a [u8]);

impl<'a> At<'a> {
    fn word(self, at: usize) -> u64 {
        self.0.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
    }

    fn half(self, at: usize) -> u32 {
        self.0.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
    }

    fn path(self, at: usize) -> String {
        let room = self.0.get(at..at + PATH_ROOM).unwrap_or(&[]);
        let end = room.iter().position(|&byte| byte == 0).unwrap_or(room.len());
        String::from_utf8_lossy(&room[..end]).into_owned()
    }

    /// The structures of a table that are wholly in the bytes.
    fn table(self, at: usize, bytes: usize, number: usize) -> impl Iterator<Item = At<'a>> {
        (0..number).map_while(move |place| {
            let from = at + place * bytes;
            self.0.get(from..from + bytes).map(At)
        })
    }
}

impl Area {
    /// Reads an area; see the module about noise.
    ///
    /// # Errors
    /// Says in which way the bytes are not an area of this version.
    pub fn read(bytes: &[u8]) -> Result<Area, AreaError> {
        let header = At(bytes.get(..size_of::<Header>()).ok_or(AreaError::Short)?);
        if header.word(offset_of!(Header, magic)) != MAGIC {
            return Err(AreaError::NotAnArea);
        }
        if header.half(offset_of!(Header, version)) != VERSION {
            return Err(AreaError::OtherVersion);
        }
        let whole = At(bytes);
        let modules = whole
            .table(offset_of!(Layout, modules), size_of::<LayoutModule>(), MODULES)
            .filter_map(module)
            .collect();
        let records: Vec<Option<Record>> = whole
            .table(offset_of!(Layout, locks), size_of::<LockRecord>(), LOCKS)
            .map(|at| (at.half(offset_of!(LockRecord, state)) == READY).then(|| record(at)))
            .collect();
        // Records that are not set up are skipped, so the places in edges change.
        let place = |at: usize| {
            records.get(at)?.as_ref()?;
            Some(records[..at].iter().flatten().count())
        };
        let edges = whole
            .table(offset_of!(Layout, edges), size_of::<LayoutEdge>(), EDGES)
            .filter_map(|at| {
                let (held, wanted) = LayoutEdge::locks_of(at.word(offset_of!(LayoutEdge, pair)))?;
                Some(Edge {
                    held: place(held)?,
                    wanted: place(wanted)?,
                    site: at.word(offset_of!(LayoutEdge, site)),
                    count: at.word(offset_of!(LayoutEdge, count)),
                })
            })
            .collect();
        Ok(Area {
            process: header.half(offset_of!(Header, process)),
            started_ns: header.word(offset_of!(Header, started_ns)),
            unrecorded: header.word(offset_of!(Header, unrecorded)),
            edges_lost: header.word(offset_of!(Header, edges_lost)),
            mode: header.half(offset_of!(Header, mode)),
            modules,
            edges,
            locks: records.into_iter().flatten().collect(),
        })
    }

    /// The module that contains an address. Files are loaded and unloaded, so the last of several counts.
    #[must_use]
    pub fn module_of(&self, address: u64) -> Option<&Module> {
        self.modules.iter().rev().find(|module| (module.start..module.end).contains(&address))
    }
}

fn module(at: At<'_>) -> Option<Module> {
    let module = Module {
        base: at.word(offset_of!(LayoutModule, base)),
        start: at.word(offset_of!(LayoutModule, start)),
        end: at.word(offset_of!(LayoutModule, end)),
        path: at.path(offset_of!(LayoutModule, path)),
    };
    (module.end != 0 && module.base != u64::MAX && module.start >= module.base).then_some(module)
}

fn record(at: At<'_>) -> Record {
    let sites = |from: usize| {
        at.table(from, size_of::<LayoutSite>(), SITES)
            .map(|site| Site {
                address: site.word(offset_of!(LayoutSite, address)),
                count: site.word(offset_of!(LayoutSite, count)),
                ns: site.word(offset_of!(LayoutSite, ns)),
            })
            .filter(|site| site.address != 0)
            .collect()
    };
    let mut histogram: Vec<u64> = at
        .table(offset_of!(LockRecord, histogram), 4, INTERVALS)
        .map(|interval| u64::from(interval.half(0)))
        .collect();
    let used = histogram.iter().rposition(|&waits| waits != 0).map_or(0, |last| last + 1);
    histogram.truncate(used);
    Record {
        sort: at.half(offset_of!(LockRecord, sort)),
        address: at.word(offset_of!(LockRecord, address)),
        first_site: at.word(offset_of!(LockRecord, first_site)),
        contended: at.word(offset_of!(LockRecord, contended)),
        spun: at.word(offset_of!(LockRecord, spun)),
        parked: at.word(offset_of!(LockRecord, parked)),
        woken: at.word(offset_of!(LockRecord, woken)),
        wait_ns: at.word(offset_of!(LockRecord, wait_ns)),
        wait_max_ns: at.word(offset_of!(LockRecord, wait_max_ns)),
        spin_ns: at.word(offset_of!(LockRecord, spin_ns)),
        runnable_ns: at.word(offset_of!(LockRecord, runnable_ns)),
        waiting: at.half(offset_of!(LockRecord, waiting)),
        same_holder: at.word(offset_of!(LockRecord, same_holder)),
        given_up: at.word(offset_of!(LockRecord, given_up)),
        policy: at.half(offset_of!(LockRecord, policy)),
        looked: at.half(offset_of!(LockRecord, looked)),
        acquired: at.word(offset_of!(LockRecord, acquired)),
        histogram,
        waiters: sites(offset_of!(LockRecord, waiters)),
        holders: sites(offset_of!(LockRecord, holders)),
        blocked: at
            .table(offset_of!(LockRecord, blocked), size_of::<LayoutCall>(), CALLS)
            .filter_map(|call| {
                let number = call.half(offset_of!(LayoutCall, number)).checked_sub(1)?;
                Some((number, u64::from(call.half(offset_of!(LayoutCall, count)))))
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::sample::{self, Bytes};

    #[test]
    fn what_was_written_is_read() {
        let area = Area::read(&sample::driver().bytes()).expect("an area");
        assert_eq!((area.process, area.started_ns, area.mode), (4711, 3_000, 2));
        assert_eq!(area.modules.len(), 2);
        assert_eq!(area.modules[1].path, "/lib/libaudit.so.1");
        let lock = &area.locks[0];
        assert_eq!((lock.address, lock.contended, lock.wait_ns), (0x40_4010, 1_200, 2_310_000_000));
        assert_eq!(lock.blocked, [(1, 412)]);
        assert_eq!(lock.histogram.iter().sum::<u64>(), 1_200);
        assert_eq!(lock.waiters[0], Site { address: 0x40_1120, count: 900, ns: 1_900_000_000 });
        assert_eq!(area.edges.len(), 2);
        assert_eq!(area.module_of(0x40_4010).map(|module| module.base), Some(0x40_0000));
        assert_eq!(area.module_of(0x10), None);
    }

    #[test]
    fn records_that_are_not_set_up_leave_no_gap() {
        let mut bytes = Bytes::new(1, 1, 1);
        bytes.edge(0, 3, 7, 1).edge(1, 3, 7, 2).edge(3, 3, 7, 3).edge(3, 200, 7, 4);
        bytes.lock(1, |lock| lock.address = 16).lock(3, |lock| lock.address = 32);
        let area = Area::read(&bytes.bytes()).expect("an area");
        assert_eq!(area.locks.iter().map(|lock| lock.address).collect::<Vec<_>>(), [16, 32]);
        let edges: Vec<_> = area.edges.iter().map(|edge| (edge.held, edge.wanted, edge.count)).collect();
        assert_eq!(edges, [(0, 1, 2), (1, 1, 3)]);
    }

    #[test]
    fn what_is_no_area_is_refused() {
        assert_eq!(Area::read(b"").err(), Some(AreaError::Short));
        assert_eq!(Area::read(&[0; AREA_BYTES]).err(), Some(AreaError::NotAnArea));
        let mut bytes = sample::driver().bytes();
        bytes[offset_of!(Header, version)] ^= 1;
        assert_eq!(Area::read(&bytes).err(), Some(AreaError::OtherVersion));
    }

    /// Properties that hold of any bytes.
    fn check(bytes: &[u8]) {
        let Ok(area) = Area::read(bytes) else { return };
        assert!(area.locks.len() <= LOCKS && area.modules.len() <= MODULES && area.edges.len() <= EDGES);
        for edge in &area.edges {
            assert!(edge.held < area.locks.len() && edge.wanted < area.locks.len());
        }
        sample::everything(&area);
    }

    #[test]
    fn a_cut_area_gives_what_lies_wholly_in_it() {
        let bytes = sample::driver().bytes();
        let whole = Area::read(&bytes).expect("an area");
        let (mut locks, mut edges) = (0, 0);
        let (head, all) = (size_of::<Header>(), bytes.len());
        for length in (0..head).step_by(7).chain((head..all).step_by(1_021)).chain([all - 1, all]) {
            check(&bytes[..length]);
            let Ok(area) = Area::read(&bytes[..length]) else {
                assert!(length < size_of::<Header>(), "{length}");
                continue;
            };
            assert!(area.locks.len() >= locks && area.edges.len() >= edges, "more bytes, no less");
            (locks, edges) = (area.locks.len(), area.edges.len());
            assert!(whole.locks.starts_with(&area.locks));
        }
        assert_eq!((locks, edges), (whole.locks.len(), whole.edges.len()));
    }

    #[test]
    fn noise_gives_a_report_all_the_same() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for round in 0..40 {
            let mut bytes = sample::driver().bytes();
            // From some changed bits to nothing but noise.
            let changes = if round < 20 { 40 << round.min(8) } else { bytes.len() / 8 };
            for change in 0..changes {
                let at = if round < 20 { random() as usize % (bytes.len() / 8) } else { change };
                let word = if round % 2 == 0 { random() } else { random() >> (random() % 64) };
                bytes[at * 8..at * 8 + 8].copy_from_slice(&word.to_le_bytes());
            }
            bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
            bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
            // Noise never looks like a record that is set up.
            for place in (0..LOCKS).step_by(3) {
                let at = offset_of!(Layout, locks) + place * size_of::<LockRecord>();
                bytes[at..at + 4].copy_from_slice(&READY.to_le_bytes());
            }
            check(&bytes);
        }
    }
}
