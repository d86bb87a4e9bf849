//! The lock report as text: an overview, each lock with its waiters and holders, circles, and unknown figures.
//!
//! ```text
//! underbar: ./driver --threads 8: exit 0
//!
//! Locks of driver (process 4711) under LOCK(SIMPLE)
//!   overview, one line for each lock
//!   audit_lock (driver), a mutex
//!     figures, waiters, holders, system calls
//! Possible deadlock: ...
//! Not known: ...
//! ```
//!
//! Invariant: no line is wider than [`COLUMNS`]; nothing that comes from the program reaches the
//! terminal unchecked.
//! Not here: JSON, which has everything.

use std::collections::HashMap;
use std::fmt::Write as _;

use underbar_ledger::Key;
use underbar_model::Area;

use super::columns::NEVER;
use super::groups::{Group, groups};
use super::lines::title;
use crate::locks::{Call, Lock, LockSort, Locks, Missing, Mode, Site};
use crate::model::{Process, Report};
use crate::page::{COLUMNS, clean, clip, clip_middle};
use crate::spread::Spread;
use crate::suggestion::Advice;
use crate::timing;
use crate::units::{count, counted, nanoseconds, percent, share};

/// Lines of the overview for a process; JSON has all locks.
pub const MOST: usize = 20;
/// The number of processes that are shown; those with the longest waits come first.
pub const PROCESSES: usize = 8;
/// The number of their locks that are shown in full.
pub const IN_FULL: usize = 8;

/// The chapter. Advice about locks is at its end.
#[must_use]
pub fn render(report: &Report, advice: &[Advice]) -> String {
    let command = std::iter::once(&report.run.program).chain(&report.run.arguments);
    let command = command.map(|word| clean(word)).collect::<Vec<_>>().join(" ");
    let mut text = format!("underbar: {}: {}\n", clip(&command, 70), timing::end_of(report));
    let sections = sections(report);
    for (program, locks) in sections.iter().take(PROCESSES) {
        section(&mut text, program, locks);
    }
    if sections.is_empty() {
        text.push_str(&without_record(report));
    }
    if let Some(rest) = sections.get(PROCESSES..).filter(|rest| !rest.is_empty()) {
        let waited = rest.iter().fold(0_u64, |sum, (_, locks)| sum.saturating_add(locks.wait_ns()));
        let number = counted(rest.len() as u64, "more process", "more processes");
        // Writing to a string cannot fail.
        let _ =
            writeln!(text, "\n{number} waited for locks, {} together; --json has all", nanoseconds(waited));
    }
    let spoken = |advice: &&Advice| {
        advice.area == Area::Lock && (advice.option.is_some() || advice.verdict != "no change")
    };
    for advice in advice.iter().filter(spoken) {
        let head = advice.option.as_ref().map_or(String::new(), |option| format!("{option}: "));
        let words = format!("Advice for {}: {head}{}", clean(&advice.program), clean(&advice.reason));
        text.push('\n');
        wrapped(&mut text, &words);
    }
    let _ = writeln!(text, "\n{NEVER}");
    text
}

/// No process has a record of its locks: nobody waited, or the waits are only counted.
fn without_record(report: &Report) -> String {
    let sum = |key| report.tree.counters.get(key);
    let waits = sum(Key::LockUnrecorded);
    if waits == 0 {
        if report.options.in_force.iter().any(|option| option.option.starts_with("LOCK(OFF")) {
            return "\nUnder LOCK(OFF) no lock is looked at.\n".to_owned();
        }
        return "\nNobody waited for a lock that underbar sees.\n".to_owned();
    }
    let mut text = "\n".to_owned();
    let waited = format!(
        "{}, {} together, without a record of the locks: there was no room for one next to the ledger, or the program had \
         become another user.",
        counted(waits, "wait", "waits"),
        nanoseconds(sum(Key::LockWait))
    );
    wrapped(&mut text, &waited);
    text
}

/// A sentence on lines of [`COLUMNS`]; all but the first are indented.
fn wrapped(text: &mut String, words: &str) {
    let mut room = COLUMNS;
    for word in words.split(' ') {
        let width = word.chars().count() + 1;
        if room == COLUMNS {
            text.push_str(word);
        } else if width <= room {
            let _ = write!(text, " {word}");
        } else {
            let _ = write!(text, "\n  {word}");
            room = COLUMNS - 2;
        }
        room = room.saturating_sub(width);
    }
    text.push('\n');
}

