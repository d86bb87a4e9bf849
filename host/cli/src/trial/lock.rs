//! The one mutex whose policy of waiting is tried in a running program: its choice, its address in a process, and its record.
//!
//! ```text
//! report of a run ─> Wanted: the variable's place in its file, or that of the call that waited longest
//! lock areas of the next run ─> Found: its address in this process ─ read again and again ─> Seen
//! ```
//!
//! Addresses differ from run to run; places in files do not.
//! Not here: the changes and their times ([`super::live`]).

use std::path::Path;
use std::time::Instant;

use underbar_launch::{ledger, processor_time};
use underbar_ledger::locks::{POLICY_AS_OPTION, POLICY_COUNT, POLICY_SIMPLE, POLICY_SLEEP, Sort};
use underbar_report::Report;
use underbar_report::lock::area::Record;
use underbar_report::lock::spread::Spread;
use underbar_report::lock::{Area, Lock, Mode, Place};
use underbar_verdict::epochs::Epoch;
use underbar_verdict::plan::Arm;

use underbar_runner::lock_areas;

/// A policy of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Its name.
    pub arm: Arm,
    /// Its number in the control page.
    pub number: u32,
    /// In words.
    pub words: &'static str,
}

/// All policies.
pub const POLICIES: [Policy; 3] = [
    Policy { arm: Arm::named("COUNT"), number: POLICY_COUNT, words: "the C library waits" },
    Policy {
        arm: Arm::named("SIMPLE"),
        number: POLICY_SIMPLE,
        words: "few look for a moment, the rest sleep",
    },
    Policy { arm: Arm::named("SLEEP"), number: POLICY_SLEEP, words: "all sleep at once" },
];

/// The mutex that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// The program whose process has it.
    pub program: String,
    /// The place of the variable; if it is no variable, of the call that waited longest for it.
    pub place: Place,
    /// Is `place` that of the variable?
    pub is_variable: bool,
    /// The policy in force, by LOCK or for it alone.
    in_force: u32,
    /// The policy to set when the trial is over.
    pub before: u32,
}

/// The mutex in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The process.
    pub process: u32,
    /// When its program began: this identifies one of two areas of a process.
    started_ns: u64,
    /// Its address.
    pub address: u64,
}

/// The mutex's record so far, and its process.
pub struct Seen {
    at: Instant,
    cpu_ns: u64,
    record: Record,
}

impl Wanted {
    /// The mutex of that name; without a name, the mutex with the longest waits. An error lists the mutexes.
    pub fn of(report: &Report, name: Option<&str>) -> Result<Wanted, String> {
        let mut all: Vec<(&str, Mode, &Lock)> = report
            .processes
            .iter()
            .filter_map(|process| Some((process.program.as_str(), process.locks.as_ref()?)))
            .flat_map(|(program, locks)| locks.locks.iter().map(move |lock| (program, locks.mode, lock)))
            .filter(|(_, _, lock)| lock.sort.is_mutex() && lock.contended > 0)
            .collect();
        all.sort_by_key(|(_, _, lock)| std::cmp::Reverse(lock.wait_ns));
        let found = match name {
            None => all.first().copied(),
            Some(name) => all.iter().copied().find(|(_, _, lock)| is_called(lock, name)),
        };
        let Some((program, mode, lock)) = found else {
            let names: Vec<String> = all.iter().take(8).map(|(_, _, lock)| lock.name()).collect();
            return Err(match (name, names.as_slice()) {
                (_, []) => {
                    "no thread waited for a mutex that underbar sees: there is nothing to try live".to_owned()
                }
                (Some(name), names) => format!("no thread waited for {name}, but for {}", names.join(", ")),
                (None, _) => "no mutex was waited for".to_owned(),
            });
        };
        let is_variable = lock.place.file.is_some();
        let site = lock.waiters.first().map_or(&lock.first_site, |site| &site.place);
        let place = if is_variable { &lock.place } else { site };
        Ok(Wanted {
            name: lock.name(),
            program: program.to_owned(),
            place: place.clone(),
            is_variable,
            in_force: match lock.policy {
                0 if mode == Mode::Simple => POLICY_SIMPLE,
                0 => POLICY_COUNT,
                own => u32::try_from(own).unwrap_or(POLICY_COUNT),
            },
            before: u32::try_from(lock.policy).unwrap_or(POLICY_AS_OPTION),
        })
    }

