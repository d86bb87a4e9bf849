//! The rules about locks: holders that block, locks in the same cache line, starving threads, spinning, and the order
//! in which locks are taken.
//!
//! Each rule reports the one lock of the program for which it matters most. A lock matters if threads waited for it
//! [`WORTH_NS`] or longer together, and at least a hundredth of the run's time; less is not worth a change.
//!
//! Invariant: a rule that lacks its figures (LOCK could not fill them) gives no advice, rather than "no change".
//! Not here: whether spinning pays ([`crate::spin`]; its tests are here), the source of the figures
//! (`underbar_report::lock`).

use underbar_model as model;
use underbar_report::lock::figures::figures;
use underbar_report::lock::spread::at_least_in;
use underbar_report::lock::{Lock, Locks, Mode};
use underbar_report::units::{counted, nanoseconds, percent};

use crate::advice::{Advice, Evidence, Kind, Setting};
use crate::case::Case;

/// The smallest total wait of a lock that is worth a change.
pub const WORTH_NS: u64 = 10_000_000;
/// First interval of the histogram in which a waiter looks at what the holder does: about a millisecond.
const LOOKED_AT: usize = 20;
/// Bytes that move between processors together: a cache line.
const LINE: u64 = 64;

/// A lock that matters.
#[derive(Clone)]
pub(crate) struct Hot<'a> {
    /// The locks of its process.
    pub locks: &'a Locks,
    /// The lock in the report: its kind, its address, and places in the program.
    pub lock: &'a Lock,
    /// Its figures.
    pub of: model::Lock,
}

/// The locks that matter in all processes of the program, the longest waits first.
pub(crate) fn worth<'a>(case: &Case<'a>) -> Vec<Hot<'a>> {
    let elapsed = case.report.steps.as_ref().map_or(0, |steps| steps.elapsed_ns);
    let least = WORTH_NS.max(elapsed / 100);
    let mut worth: Vec<_> = sections(case)
        .flat_map(|locks| locks.locks.iter().map(move |lock| (locks, lock)))
        .filter(|(_, lock)| lock.wait_ns >= least && lock.contended > 0)
        .map(|(locks, lock)| Hot { locks, lock, of: figures(lock, locks.mode) })
        .collect();
    worth.sort_by_key(|hot| std::cmp::Reverse(hot.of.waited.value));
    worth
}

fn sections<'a>(case: &Case<'a>) -> impl Iterator<Item = &'a Locks> {
    case.report.parts_of(case.program, |process| process.locks.as_ref()).map(|(_, locks)| locks)
}

pub(crate) fn found(
    kind: Kind,
    option: Option<&str>,
    mode: Mode,
    evidence: Vec<Evidence>,
    reason: String,
) -> Option<Advice> {
    Some(Advice {
        kind,
        option: option.map(|word| Setting::new("LOCK", [Some(word.to_owned())])),
        now: mode.option().to_owned(),
        evidence,
        reason,
        ..Advice::default()
    })
}

/// Rule `lock-holder-blocks`.
pub fn holder_blocks(case: &Case<'_>) -> Option<Advice> {
    let shares = worth(case).into_iter().filter(|hot| !hot.lock.blocked.is_empty()).map(|hot| {
        let (seen, waited) = (hot.of.blocked.value, hot.of.waited.value);
        let histogram = &hot.lock.histogram;
        let long = histogram.iter().skip(LOOKED_AT).fold(0_u64, |sum, waits| sum.saturating_add(*waits));
        let in_long = at_least_in(histogram, LOOKED_AT, waited);
        // The share of the looks that found the holder in a call. Without a count of looks, each long wait counts as one.
        let looks = hot.lock.looked.filter(|&looked| looked >= seen).unwrap_or(long.max(seen));
        let part = u128::from(in_long) * u128::from(seen) / u128::from(looks.max(1));
        (percent(u64::try_from(part).unwrap_or(u64::MAX), waited), hot)
    });
    let (share, Hot { locks, lock, of }) = shares.max_by_key(|(share, hot)| (*share, hot.of.waited.value))?;
    let call = lock.blocked.first()?;
    let mut evidence = Evidence::all([&of.waited, &of.contended, &of.blocked]);
    if let Some(holder) = lock.holders.first() {
        evidence.push(Evidence::Counter { key: "locks.given_up", figure: holder.count });
    }
    if share < 25 || of.blocked.value < 3 {
        let reason = format!("the holder of {} blocks for about {share} % of the wait.", of.name);
        return found(Kind::NoChange, None, locks.mode, evidence, reason);
    }
    let place =
        lock.holders.first().map_or(String::new(), |site| format!(", given up at {}", site.place.words()));
    // A holder that sleeps in futex waits for another thread, usually for another lock.
    let (what, instead) = match call.name.as_str() {
        "futex" => ("waits for another thread", "Do so before taking the lock, or after giving it up."),
        _ => ("blocks", "Make the call after giving the lock up."),
    };
    let reason = format!(
        "the holder of {} {what} in {} while holding it: about {share} % of the wait{place}. {instead}",
        of.name, call.name
    );
    found(Kind::Change, None, locks.mode, evidence, reason)
}