/// The locks with their program and process, the longest wait first.
fn sections(report: &Report) -> Vec<(String, &Locks)> {
    let of =
        |process: &Process, locks: &Locks| format!("{} (process {})", clean(process.name()), locks.process);
    let mut sections: Vec<(String, &Locks)> = report
        .processes
        .iter()
        .filter_map(|process| process.locks.as_ref().map(|locks| (of(process, locks), locks)))
        .chain(report.tree.other_locks.iter().map(|locks| {
            (format!("process {}, whose accounts were folded with others", locks.process), locks)
        }))
        .filter(|(_, locks)| !locks.locks.is_empty() || locks.unrecorded > 0)
        .collect();
    sections.sort_by_key(|(_, locks)| std::cmp::Reverse(locks.wait_ns()));
    sections
}

fn section(text: &mut String, program: &str, locks: &Locks) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\nLocks of {} under {}", clip(program, 70), locks.mode.option());
    let groups = groups(locks);
    let _ = writeln!(
        text,
        "  {:<34}{:<9}{:>10}{:>11}{:>12}{:>11}{:>11}",
        "lock", "sort", "contended", "waited", "p99 at most", "longest", "CPU burnt"
    );
    for group in groups.iter().take(MOST) {
        let lock = &group.together;
        let _ = writeln!(
            text,
            "  {:<33} {:<9}{:>10}{:>11}{:>12}{:>11}{:>11}",
            clip(&clean(&title(lock, group.locks.len())), 33),
            lock.sort.word(),
            count(lock.contended),
            nanoseconds(lock.wait_ns),
            lock.p99_ns.map_or("-".to_owned(), |spread| nanoseconds(spread.at_most)),
            nanoseconds(lock.wait_max_ns),
            lock.spin_ns.map_or("-".to_owned(), nanoseconds),
        );
    }
    if groups.len() > MOST {
        let rest: u64 =
            groups[MOST..].iter().fold(0, |sum, group| sum.saturating_add(group.together.wait_ns));
        let number = counted((groups.len() - MOST) as u64, "more lock", "more locks");
        let _ = writeln!(text, "  {number}, waited for {}; --json has all", nanoseconds(rest));
    }
    if locks.unrecorded > 0 {
        let _ = writeln!(
            text,
            "  {} of locks for which there was no record",
            counted(locks.unrecorded, "wait", "waits")
        );
    }
    for group in groups.iter().take(IN_FULL) {
        one(text, group);
    }
    if groups.len() > IN_FULL {
        let _ = writeln!(text, "\n  Those with the longest waits together are shown in full; --json has all");
    }
    circles(text, locks);
    missing(text, locks);
}

