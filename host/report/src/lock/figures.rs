//! The figures of a lock, for rules that read the model.
//!
//! Invariant: each has the key, the value and the reason of absence that the table of [`super::columns`] has.

use underbar_model as model;
use underbar_model::{Certainty, Figure};

use super::columns::{self, Get};
use super::{Lock, Mode};

/// The figures of a lock that was waited for under this LOCK.
#[must_use]
pub fn figures(lock: &Lock, mode: Mode) -> model::Lock {
    let figure = |key| figure(key, lock, mode);
    model::Lock {
        name: lock.name(),
        contended: figure("locks.contended"),
        waited: figure("locks.wait_ns"),
        longest: figure("locks.wait_max_ns"),
        spun: figure("locks.spun"),
        spin: figure("locks.spin_ns"),
        given_up: figure("locks.given_up"),
        same_holder: figure("locks.same_holder"),
        blocked: figure("locks.blocked"),
    }
}

fn figure(key: &str, lock: &Lock, mode: Mode) -> Figure {
    const UNKNOWN: &str = "the report does not have it";
    let Some(column) = columns::find(key) else { return Figure::absent(UNKNOWN) };
    let value = match column.get {
        Get::Each(get, _) => get(lock),
        Get::All(_) => None,
    };
    match value {
        Some(value) => Figure::counter(column.key, value, Certainty::Certain),
        None => Figure::absent(column.missing(mode, lock.sort).unwrap_or(UNKNOWN)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::sample;
    use underbar_model::Evidence;

    #[test]
    fn a_figure_has_its_key_or_the_reason_why_it_is_absent() {
        let report = sample::report();
        let locks = report.processes[0].locks.as_ref().expect("locks");
        for lock in &locks.locks {
            let of = figures(lock, locks.mode);
            assert_eq!(of.waited, Figure::counter("locks.wait_ns", lock.wait_ns, Certainty::Certain));
            for figure in [&of.contended, &of.longest, &of.given_up, &of.same_holder, &of.blocked] {
                assert!(matches!(figure.evidence, Evidence::Counter(_)), "{figure:?}");
            }
            assert_eq!(of.spun.certain(), lock.spun);
            assert_eq!(of.spin.certain(), lock.spin_ns);
        }
        let mut mutex = locks.locks[0].clone();
        (mutex.sort, mutex.spun) = (crate::lock::LockSort::MutexNormal, None);
        let of = figures(&mutex, Mode::Count);
        assert!(matches!(of.spun.evidence, Evidence::Absent(why) if why.contains("LOCK(SIMPLE)")), "{of:?}");
    }
}