/// Rule `lock-same-line`.
pub fn same_line(case: &Case<'_>) -> Option<Advice> {
    let worth = worth(case);
    let first = worth.first()?;
    let pair = worth.iter().enumerate().find_map(|(at, one)| {
        let other = worth[at + 1..].iter().find(|other| {
            // Addresses of different processes are unrelated.
            std::ptr::eq(one.locks, other.locks)
                && one.lock.address != other.lock.address
                && one.lock.address / LINE == other.lock.address / LINE
        });
        other.map(|other| (one, other))
    });
    let Some((one, other)) = pair else {
        if worth.len() < 2 {
            return None;
        }
        let evidence = Evidence::all([&first.of.contended, &first.of.waited]);
        let reason = format!(
            "{} that threads waited for are in lines of their own.",
            counted(worth.len() as u64, "lock", "locks")
        );
        return found(Kind::NoChange, None, first.locks.mode, evidence, reason);
    };
    let evidence = Evidence::all([&one.of.contended, &other.of.contended, &one.of.waited, &other.of.waited]);
    let reason = format!(
        "{} and {} are in the same {LINE} bytes ({:#x} and {:#x}): a thread that takes one disturbs threads that take the other. Align them to \
         {LINE}.",
        one.of.name, other.of.name, one.lock.address, other.lock.address
    );
    found(Kind::Change, None, one.locks.mode, evidence, reason)
}

/// Rule `lock-starves`.
pub fn starves(case: &Case<'_>) -> Option<Advice> {
    let share = |of: &model::Lock| percent(of.same_holder.value.min(of.given_up.value), of.given_up.value);
    let worth = worth(case);
    let given = worth.iter().filter(|hot| hot.of.given_up.value >= 100);
    let Hot { locks, lock, of } = given.max_by_key(|hot| share(&hot.of))?;
    let (share, most) = (share(of), of.longest.value);
    let evidence = Evidence::all([&of.same_holder, &of.given_up, &of.longest]);
    let gives =
        format!("{} that {} was given up to waiters", counted(of.given_up.value, "time", "times"), of.name);
    // A thread that takes it again at once does no harm while no thread waits long.
    let long = lock.p50_ns.is_some_and(|p50| most >= p50.at_most.saturating_mul(8).max(1_000_000));
    if share < 80 || !long {
        let reason = format!("{share} % of {gives} were by the thread that did so the time before.");
        return found(Kind::NoChange, None, locks.mode, evidence, reason);
    }
    let longest = nanoseconds(most);
    let reason = format!(
        "one thread takes it again and again ({share} % of {gives}), and others wait up to {longest}."
    );
    if locks.mode == Mode::Count && lock.sort.is_mutex() {
        return found(Kind::Change, Some("SIMPLE"), locks.mode, evidence, reason);
    }
    let reason = format!("{reason} Take it once for several operations.");
    found(Kind::Change, None, locks.mode, evidence, reason)
}