/// One lock in full.
fn one(text: &mut String, group: &Group<'_>) {
    let lock = &group.together;
    let sort = match lock.sort {
        _ if group.locks.len() > 1 => "all of one sort",
        LockSort::MutexNormal => "a mutex of the C library",
        LockSort::MutexAdaptive => "an adaptive mutex of the C library",
        LockSort::Simple => "a simple lock",
        LockSort::SimpleSmall => "a simple lock of four bytes",
        LockSort::Unknown => "of an unknown sort",
    };
    let mut head = format!("{}, {sort}", clip(&clean(&title(lock, group.locks.len())), 60));
    if group.locks.len() == 1 {
        let _ = write!(head, " at {:#x}", lock.address);
    }
    let _ = writeln!(text, "\n  {}", clip(&head, COLUMNS - 2));
    let mut line = |label: &str, words: &str| {
        let _ = writeln!(text, "    {label:<10}{}", clip(words, COLUMNS - 14));
    };
    if lock.place.file.is_some() || group.locks.len() > 1 {
        line("first", &format!("waited for at {}", place(&lock.first_site)));
    }
    let mut how = counted(lock.contended, "acquisition waited", "acquisitions waited");
    if let Some(spun) = lock.spun {
        let _ = write!(how, ", {} of them without sleeping", count(spun));
    }
    if let Some(parked) = lock.parked {
        let _ = write!(how, "; {}", counted(parked, "sleep", "sleeps"));
    }
    if let Some(woken) = lock.woken {
        let _ = write!(how, ", {}", counted(woken, "wake", "wakes"));
    }
    line("contended", &how);
    let spread = |name, spread: Option<Spread>| {
        spread.map_or(String::new(), |spread| format!(", {name} {}", spread.words()))
    };
    line(
        "waited",
        &format!(
            "{} together{}{}, longest {}",
            nanoseconds(lock.wait_ns),
            spread("p50", lock.p50_ns),
            spread("p99", lock.p99_ns),
            nanoseconds(lock.wait_max_ns)
        ),
    );
    if let Some(spin) = lock.spin_ns {
        let share = lock
            .spin_share_millionths
            .map_or(String::new(), |share| format!(", {} of the run's", share_words(share)));
        line("CPU burnt", &format!("{} looking again{share}", nanoseconds(spin)));
    }
    if let Some(runnable) = lock.runnable_ns.filter(|&runnable| runnable > 0) {
        let of = share(runnable, lock.wait_ns);
        line("runnable", &format!("{} woken but not yet running, {of} of the wait", nanoseconds(runnable)));
    }
    sites(&mut line, "waiters", &lock.waiters);
    sites(&mut line, "holders", &lock.holders);
    if !lock.blocked.is_empty() {
        line("holder in", &calls(&lock.blocked, lock.looked.unwrap_or(0)));
    }
    if lock.given_up > 0 {
        line(
            "given up",
            &format!(
                "{} while others waited; {} % by the thread that did so the time before",
                counted(lock.given_up, "time", "times"),
                percent(lock.same_holder.min(lock.given_up), lock.given_up)
            ),
        );
    }
    if lock.waiting > 0 {
        line("now", &counted(lock.waiting, "thread waits", "threads wait"));
    }
    if lock.policy > 0 {
        line("policy", &policy(lock.policy));
    }
}

/// The places with the most time, with their share of it.
fn sites(line: &mut impl FnMut(&str, &str), label: &str, sites: &[Site]) {
    let all = sites.iter().fold(0_u64, |sum, site| sum.saturating_add(site.ns));
    for (at, site) in sites.iter().take(4).enumerate() {
        let words = format!(
            "{:>3} %  {:<43} {:>10} {:>10}",
            percent(site.ns, all),
            clip_middle(&place(&site.place), 43),
            nanoseconds(site.ns),
            counted(site.count, "time", "times")
        );
        line(if at == 0 { label } else { "" }, &words);
    }
}

fn place(place: &crate::locks::Place) -> String {
    let line = place.line.as_deref().map_or(String::new(), |line| format!(" {line}"));
    clean(&format!("{}{line}", place.words()))
}

fn calls(calls: &[Call], looked: u64) -> String {
    let words: Vec<String> = calls
        .iter()
        .map(|call| format!("{} {}", clean(&call.name), counted(call.count, "time", "times")))
        .collect();
    let of = if looked == 0 { String::new() } else { format!(" of {}", counted(looked, "look", "looks")) };
    format!("{}{of} by who had waited for a millisecond", words.join(", "))
}

/// How threads wait for a lock that does not follow LOCK.
fn policy(number: u64) -> String {
    let words = match number {
        1 => "the C library waits",
        2 => "few look for a moment, the rest sleep",
        3 => "all sleep at once",
        _ => return format!("{number}, unknown"),
    };
    format!("{words}; set for this lock alone")
}

/// Millionths in percent, with the digits after the point that matter.
fn share_words(millionths: u64) -> String {
    match millionths {
        0 => "0 %".to_owned(),
        1..100 => "less than 0.01 %".to_owned(),
        100..10_000 => format!("{}.{:02} %", millionths / 10_000, millionths / 100 % 100),
        _ => format!("{}.{} %", millionths / 10_000, millionths / 1_000 % 10),
    }
}

