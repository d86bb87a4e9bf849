//! Areas and reports with locks that tests share, in this crate and in those that read reports.
//!
//! Bytes are written by the offsets of the layout's own structures, as the runtime writes them.
//! Not in releases: only tests have it (and the feature `sample`).

use std::mem::offset_of;
use std::path::Path;

use underbar_ledger::locks::{
    Area as Layout, Call as LayoutCall, Edge as LayoutEdge, Header, LockRecord, MAGIC,
    Module as LayoutModule, READY, Site as LayoutSite, VERSION,
};

use super::area::{AREA_BYTES, Area, Record, Site};
use super::gather::Around;
use super::names::{Name, Naming};
use crate::locks::Locks;
use crate::model::Report;

/// The bytes of an area.
#[derive(Clone)]
pub struct Bytes(Vec<u8>);

impl Bytes {
    /// An empty area of this process, which began at this moment, under LOCK with this number.
    #[must_use]
    pub fn new(process: u32, started_ns: u64, mode: u32) -> Bytes {
        let mut bytes = Bytes(vec![0; AREA_BYTES]);
        bytes.word(offset_of!(Header, magic), MAGIC);
        bytes.half(offset_of!(Header, version), VERSION);
        bytes.half(offset_of!(Header, process), process);
        bytes.word(offset_of!(Header, started_ns), started_ns);
        bytes.half(offset_of!(Header, mode), mode);
        bytes
    }

