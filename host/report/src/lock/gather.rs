//! Makes the locks of a process from its area, and finds the area's process.
//!
//! Invariant: an area gives the same locks for every process that it may belong to. A figure that LOCK cannot fill and that was
//! not filled is null.
//! Not here: reading bytes ([`super::area`]), names of places ([`super::names`]).

use std::cmp::Reverse;

use underbar_ledger::locks::{POLICY_AS_OPTION, POLICY_COUNT, Sort};

use super::area::{Area, Record, Site as Seen};
use super::{calls, columns, order};
use crate::locks::{Call, Edge, Lock, LockSort, Locks, Mode, Place, Site};
use crate::spread::Spread;

/// Facts that are not in the area.
#[derive(Clone, Copy, Debug, Default)]
pub struct Around<'a> {
    /// Path of the process's program.
    pub program: &'a str,
    /// When the run began: nanoseconds of CLOCK_BOOTTIME.
    pub began_ns: u64,
    /// Processor time of the whole run, in nanoseconds.
    pub cpu_ns: Option<u64>,
}

impl Locks {
    /// The locks of an area.
    #[must_use]
    pub fn of_area(area: &Area, around: Around<'_>) -> Locks {
        let mode = Mode::from_number(area.mode);
        let mut order: Vec<usize> = (0..area.locks.len()).collect();
        order.sort_by_key(|&at| (Reverse(area.locks[at].wait_ns), Reverse(area.locks[at].contended), at));
        let make = Maker { area, around, mode };
        let locks: Vec<Lock> = order.iter().map(|&at| make.lock(&area.locks[at])).collect();
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(now, &before)| place[before] = now);
        let mut edges: Vec<Edge> = area
            .edges
            .iter()
            .map(|edge| Edge {
                held: place[edge.held],
                wanted: place[edge.wanted],
                site: make.place(edge.site, true),
                count: edge.count,
            })
            .collect();
        edges.sort_by_key(|edge| (edge.held, edge.wanted, Reverse(edge.count), edge.site.offset));
        let mut ways: Vec<_> = locks.iter().map(|lock| (mode_under(lock.policy, mode), lock.sort)).collect();
        ways.dedup();
        let circles = order::circles(&edges);
        let mut missing = columns::missing(&ways);
        // A figure that is there was filled, whatever LOCK is.
        missing.retain(|missing| match columns::find(&missing.key).map(|column| &column.get) {
            Some(columns::Get::Each(get, _)) => {
                locks.iter().any(|lock| get(lock).is_none_or(|figure| figure == 0))
            }
            _ => true,
        });
        Locks {
            process: area.process,
            started_ns: area.started_ns.saturating_sub(around.began_ns),
            mode,
            unrecorded: area.unrecorded,
            edges_lost: area.edges_lost,
            locks,
            edges,
            circles,
            missing,
        }
    }
}

/// How threads wait for a lock: its own policy overrides LOCK.
fn mode_under(policy: u64, mode: Mode) -> Mode {
    match u32::try_from(policy) {
        Ok(POLICY_AS_OPTION) | Err(_) => mode,
        Ok(POLICY_COUNT) => Mode::Count,
        Ok(_) => Mode::Simple,
    }
}

/// The process of an area, among several: the one with its number that began at the same moment, or else the only one with its
/// number. Each is given by number and moment.
#[must_use]
pub fn find(area: &Area, processes: &[(u32, u64)]) -> Option<usize> {
    let exact = processes.iter().position(|&process| process == (area.process, area.started_ns));
    exact.or_else(|| {
        let mut same = processes.iter().enumerate().filter(|(_, (number, _))| *number == area.process);
        match (same.next(), same.next()) {
            (Some((only, _)), None) => Some(only),
            _ => None,
        }
    })
}

struct Maker<'a> {
    area: &'a Area,
    around: Around<'a>,
    mode: Mode,
}