    /// The policies to try, the one in force first.
    pub fn policies(&self) -> Vec<Policy> {
        let mut policies = POLICIES.to_vec();
        policies.sort_by_key(|policy| policy.number != self.in_force);
        policies
    }

    /// Is its place in the program's own file?
    pub fn is_in_the_program(&self) -> bool {
        self.place.file.as_deref() == Some(self.program.as_str())
    }

    /// The mutex in this run. If there are several (one call with several mutexes, or several processes), the one with the
    /// longest waits.
    pub fn find(&self, ledger: &Path) -> Option<Found> {
        let areas = lock_areas(ledger::areas(ledger));
        let all = areas.iter().flat_map(|area| area.locks.iter().map(move |record| (area, record)));
        let (area, record) = all
            .filter(|(area, record)| self.is_it(area, record))
            .max_by_key(|(_, record)| (record.wait_ns, record.contended))?;
        Some(Found { process: area.process, started_ns: area.started_ns, address: record.address })
    }

    fn is_it(&self, area: &Area, record: &Record) -> bool {
        let sort = Sort::from_number(record.sort);
        if !matches!(sort, Some(Sort::MutexNormal | Sort::MutexAdaptive)) || record.contended == 0 {
            return false;
        }
        if self.is_variable {
            return self.is_there(area, record.address, record.address);
        }
        let sites = record.waiters.iter().map(|site| site.address).chain([record.first_site]);
        // The call is before its return address, maybe at the very end of its file.
        sites.into_iter().any(|site| self.is_there(area, site, site.saturating_sub(1)))
    }

    fn is_there(&self, area: &Area, address: u64, within: u64) -> bool {
        let Some(module) = area.module_of(within) else {
            // The file of a place is not known here (before glibc 2.35), so only its address is compared.
            return self.place.file.is_none() && address == self.place.offset;
        };
        let path = if module.path.is_empty() { self.program.as_str() } else { module.path.as_str() };
        self.place.file.as_deref() == Some(path) && address.saturating_sub(module.base) == self.place.offset
    }
}

/// `hot`, or `hot (driver)`, or the name in a report.
fn is_called(lock: &Lock, name: &str) -> bool {
    lock.name() == name
        || lock.place.symbol.as_deref() == Some(name)
        || format!("{:#x}", lock.address) == name
}

impl Found {
    /// Its record; None if its process has ended.
    pub fn see(&self, ledger: &Path) -> Option<Seen> {
        let areas = lock_areas(ledger::areas(ledger));
        let area = areas
            .into_iter()
            .find(|area| (area.process, area.started_ns) == (self.process, self.started_ns))?;
        let record = area.locks.into_iter().find(|record| record.address == self.address)?;
        Some(Seen { at: Instant::now(), cpu_ns: processor_time(self.process)?, record })
    }
}