fn circles(text: &mut String, locks: &Locks) {
    for circle in &locks.circles {
        text.push_str("\n  Possible deadlock: these locks were taken in a circle\n");
        for edge in circle.iter().filter_map(|&at| locks.edges.get(at)) {
            let name =
                |at: usize| locks.locks.get(at).map_or("?".to_owned(), |lock| clip(&clean(&lock.name()), 40));
            let _ = writeln!(text, "    {} was held while waiting", name(edge.held));
            let _ = writeln!(
                text,
                "      for {} at {}, {}",
                name(edge.wanted),
                clip_middle(&place(&edge.site), 30),
                counted(edge.count, "time", "times")
            );
        }
    }
    if locks.edges_lost > 0 {
        let _ = writeln!(
            text,
            "\n  {} had no room: a circle may have been missed",
            counted(locks.edges_lost, "pair of locks", "pairs of locks")
        );
    }
}

/// The figures that are shown as a dash, and why. Keys with the same reason are together.
fn missing(text: &mut String, locks: &Locks) {
    let mut by_reason: Vec<Vec<&Missing>> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for missing in &locks.missing {
        let at = *places.entry(&missing.why).or_insert_with(|| {
            by_reason.push(Vec::new());
            by_reason.len() - 1
        });
        by_reason[at].push(missing);
    }
    for missing in by_reason {
        let labels: Vec<String> = missing
            .iter()
            .map(|missing| {
                let known = super::columns::find(&missing.key).map(|column| column.label.to_owned());
                known.unwrap_or_else(|| clean(&missing.key))
            })
            .collect();
        let _ = writeln!(text, "\n  Not known: {}:\n    {}", labels.join(", "), clean(&missing[0].why));
    }
    if locks.mode == Mode::Off {
        text.push_str("\n  Under LOCK(OFF) no lock is looked at.\n");
    }
    if locks.mode == Mode::Count && locks.locks.iter().any(is_seen_in_part) {
        text.push_str(
            "\n  Threads waited so often that a share of the waits was recorded: acquisitions and\n  times are of all, wakes and times given up \
             only of that share. LOCK(SIMPLE) counts all.\n",
        );
    }
}

