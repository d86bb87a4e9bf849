//! Locks in the summary: two lines, or none if no thread waited.

use super::groups::groups;
use crate::locks::{Lock, Locks};
use crate::model::Report;
use crate::page::{Line, clean, clip, labelled, warning};
use crate::units::{count, counted, nanoseconds, percent};

/// Are locks more important than storage here? Yes if a deadlock is possible, or if the waits together took more than a tenth of
/// the run.
pub(crate) fn have_a_say(report: &Report) -> bool {
    let elapsed = report.steps.as_ref().map_or(0, |steps| steps.elapsed_ns);
    let waited = report.locks().fold(0_u64, |sum, locks| sum.saturating_add(locks.wait_ns()));
    report.locks().any(|locks| !locks.circles.is_empty()) || waited > (elapsed / 10).max(1_000_000)
}

/// The lines; at most two.
pub(crate) fn lines(report: &Report) -> Vec<Line> {
    let sections: Vec<&Locks> = report.locks().filter(|locks| !locks.locks.is_empty()).collect();
    let number: usize = sections.iter().map(|locks| locks.locks.len()).sum();
    let all = || sections.iter().flat_map(|locks| &locks.locks);
    let sum = |get: fn(&Lock) -> u64| all().fold(0_u64, |sum, lock| sum.saturating_add(get(lock)));
    let contended = sum(|lock| lock.contended);
    let circles: usize = sections.iter().map(|locks| locks.circles.len()).sum();
    if contended == 0 && circles == 0 {
        return Vec::new();
    }
    let waited = sum(|lock| lock.wait_ns);
    let mut text = format!(
        "{}, {} of {}, longest {}",
        counted(number as u64, "lock", "locks"),
        counted(contended, "wait", "waits"),
        nanoseconds(waited),
        nanoseconds(all().map(|lock| lock.wait_max_ns).max().unwrap_or(0)),
    );
    let burnt: Vec<u64> = all().filter_map(|lock| lock.spin_ns).collect();
    if !burnt.is_empty() {
        let burnt = burnt.iter().fold(0_u64, |sum, spin| sum.saturating_add(*spin));
        text += &format!(", CPU burnt {}", nanoseconds(burnt));
    }
    let mut lines = vec![match circles {
        0 => labelled("locks", text),
        _ => warning("locks", format!("possible deadlock; {text}")),
    }];
    let worst = sections.iter().filter_map(|locks| groups(locks).into_iter().next());
    if let Some(worst) = worst.max_by_key(|group| group.together.wait_ns)
        && waited > 0
    {
        let lock = &worst.together;
        let mut text = format!(
            "{} % {}",
            percent(lock.wait_ns, waited),
            clip(&clean(&title(lock, worst.locks.len())), 30)
        );
        if let Some(holder) = lock.holders.first().filter(|holder| holder.count > 0) {
            text += &format!(", held by {}", clip(&clean(&holder.place.words()), 24));
        }
        if let Some(call) = lock.blocked.first() {
            text += &format!(" in {}", clean(&call.name));
        }
        lines.push(labelled("", text));
    }
    lines
}

/// The name of a lock, or of several as one.
pub(crate) fn title(lock: &Lock, number: usize) -> String {
    match number {
        0 | 1 => lock.name(),
        number => format!("{} locks of {}", count(number as u64), lock.first_site.words()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::sample;
    use crate::page::{Page, paint};

    fn check(report: &Report, expect: &str) {
        assert_eq!(paint(&lines(report), Page::of_terminal(None, false), 0), expect);
    }

    #[test]
    fn two_lines_where_somebody_waited() {
        let mut report = sample::report();
        report.name_locks(&mut sample::Symbols);
        check(
            &report,
            "  locks     possible deadlock; 2 locks, 1,500 waits of 2.31 s, longest 5.01 ms, CPU burnt 13.0 ms\n            \
             99 % audit_lock (driver), held by append+0x88 (driver) in write\n",
        );
    }

    #[test]
    fn the_summary_leads_to_the_lock_report() {
        let mut report = sample::report();
        let last = |report: &Report| {
            let text = crate::summary::render(report, &[], false);
            text.lines().last().map(str::to_owned)
        };
        let to_locks =
            Some("Who waits for whom: underbar run --report lock -- ./driver --threads 8".to_owned());
        assert_eq!(last(&report), to_locks);
        if let Some(locks) = &mut report.processes[0].locks {
            locks.circles.clear();
        }
        assert_eq!(last(&report), to_locks, "2.31 s of waits in 2 s");
        if let Some(locks) = &mut report.processes[0].locks {
            locks.locks.remove(0);
        }
        assert!(last(&report).is_some_and(|line| line.starts_with("Nothing to change.")), "1.5 ms of waits");
    }

    #[test]
    fn none_where_nobody_did() {
        check(&crate::sample::getfree(), "");
        check(&sample::report_of(sample::locks_of(&sample::Bytes::new(1, 1, 1))), "");
    }
}