impl Maker<'_> {
    fn lock(&self, record: &Record) -> Lock {
        let sort = match Sort::from_number(record.sort) {
            Some(Sort::MutexNormal) => LockSort::MutexNormal,
            Some(Sort::MutexAdaptive) => LockSort::MutexAdaptive,
            Some(Sort::Simple) => LockSort::Simple,
            Some(Sort::SimpleSmall) => LockSort::SimpleSmall,
            None => LockSort::Unknown,
        };
        let mode = mode_under(u64::from(record.policy), self.mode);
        let filled = |key: &str, figure: u64| {
            let missing = columns::find(key).and_then(|column| column.missing(mode, sort));
            (figure != 0 || missing.is_none()).then_some(figure)
        };
        let spin_ns = filled("locks.spin_ns", record.spin_ns);
        let mut blocked: Vec<Call> = record
            .blocked
            .iter()
            .map(|&(number, count)| Call { name: calls::name(number), number, count })
            .collect();
        blocked.sort_by_key(|call| (Reverse(call.count), call.number));
        Lock {
            place: self.place(record.address, false),
            address: record.address,
            sort,
            first_site: self.place(record.first_site, true),
            contended: record.contended,
            spun: filled("locks.spun", record.spun),
            parked: filled("locks.parked", record.parked),
            woken: filled("locks.woken", record.woken),
            wait_ns: record.wait_ns,
            p50_ns: Spread::of(&record.histogram, 50, record.wait_max_ns),
            p99_ns: Spread::of(&record.histogram, 99, record.wait_max_ns),
            wait_max_ns: record.wait_max_ns,
            spin_ns,
            spin_share_millionths: spin_ns.zip(self.around.cpu_ns.filter(|&cpu| cpu > 0)).map(
                |(spin, cpu)| {
                    u64::try_from(u128::from(spin) * 1_000_000 / u128::from(cpu)).unwrap_or(u64::MAX)
                },
            ),
            runnable_ns: filled("locks.runnable_ns", record.runnable_ns),
            given_up: record.given_up,
            same_holder: record.same_holder,
            waiting: u64::from(record.waiting),
            policy: u64::from(record.policy),
            histogram: record.histogram.clone(),
            waiters: self.sites(&record.waiters),
            holders: self.sites(&record.holders),
            blocked,
            looked: filled("locks.looked", u64::from(record.looked)),
        }
    }

    fn sites(&self, seen: &[Seen]) -> Vec<Site> {
        let mut sites: Vec<Site> = seen
            .iter()
            .map(|site| Site { place: self.place(site.address, true), count: site.count, ns: site.ns })
            .collect();
        sites.sort_by_key(|site| (Reverse(site.ns), Reverse(site.count), site.place.offset));
        sites
    }

    /// The place of an address. `returned_to`: the call is before the address, maybe at the very end of its file.
    fn place(&self, address: u64, returned_to: bool) -> Place {
        let module = self.area.module_of(address.saturating_sub(u64::from(returned_to)));
        match module {
            Some(module) => Place {
                file: Some(match module.path.as_str() {
                    "" => self.around.program.to_owned(),
                    path => path.to_owned(),
                }),
                offset: address.saturating_sub(module.base),
                ..Place::default()
            },
            None => Place { offset: address, ..Place::default() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::sample::{self, Bytes};

    fn locks(bytes: &Bytes) -> Locks {
        let area = Area::read(&bytes.bytes()).expect("an area");
        Locks::of_area(
            &area,
            Around { program: "/home/me/driver", began_ns: 1_000, cpu_ns: Some(1_000_000_000) },
        )
    }

    #[test]
    fn an_area_becomes_the_locks_of_a_process() {
        let locks = locks(&sample::driver());
        assert_eq!((locks.process, locks.started_ns, locks.mode), (4711, 2_000, Mode::Simple));
        let worst = locks.worst().expect("a lock");
        assert_eq!(
            worst.place,
            Place { file: Some("/home/me/driver".to_owned()), offset: 0x4010, ..Place::default() }
        );
        assert_eq!(
            (worst.spun, worst.parked, worst.spin_share_millionths),
            (Some(300), Some(900), Some(12_300))
        );
        assert_eq!(worst.blocked[0].name, if cfg!(target_arch = "x86_64") { "write" } else { "call 1" });
        assert_eq!(worst.waiters[0].place.offset, 0x1120);
        let heap = &locks.locks[1];
        assert_eq!(
            (heap.place.file.as_deref(), heap.name()),
            (None, "lock of libaudit.so.1+0x2040".to_owned())
        );
        let missing: Vec<&str> = locks.missing.iter().map(|missing| missing.key.as_str()).collect();
        assert_eq!(
            (locks.circles.len(), missing),
            (1, vec!["locks.blocked", "locks.looked"]),
            "of the simple lock"
        );
        let held: Vec<_> = locks.edges.iter().map(|edge| (edge.held, edge.wanted)).collect();
        assert_eq!(held, [(0, 1), (1, 0)]);
    }

    #[test]
    fn locks_are_in_the_order_of_their_waits_and_edges_follow_them() {
        let mut bytes = Bytes::new(1, 1_500, 1);
        for (place, wait) in [(0, 5), (1, 50), (2, 20)] {
            bytes.lock(place, |lock| (lock.address, lock.wait_ns, lock.sort) = (place as u64 + 1, wait, 1));
        }
        bytes.edge(0, 1, 0, 3);
        let locks = locks(&bytes);
        assert_eq!(locks.locks.iter().map(|lock| lock.address).collect::<Vec<_>>(), [2, 3, 1]);
        assert_eq!((locks.edges[0].held, locks.edges[0].wanted), (2, 0));
        assert!(locks.circles.is_empty());
        assert_eq!((locks.locks[0].parked, locks.locks[0].p50_ns), (None, None), "COUNT cannot see it");
        assert!(locks.missing.iter().any(|missing| missing.key == "locks.parked"));
    }

    #[test]
    fn what_is_there_is_kept_whoever_filled_it() {
        let mut bytes = Bytes::new(1, 1_500, 1);
        bytes.lock(0, |lock| (lock.address, lock.sort, lock.parked) = (64, 1, 7));
        let locks = locks(&bytes);
        assert_eq!((locks.locks[0].parked, locks.locks[0].spun), (Some(7), None));
        assert!(!locks.missing.iter().any(|missing| missing.key == "locks.parked"));
    }

    /// The report once claimed that it never slept.
    #[test]
    fn what_the_c_library_does_for_one_lock_under_simple_is_not_known() {
        let mut bytes = Bytes::new(1, 1_500, 2);
        for (place, policy) in [(0, POLICY_COUNT), (1, POLICY_AS_OPTION)] {
            bytes.lock(place, |lock| {
                (lock.address, lock.sort, lock.policy) = (place as u64 + 1, 1, policy);
                lock.wait_ns = 10 - place as u64;
            });
        }
        let locks = locks(&bytes);
        assert_eq!((locks.locks[0].parked, locks.locks[1].parked), (None, Some(0)));
        assert!(locks.missing.iter().any(|missing| missing.key == "locks.parked"));
    }

    #[test]
    fn an_area_finds_its_process() {
        let area = |process, started_ns| Area { process, started_ns, ..Area::default() };
        let processes = [(7, 100), (8, 200), (7, 300)];
        assert_eq!(find(&area(7, 300), &processes), Some(2), "the same number, as another program");
        assert_eq!(find(&area(7, 301), &processes), None, "either could be meant");
        assert_eq!(find(&area(8, 201), &processes), Some(1));
        assert_eq!(find(&area(9, 100), &processes), None);
    }
}