impl Seen {
    /// The difference between an earlier look and this one.
    pub fn since(&self, before: &Seen) -> Epoch {
        let of = |what: fn(&Record) -> u64| what(&self.record).saturating_sub(what(&before.record));
        let waits: Vec<u64> = self
            .record
            .histogram
            .iter()
            .enumerate()
            .map(|(at, now)| now.wrapping_sub(before.record.histogram.get(at).copied().unwrap_or(0)))
            .map(|waits| if waits > u64::from(u32::MAX) { 0 } else { waits })
            .collect();
        Epoch {
            work: of(|record| record.acquired),
            elapsed_ns: u64::try_from((self.at - before.at).as_nanos()).unwrap_or(u64::MAX),
            cpu_ns: self.cpu_ns.saturating_sub(before.cpu_ns),
            waited_ns: of(|record| record.wait_ns),
            p99_ns: Spread::of(&waits, 99, u64::MAX).map_or(0, |spread| spread.at_most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use underbar_report::lock::area::Site;
    use underbar_report::lock::sample::{self, Bytes};

    fn named() -> Report {
        let mut report = sample::report();
        report.name_locks(&mut sample::Symbols);
        report
    }

    #[test]
    fn the_mutex_that_was_waited_for_longest_is_wanted_or_the_one_that_is_named() {
        let report = named();
        let wanted = Wanted::of(&report, None).expect("a mutex");
        assert_eq!((wanted.name.as_str(), wanted.is_variable), ("audit_lock (driver)", true));
        assert!(wanted.is_in_the_program());
        for name in ["audit_lock", "audit_lock (driver)", "0x404010"] {
            assert_eq!(Wanted::of(&report, Some(name)).as_ref(), Ok(&wanted), "{name}");
        }
        let error = Wanted::of(&report, Some("other")).expect_err("no such mutex");
        assert_eq!(
            error, "no thread waited for other, but for audit_lock (driver)",
            "the other is a simple lock"
        );
        let names: Vec<&str> = wanted.policies().iter().map(|policy| policy.arm.name()).collect();
        assert_eq!(names, ["SIMPLE", "COUNT", "SLEEP"], "the one in force first");
        let nothing = Wanted::of(&underbar_report::sample::getfree(), None).expect_err("no locks");
        assert!(nothing.starts_with("no thread waited for a mutex"), "{nothing}");
    }

    #[test]
    fn it_is_found_at_another_address_by_its_place() {
        let wanted = Wanted::of(&named(), None).expect("a mutex");
        let mut bytes = Bytes::new(8, 5, 1);
        bytes.module(0, 0x7000_0000, 0x10_0000, "");
        bytes.lock(3, |lock| (lock.address, lock.sort, lock.contended) = (0x7000_4010, 1, 1));
        bytes.lock(4, |lock| (lock.address, lock.sort, lock.contended) = (0x7000_4050, 1, 9));
        let area = Area::read(&bytes.bytes()).expect("an area");
        let is_it: Vec<bool> = area.locks.iter().map(|record| wanted.is_it(&area, record)).collect();
        assert_eq!(is_it, [true, false]);
    }

    #[test]
    fn what_is_no_variable_is_found_by_a_call_that_waits_for_it() {
        let mut report = named();
        let lock = &mut report.processes[0].locks.as_mut().expect("locks").locks[0];
        lock.place = Place { offset: 0x5500_0000, ..Place::default() };
        let wanted = Wanted::of(&report, None).expect("a mutex");
        assert_eq!(
            (wanted.place.offset, wanted.is_variable),
            (0x1120, false),
            "where it was waited for longest"
        );
        let mut bytes = Bytes::new(8, 5, 1);
        bytes.module(0, 0x7000_0000, 0x10_0000, "");
        for (number, sites) in [(0, [0x7000_1120, 0]), (1, [0x7000_9999, 0x7000_1120]), (2, [0x7000_9999, 0])]
        {
            bytes.lock(number, |lock| {
                (lock.address, lock.sort, lock.contended) = (0x6000_0000 + number as u64 * 64, 1, 1);
                lock.first_site = sites[0];
                lock.waiters = sites.map(|address| Site { address, count: 1, ns: 1 }).to_vec();
            });
        }
        let area = Area::read(&bytes.bytes()).expect("an area");
        let is_it: Vec<bool> = area.locks.iter().map(|record| wanted.is_it(&area, record)).collect();
        assert_eq!(is_it, [true, true, false]);
    }

    #[test]
    fn an_epoch_is_what_came_between_two_looks() {
        let seen = |acquired, wait_ns, histogram: &[u64], cpu_ns| Seen {
            at: Instant::now(),
            cpu_ns,
            record: Record { acquired, wait_ns, histogram: histogram.to_vec(), ..Record::default() },
        };
        let before = seen(100, 1_000, &[0, 5], 7_000);
        let after = seen(350, 4_000, &[0, 5, 0, 40], 9_500);
        let epoch = after.since(&before);
        assert_eq!((epoch.work, epoch.cpu_ns, epoch.waited_ns, epoch.p99_ns), (250, 2_500, 3_000, 15));
    }
}