    /// As a file holds them.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.0.clone()
    }

    fn word(&mut self, at: usize, value: u64) {
        self.0[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    fn half(&mut self, at: usize, value: u32) {
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// Sets contended acquisitions without a record, and edges without room.
    pub fn lost(&mut self, unrecorded: u64, edges: u64) -> &mut Self {
        self.word(offset_of!(Header, unrecorded), unrecorded);
        self.word(offset_of!(Header, edges_lost), edges);
        self
    }

    /// A file that was loaded there.
    pub fn module(&mut self, place: usize, base: u64, bytes: u64, path: &str) -> &mut Self {
        let at = offset_of!(Layout, modules) + place * size_of::<LayoutModule>();
        self.word(at + offset_of!(LayoutModule, base), base);
        self.word(at + offset_of!(LayoutModule, start), base);
        self.word(at + offset_of!(LayoutModule, end), base + bytes);
        let path_at = at + offset_of!(LayoutModule, path);
        self.0[path_at..path_at + path.len()].copy_from_slice(path.as_bytes());
        self
    }

    /// A lock; `fill` sets its record.
    pub fn lock(&mut self, place: usize, fill: impl FnOnce(&mut Record)) -> &mut Self {
        let mut record = Record::default();
        fill(&mut record);
        let at = offset_of!(Layout, locks) + place * size_of::<LockRecord>();
        for (offset, value) in [
            (offset_of!(LockRecord, state), READY),
            (offset_of!(LockRecord, sort), record.sort),
            (offset_of!(LockRecord, waiting), record.waiting),
            (offset_of!(LockRecord, policy), record.policy),
            (offset_of!(LockRecord, looked), record.looked),
        ] {
            self.half(at + offset, value);
        }
        for (offset, value) in [
            (offset_of!(LockRecord, address), record.address),
            (offset_of!(LockRecord, first_site), record.first_site),
            (offset_of!(LockRecord, contended), record.contended),
            (offset_of!(LockRecord, spun), record.spun),
            (offset_of!(LockRecord, parked), record.parked),
            (offset_of!(LockRecord, woken), record.woken),
            (offset_of!(LockRecord, wait_ns), record.wait_ns),
            (offset_of!(LockRecord, wait_max_ns), record.wait_max_ns),
            (offset_of!(LockRecord, spin_ns), record.spin_ns),
            (offset_of!(LockRecord, runnable_ns), record.runnable_ns),
            (offset_of!(LockRecord, same_holder), record.same_holder),
            (offset_of!(LockRecord, given_up), record.given_up),
        ] {
            self.word(at + offset, value);
        }
        for (interval, &waits) in record.histogram.iter().enumerate() {
            self.half(at + offset_of!(LockRecord, histogram) + 4 * interval, waits as u32);
        }
        for (offset, sites) in [
            (offset_of!(LockRecord, waiters), &record.waiters),
            (offset_of!(LockRecord, holders), &record.holders),
        ] {
            for (number, site) in sites.iter().enumerate() {
                let at = at + offset + number * size_of::<LayoutSite>();
                self.word(at + offset_of!(LayoutSite, address), site.address);
                self.word(at + offset_of!(LayoutSite, count), site.count);
                self.word(at + offset_of!(LayoutSite, ns), site.ns);
            }
        }
        for (number, &(call, count)) in record.blocked.iter().enumerate() {
            let at = at + offset_of!(LockRecord, blocked) + number * size_of::<LayoutCall>();
            self.half(at + offset_of!(LayoutCall, number), call + 1);
            self.half(at + offset_of!(LayoutCall, count), count as u32);
        }
        self
    }

    /// A lock was held while another was waited for.
    pub fn edge(&mut self, held: usize, wanted: usize, site: u64, count: u64) -> &mut Self {
        let tables = offset_of!(Layout, edges);
        let free = (0..).map(|place| tables + place * size_of::<LayoutEdge>()).find(|&at| {
            let pair = at + offset_of!(LayoutEdge, pair);
            self.0[pair..pair + 8] == [0; 8]
        });
        let at = free.expect("room for an edge");
        self.word(at + offset_of!(LayoutEdge, pair), LayoutEdge::pair_of(held, wanted));
        self.word(at + offset_of!(LayoutEdge, site), site);
        self.word(at + offset_of!(LayoutEdge, count), count);
        self
    }
}

/// Waits in intervals: each pair is an interval and a count.
#[must_use]
pub fn waits(intervals: &[(usize, u64)]) -> Vec<u64> {
    let mut histogram = vec![0; intervals.iter().map(|(at, _)| at + 1).max().unwrap_or(0)];
    intervals.iter().for_each(|&(at, waits)| histogram[at] = waits);
    histogram
}

/// A driver that appends records under one lock, and sometimes writes while it holds the lock. A library's lock is on the heap.
/// The two are taken in either order.
#[must_use]
pub fn driver() -> Bytes {
    let site = |address, count, ns| Site { address, count, ns };
    let mut bytes = Bytes::new(4711, 3_000, 2);
    bytes
        .module(0, 0x40_0000, 0x10_000, "")
        .module(1, 0x7f00_0000_0000, 0x4_000, "/lib/libaudit.so.1")
        .lock(0, |lock| {
            lock.sort = 1;
            lock.address = 0x40_4010;
            lock.first_site = 0x40_1120;
            (lock.contended, lock.spun, lock.parked, lock.woken) = (1_200, 300, 900, 900);
            (lock.wait_ns, lock.wait_max_ns) = (2_310_000_000, 5_010_000);
            (lock.spin_ns, lock.runnable_ns) = (12_300_000, 210_000_000);
            (lock.given_up, lock.same_holder) = (1_000, 130);
            lock.histogram = waits(&[(10, 300), (20, 500), (21, 400)]);
            lock.waiters = vec![site(0x40_1120, 900, 1_900_000_000), site(0x40_1240, 300, 410_000_000)];
            lock.holders = vec![site(0x40_1188, 940, 2_200_000_000), site(0x40_1288, 60, 110_000_000)];
            (lock.blocked, lock.looked) = (vec![(1, 412)], 440);
        })
        .lock(1, |lock| {
            lock.sort = 3;
            lock.address = 0x55_0000_1000;
            lock.first_site = 0x7f00_0000_2040;
            (lock.contended, lock.spun, lock.parked, lock.woken) = (300, 290, 10, 10);
            (lock.wait_ns, lock.wait_max_ns, lock.spin_ns) = (1_500_000, 90_000, 700_000);
            (lock.given_up, lock.same_holder) = (12, 3);
            lock.histogram = waits(&[(9, 200), (10, 90), (16, 10)]);
            lock.waiters = vec![site(0x7f00_0000_2040, 300, 1_500_000)];
            lock.holders = vec![site(0x7f00_0000_2090, 12, 1_000_000)];
        })
        .edge(0, 1, 0x40_1188, 3)
        .edge(1, 0, 0x7f00_0000_2088, 2);
    bytes
}

/// The symbols of [`driver`].
pub struct Symbols;

impl Naming for Symbols {
    fn code(&mut self, file: &Path, address: u64) -> Option<Name> {
        let functions = [(0x1200, "flush"), (0x1100, "append")];
        named(file, &functions, address)
    }

    fn data(&mut self, file: &Path, address: u64) -> Option<Name> {
        named(file, &[(0x4010, "audit_lock")], address)
    }
}

fn named(file: &Path, names: &[(u64, &str)], address: u64) -> Option<Name> {
    if !file.ends_with("driver") {
        return None;
    }
    let (start, symbol) = names.iter().find(|(start, _)| *start <= address)?;
    Some(Name { symbol: (*symbol).to_owned(), displacement: address - start, line: None })
}

/// The locks of [`driver`], in a run that took a second of processor time.
///
/// # Panics
/// Never: its bytes are an area.
#[must_use]
pub fn locks() -> Locks {
    locks_of(&driver())
}

/// The locks of an area, in a run that took a second of processor time.
///
/// # Panics
/// If the bytes are no area; those of this file are.
#[must_use]
pub fn locks_of(bytes: &Bytes) -> Locks {
    let area = Area::read(&bytes.0).expect("an area");
    Locks::of_area(&area, Around { program: "/home/me/driver", began_ns: 0, cpu_ns: Some(1_000_000_000) })
}

/// A report of [`driver`]'s process.
#[must_use]
pub fn report() -> Report {
    report_of(locks())
}

/// A report of one process with these locks; it took two seconds.
#[must_use]
pub fn report_of(locks: Locks) -> Report {
    let mut process = crate::sample::heap("/home/me/driver", 1 << 20, 1, 1 << 20, (0, 0));
    process.process = locks.process;
    process.locks = Some(locks);
    let mut report = crate::sample::report(vec![process]);
    (report.run.program, report.run.arguments) =
        ("./driver".to_owned(), vec!["--threads".to_owned(), "8".to_owned()]);
    if let Some(steps) = &mut report.steps {
        (steps.elapsed_ns, steps.user_ns) = (2_000_000_000, 1_000_000_000);
    }
    report
}

/// Runs every operation on an area. None of them may fail, whatever the area holds.
///
/// # Panics
/// If an operation fails.
pub fn everything(area: &Area) {
    let around = Around { program: "/home/me/driver", began_ns: 1, cpu_ns: Some(1) };
    let locks = Locks::of_area(area, around);
    assert_eq!(locks.locks.len(), area.locks.len());
    let mut report = report_of(locks);
    report.name_locks(&mut Symbols);
    let text = super::chapter::render(&report, &[]);
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
    let summary = crate::summary::render(&report, &[], false);
    assert!(summary.lines().count() <= crate::summary::LINES);
    let again = Report::from_json(report.to_json().as_bytes()).expect("what was written");
    assert_eq!(again, report);
    assert_eq!(crate::diff::of_report(&report).len(), crate::diff::keys().count());
}