/// Was a mutex given up less often than threads waited for it? Each wait ends when it is given up, but waits that one stands for are not seen.
/// Simple locks record each wait.
fn is_seen_in_part(lock: &Lock) -> bool {
    lock.sort.is_mutex() && lock.contended >= 32 && lock.given_up < lock.contended / 4 * 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::sample::{self, Bytes};
    use crate::model::OptionInForce;

    #[test]
    fn the_driver_in_full() {
        let mut report = sample::report();
        report.name_locks(&mut sample::Symbols);
        let text = render(&report, &[]);
        let manual = include_str!("../../../../docs/lock-report.md");
        assert!(
            manual.contains(&format!("```text\n{text}```\n")),
            "the manual explains this very text:\n{text}"
        );
    }

    #[test]
    fn what_is_not_known_is_said() {
        let mut bytes = Bytes::new(1, 1, 1);
        bytes
            .lost(7, 2)
            .lock(0, |lock| (lock.address, lock.sort, lock.contended, lock.wait_ns) = (64, 1, 3, 50));
        let text = render(&sample::report_of(sample::locks_of(&bytes)), &[]);
        for part in [
            "under LOCK(COUNT)",
            "7 waits of locks for which there was no record",
            "2 pairs of locks had no room",
            "Not known: of them without sleeping, Sleeps, CPU burnt waiting, Runnable, not running:",
            "LOCK(SIMPLE) would fill it",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("sleeps"), "{text}");
    }

    /// Of a program with 972 waits, the report said "300 wakes", and nothing of why.
    #[test]
    fn wakes_of_a_share_of_the_waits_are_called_that() {
        // The last one is a simple lock, which records each wait.
        for (sort, given_up, says) in [(1, 300, true), (1, 900, false), (3, 300, false)] {
            let mut bytes = Bytes::new(1, 1, 1);
            bytes.lock(0, |lock| {
                (lock.address, lock.sort, lock.contended, lock.wait_ns) = (64, sort, 972, 103_000_000);
                (lock.woken, lock.given_up) = (given_up, given_up);
            });
            let text = render(&sample::report_of(sample::locks_of(&bytes)), &[]);
            assert!(text.contains("under LOCK(COUNT)"), "{text}");
            assert_eq!(text.contains("only of that share"), says, "{text}");
        }
    }

    /// Times of a minute and more are wider: "4 min 12 s".
    #[test]
    fn long_waits_keep_the_columns_apart() {
        const MINUTES: u64 = 252_000_000_000;
        let mut locks = sample::locks();
        let lock = &mut locks.locks[0];
        (lock.contended, lock.wait_ns, lock.wait_max_ns) = (300, MINUTES, MINUTES);
        (lock.p99_ns, lock.spin_ns) =
            (Some(Spread { at_least: MINUTES / 2, at_most: MINUTES }), Some(MINUTES));
        let text = render(&sample::report_of(locks), &[]);
        let line = text.lines().find(|line| line.contains(" 300 ")).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(line.matches(" 4 min 12 s").count(), 4, "{line}");
    }

    #[test]
    fn many_locks_do_not_drown_the_reader() {
        let mut locks = sample::locks();
        for number in 0..60 {
            let mut lock = locks.locks[1].clone();
            lock.address = number * 64;
            // The waits are at different calls, so these locks are not one group.
            lock.first_site.offset += number;
            locks.locks.push(lock);
        }
        let text = render(&sample::report_of(locks), &[]);
        assert!(text.contains("42 more locks, waited for 63.0 ms; --json has all"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
    }

    #[test]
    fn advice_is_wrapped_and_what_needs_none_is_left_out() {
        let advice = |verdict, reason: &str| Advice {
            program: "driver".to_owned(),
            area: Area::Lock,
            option: None,
            verdict,
            risky: false,
            acts: true,
            reason: reason.to_owned(),
        };
        let long = "word ".repeat(60);
        let text =
            render(&sample::report(), &[advice("change", long.trim_end()), advice("no change", "nothing")]);
        assert!(text.contains("\nAdvice for driver: word word"), "{text}");
        assert!(!text.contains("nothing"), "{text}");
        assert_eq!(text.matches("word").count(), 60);
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
    }

    #[test]
    fn many_processes_do_not_drown_the_reader() {
        let mut report = sample::report();
        report.tree.other_locks = (0..PROCESSES as u64 + 2)
            .map(|number| {
                let mut locks = sample::locks();
                locks.process = 100 + u32::try_from(number).expect("few");
                locks.locks[0].wait_ns = number * 1_000_000;
                locks
            })
            .collect();
        let text = render(&report, &[]);
        assert_eq!(text.matches("\nLocks of").count(), PROCESSES);
        assert!(
            text.starts_with("underbar: ./driver --threads 8: exit 0\n\nLocks of driver (process 4711)"),
            "{text}"
        );
        assert!(text.contains("\nLocks of process 109, whose accounts were folded with others"), "{text}");
        // 0, 1 and 2 ms, plus 1.5 ms for each.
        assert!(text.contains("\n3 more processes waited for locks, 7.50 ms together"), "{text}");
    }

    #[test]
    fn nobody_waited() {
        let text = render(&crate::sample::getfree(), &[]);
        assert!(text.contains("Nobody waited for a lock that underbar sees."), "{text}");
    }

    #[test]
    fn without_a_look_nobody_is_said_to_have_waited() {
        let mut report = crate::sample::getfree();
        let option = "LOCK(OFF,1000)".to_owned();
        report.options.in_force.push(OptionInForce { option, where_set: String::new() });
        let text = render(&report, &[]);
        assert!(text.contains("Under LOCK(OFF)") && !text.contains("Nobody"), "{text}");
    }

    /// Of a server that has become another user, waits are counted, but have no record of their locks.
    #[test]
    fn waits_without_any_record_are_told() {
        let mut report = crate::sample::getfree();
        report.tree.counters.set(Key::LockUnrecorded, 342);
        report.tree.counters.set(Key::LockWait, 1_160_000_000);
        let text = render(&report, &[]);
        let words = "342 waits, 1.16 s together, without a record of the locks";
        assert!(text.contains(words) && !text.contains("Nobody"), "{text}");
    }

    #[test]
    fn shares_keep_what_matters() {
        assert_eq!([0, 99, 12_300, 999_999].map(share_words), ["0 %", "less than 0.01 %", "1.2 %", "99.9 %"]);
        assert_eq!(share_words(9_900), "0.99 %");
    }
}