/// Rule `lock-order`.
pub fn order(case: &Case<'_>) -> Option<Advice> {
    let locks =
        sections(case).filter(|locks| !locks.edges.is_empty()).max_by_key(|locks| locks.circles.len())?;
    let circles = locks.circles.len() as u64;
    let evidence = vec![Evidence::Counter { key: "locks.circles", figure: circles }];
    let Some(circle) = locks.circles.first() else {
        let reason = format!(
            "{} of locks held while another was waited for make no circle.",
            counted(locks.edges.len() as u64, "pair", "pairs")
        );
        return found(Kind::NoChange, None, locks.mode, evidence, reason);
    };
    let steps: Vec<String> = circle
        .iter()
        .filter_map(|&at| locks.edges.get(at))
        .map(|edge| {
            let name = locks.locks.get(edge.wanted).map_or("?".to_owned(), Lock::name);
            format!("then {name} at {}", edge.site.words())
        })
        .collect();
    let first =
        circle.first().and_then(|&at| locks.edges.get(at)).and_then(|edge| locks.locks.get(edge.held));
    let reason = format!(
        "possible deadlock: {} is held, {}. Take them in one order everywhere.",
        first.map_or("?".to_owned(), Lock::name),
        steps.join(", ")
    );
    found(Kind::Change, None, locks.mode, evidence, reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::advise;
    use crate::advice::Advice;
    use crate::rule::Area;
    use underbar_report::lock::area::Record;
    use underbar_report::lock::sample::{self, Bytes, waits};

    /// The advice of a rule on a process with these locks under this LOCK.
    fn check(rule: &str, mode: u32, locks: &[Record]) -> Option<Advice> {
        let mut bytes = Bytes::new(1, 1, mode);
        for (place, lock) in locks.iter().enumerate() {
            bytes.lock(place, |record| *record = lock.clone());
        }
        said(rule, &bytes)
    }

    fn said(rule: &str, bytes: &Bytes) -> Option<Advice> {
        let report = sample::report_of(sample::locks_of(bytes));
        advise(&report).into_iter().find(|suggestion| suggestion.rule == rule)
    }

    /// A mutex that 1,000 acquisitions waited for, each in that interval.
    fn mutex(address: u64, interval: usize) -> Record {
        Record {
            sort: 1,
            address,
            first_site: address,
            contended: 1_000,
            wait_ns: 1_500 << interval,
            wait_max_ns: 2 << interval,
            histogram: waits(&[(interval, 1_000)]),
            given_up: 1_000,
            ..Record::default()
        }
    }

    #[test]
    fn a_holder_that_blocks_is_named_with_its_call() {
        let mut lock = mutex(0x1000, 21);
        lock.blocked = vec![(1, 940)];
        let said = check("lock-holder-blocks", 2, &[lock.clone()]).expect("fires");
        assert_eq!((said.kind, said.option), (Kind::Change, None));
        assert!(said.reason.contains("while holding it: about 94 % of the wait"), "{}", said.reason);
        (lock.blocked, lock.looked) = (vec![(1, 9)], 10);
        let of_looks = check("lock-holder-blocks", 2, &[lock.clone()]).expect("fires");
        assert!(
            of_looks.reason.contains("about 90 % of the wait"),
            "few looks are enough: {}",
            of_looks.reason
        );
        lock.looked = 0;
        lock.blocked = vec![(1, 240)];
        assert_eq!(
            check("lock-holder-blocks", 2, &[lock.clone()]).map(|said| said.kind),
            Some(Kind::NoChange)
        );
        // Most of the time was spent in waits too short to look.
        lock.blocked = vec![(1, 940)];
        lock.histogram = waits(&[(15, 100_000), (20, 940)]);
        lock.wait_ns = 100_000 * 45_000 + 940 * 1_100_000;
        assert_eq!(
            check("lock-holder-blocks", 2, &[lock.clone()]).map(|said| said.kind),
            Some(Kind::NoChange)
        );
        lock.blocked.clear();
        assert_eq!(check("lock-holder-blocks", 2, &[lock]), None);
    }

    #[test]
    fn two_hot_locks_in_one_line_are_named() {
        let fires = |a, b| check("lock-same-line", 1, &[mutex(a, 15), mutex(b, 15)]).map(|said| said.kind);
        assert_eq!(fires(0x1000, 0x1028), Some(Kind::Change));
        assert_eq!(fires(0x1018, 0x1040), Some(Kind::NoChange));
        assert_eq!(check("lock-same-line", 1, &[mutex(0x1000, 15)]), None);
        let cold = Record { wait_ns: WORTH_NS - 1, ..mutex(0x1028, 15) };
        assert_eq!(check("lock-same-line", 1, &[mutex(0x1000, 15), cold]), None);
    }

    #[test]
    fn a_thread_that_takes_it_again_and_again_starves_others() {
        let lock = Record { same_holder: 900, wait_max_ns: 400_000_000, ..mutex(0x1000, 15) };
        let said = check("lock-starves", 1, std::slice::from_ref(&lock)).expect("fires");
        assert_eq!((said.kind, said.then().as_str()), (Kind::Change, "LOCK(SIMPLE)"));
        assert!(said.reason.contains("90 % of 1,000 times"), "{}", said.reason);
        let followed = check("lock-starves", 2, std::slice::from_ref(&lock)).expect("fires");
        assert_eq!((followed.kind, followed.option), (Kind::Change, None), "there is nothing more to set");
        for fair in
            [Record { same_holder: 799, ..lock.clone() }, Record { wait_max_ns: 300_000, ..lock.clone() }]
        {
            assert_eq!(check("lock-starves", 1, &[fair]).map(|said| said.kind), Some(Kind::NoChange));
        }
        assert_eq!(check("lock-starves", 1, &[Record { given_up: 99, ..lock }]), None);
    }

    #[test]
    fn spinning_pays_where_waits_are_short() {
        let short = Record { wait_ns: 50_000_000, ..mutex(0x1000, 10) };
        let said = check("lock-spin-pays", 1, std::slice::from_ref(&short)).expect("fires");
        assert_eq!((said.kind, said.then().as_str()), (Kind::Change, "LOCK(SIMPLE)"));
        let followed = check("lock-spin-pays", 2, &[Record { spun: 980, ..short }]).expect("speaks");
        assert_eq!((followed.kind, followed.then().as_str()), (Kind::NoChange, "LOCK(SIMPLE)"));
        assert!(followed.reason.starts_with("98 % of 1,000 waits"), "{}", followed.reason);
        assert_eq!(check("lock-spin-pays", 1, &[mutex(0x1000, 14)]), None, "these are long");
    }

    #[test]
    fn spinning_does_not_pay_where_waits_are_long() {
        // 20 ms of the run's second of processor time.
        let dear = Record { spun: 50, parked: 950, spin_ns: 20_000_000, ..mutex(0x1000, 17) };
        let said = check("lock-spin-does-not-pay", 2, std::slice::from_ref(&dear)).expect("fires");
        assert_eq!((said.kind, said.then().as_str()), (Kind::Lower, "LOCK(COUNT)"));
        let kind = |mode, lock: Record| check("lock-spin-does-not-pay", mode, &[lock]).map(|said| said.kind);
        assert_eq!(kind(2, Record { spin_ns: 9_000_000, ..dear.clone() }), Some(Kind::NoChange));
        assert_eq!(kind(2, Record { spun: 500, ..dear.clone() }), Some(Kind::NoChange));
        assert_eq!(
            kind(2, Record { sort: 3, ..dear }),
            Some(Kind::Change),
            "a simple lock is in the program itself"
        );
        assert_eq!(kind(1, mutex(0x1000, 17)), None, "glibc's normal mutex does not spin");
        let adaptive =
            check("lock-spin-does-not-pay", 1, &[Record { sort: 2, ..mutex(0x1000, 17) }]).expect("fires");
        assert_eq!(adaptive.then(), "LOCK(SIMPLE)");
        assert_eq!(kind(1, mutex(0x1000, 11)), None, "these are short");
    }

    #[test]
    fn a_circle_is_a_possible_deadlock() {
        let said_of = said("lock-order", &sample::driver()).expect("fires");
        assert_eq!((said_of.kind, said_of.option), (Kind::Change, None));
        assert!(
            said_of.reason.starts_with(
                "possible deadlock: driver+0x4010 is held, then lock of libaudit.so.1+0x2040 at"
            ),
            "{}",
            said_of.reason
        );
        let mut straight = Bytes::new(1, 1, 2);
        straight
            .lock(0, |lock| *lock = mutex(0x1000, 10))
            .lock(1, |lock| *lock = mutex(0x2000, 10))
            .edge(0, 1, 5, 1);
        assert_eq!(said("lock-order", &straight).map(|said| said.kind), Some(Kind::NoChange));
        assert_eq!(check("lock-order", 2, &[mutex(0x1000, 10)]), None);
    }

    #[test]
    fn what_is_not_worth_it_is_not_spoken_of() {
        let little = Record {
            wait_ns: WORTH_NS - 1,
            blocked: vec![(1, 900)],
            same_holder: 1_000,
            ..mutex(0x1000, 10)
        };
        let mut bytes = Bytes::new(1, 1, 1);
        bytes.lock(0, |lock| *lock = little);
        let report = sample::report_of(sample::locks_of(&bytes));
        assert!(advise(&report).iter().all(|said| said.area != Some(Area::Lock)));
    }

    #[test]
    fn every_lock_rule_can_be_printed() {
        let report = sample::report();
        let said: Vec<Advice> =
            advise(&report).into_iter().filter(|said| said.area == Some(Area::Lock)).collect();
        let rules: Vec<&str> = said.iter().map(|said| said.rule).collect();
        assert_eq!(rules, ["lock-holder-blocks", "lock-starves", "lock-spin-does-not-pay", "lock-order"]);
        for said in &said {
            let text = said.to_string();
            assert!(text.contains("  evidence   locks."), "{text}");
            assert!(!text.contains("locks.wait_ns 2310000000"), "in its unit: {text}");
        }
    }
}
