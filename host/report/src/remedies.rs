//! What a run did not show, and the remedies for it: the table, and the worst of the gaps.
//!
//! ```text
//! the run ended in the middle        its figures are of a part
//! programs kept no accounts          each reason has its remedy
//! a process ended without notice     its last figures are missing
//! the heap is a small part           the rest is files or shared memory
//! ```
//!
//! Invariant: "Nothing to change." is the last line only if none of this applies.
//! Not here: memory that was seen outside the heap ([`crate::memory::mostly_elsewhere`]), and the last line itself (`next`).

use underbar_ledger::Key;

use crate::model::{End, Process, Report, State};
use crate::page::{Line, labelled};
use crate::program::Program;
use crate::timing;
use crate::units::{bytes, count, counted};

/// What can be done about programs that kept no accounts.
pub struct Remedy {
    /// The counter of such programs.
    pub reason: Key,
    /// What to do, as a command; or why nothing can be done.
    pub words: &'static str,
}

/// A remedy for each reason why a program is not followed, except those that the user asked for.
pub static REMEDIES: [Remedy; 14] = [
    Remedy {
        reason: Key::NotFollowedStatic,
        words: "link it dynamically; if it is Go, its heap is its own (see GOGC)",
    },
    Remedy {
        reason: Key::NotFollowedSetUid,
        words: "start underbar behind it: sudo underbar run -- PROGRAM",
    },
    Remedy {
        reason: Key::NotFollowedCapabilities,
        words: "run it as root, or a copy of its file without capabilities",
    },
    Remedy { reason: Key::NotFollowedBits32, words: "build it for 64 bits" },
    Remedy { reason: Key::NotFollowedOtherLibc, words: "build it with the GNU C library" },
    Remedy {
        reason: Key::NotFollowedSanitizer,
        words: "build it without the sanitizer or the heap that finds errors",
    },
    Remedy { reason: Key::NotFollowedOtherMachine, words: "run it on a machine of its own kind" },
    Remedy {
        reason: Key::NotFollowedMalformed,
        words: "see whether the file can be executed: underbar doctor -- FILE",
    },
    Remedy {
        reason: Key::NotFollowedPreloadHidden,
        words: "start underbar behind what changes the root, in a root that has it",
    },
    Remedy {
        reason: Key::NotFollowedEnvironment,
        words: "start underbar behind what clears it, or let LD_PRELOAD and UNDERBAR_* through",
    },
    Remedy {
        reason: Key::NotFollowedLedger,
        words: "start underbar as its user, where it sees the same files",
    },
    Remedy { reason: Key::NotFollowedLittleMemory, words: "raise its limit (ulimit -v, -d) above 64 MiB" },
    Remedy { reason: Key::NotFollowedFiltered, words: "run it without its filter of system calls" },
    Remedy { reason: Key::NotFollowedUnreadable, words: "let its file be read: chmod +r" },
];

/// What to do about a reason, for `explain`.
#[must_use]
pub fn remedy(reason: Key) -> Option<&'static str> {
    REMEDIES.iter().find(|remedy| remedy.reason == reason).map(|remedy| remedy.words)
}

/// The worst of the gaps of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unseen {
    /// It ended by a fault, its own or underbar's.
    Crash,
    /// Programs that kept no accounts, and the counter of the most frequent reason.
    Programs {
        /// Their number.
        number: u64,
        /// The reason.
        reason: Key,
    },
    /// Programs for which the ledger had no room.
    NoRoom(u64),
    /// A signal ended the whole run early.
    Cut(i32),
    /// Processes of a program ended early.
    EndedEarly {
        /// Its name.
        name: String,
        /// How many of its processes did.
        ended: u64,
        /// Of so many.
        processes: u64,
    },
    /// The program reports a failure.
    Failed(i32),
    /// The heap is only a part of the resident memory, and the rest is no anonymous memory.
    SmallPart {
        /// The largest heap.
        heap: u64,
        /// The most resident memory of a process.
        resident: u64,
    },
}

impl Unseen {
    /// The worst gap of `report`; None if all was seen.
    pub(crate) fn of(report: &Report, programs: &[Program]) -> Option<Unseen> {
        if is_crash(report.run.end) {
            return Some(Unseen::Crash);
        }
        let missed = missed(report);
        if let Some(&(reason, _)) = missed.iter().rev().max_by_key(|(_, number)| *number) {
            let number = missed.iter().fold(0_u64, |sum, (_, number)| sum.saturating_add(*number));
            return Some(Unseen::Programs { number, reason });
        }
        if report.tree.unrecorded > 0 {
            return Some(Unseen::NoRoom(report.tree.unrecorded));
        }
        if let Some(End::Signal(signal)) = report.run.end {
            return Some(Unseen::Cut(signal));
        }
        for program in programs.iter().filter(|program| program.unfinished) {
            let is_killed =
                |process: &&Process| process.state == State::Killed && process.name() == program.name;
            let ended = report.processes.iter().filter(is_killed).count() as u64;
            if ended > 0 {
                let (name, processes) = (program.name.clone(), program.processes);
                return Some(Unseen::EndedEarly { name, ended, processes });
            }
        }
        if let Some(small) = small_part(report, programs) {
            return Some(small);
        }
        match report.run.end {
            Some(End::Exit(status)) if status != 0 => Some(Unseen::Failed(status)),
            _ => None,
        }
    }

    /// In words, as they follow "Nothing to change in what was seen".
    pub(crate) fn words(&self) -> String {
        match self {
            Unseen::Crash => "the program crashed".to_owned(),
            Unseen::Programs { number, .. } => {
                format!("{} kept no accounts", counted(*number, "program", "programs"))
            }
            Unseen::NoRoom(number) => {
                format!("{} had no place in the ledger", counted(*number, "program", "programs"))
            }
            Unseen::Cut(signal) => format!("the run was {}", timing::end(Some(End::Signal(*signal)))),
            Unseen::EndedEarly { name, ended: 1, processes: 0..=1 } => {
                format!("{name} ended without notice")
            }
            Unseen::EndedEarly { name, ended: 1, .. } => format!("a process of {name} ended without notice"),
            Unseen::EndedEarly { name, .. } => format!("processes of {name} ended without notice"),
            Unseen::Failed(status) => format!("the program ended with {status}"),
            Unseen::SmallPart { heap, resident } => {
                format!("the heap is {} of {} resident", bytes(*heap), bytes(*resident))
            }
        }
    }
}

/// Did it end by a fault? A shell ends with 128 plus the signal of the program that it ran.
fn is_crash(end: Option<End>) -> bool {
    // SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS.
    const FAULTS: [i32; 7] = [4, 5, 6, 7, 8, 11, 31];
    match end {
        Some(End::Signal(signal)) => FAULTS.contains(&signal),
        Some(End::Exit(status)) => FAULTS.contains(&(status - 128)),
        None => false,
    }
}

/// The number of programs without accounts, by reason, in the order of the table. Reasons that the user asked for are left out.
fn missed(report: &Report) -> Vec<(Key, u64)> {
    let counters = &report.tree.counters;
    REMEDIES
        .iter()
        .map(|remedy| (remedy.reason, counters.get(remedy.reason)))
        .filter(|(_, number)| *number > 0)
        .collect()
}

/// Is the heap of every program, and all anonymous memory that was measured, a small part of the resident memory?
fn small_part(report: &Report, programs: &[Program]) -> Option<Unseen> {
    /// Any program has a few MiB of files in memory.
    const WORTH_A_WORD: u64 = 32 << 20;
    let resident = report.steps.as_ref()?.peak_resident_bytes;
    let largest = |key: Key| programs.iter().map(|program| program.counters.get(key)).max().unwrap_or(0);
    let heap = largest(Key::HeapUsedPeak);
    let seen = heap.max(largest(Key::CoverageAnonymous));
    (resident >= WORTH_A_WORD && seen < resident / 2).then_some(Unseen::SmallPart { heap, resident })
}

/// What to do about programs that kept no accounts: a line for each of the two most frequent reasons.
pub(crate) fn lines(report: &Report) -> Vec<Line> {
    let mut missed = missed(report);
    missed.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    let words = missed.into_iter().take(2).map(|(reason, number)| in_words(reason, number));
    words.enumerate().map(|(at, text)| labelled(if at == 0 { "unseen" } else { "" }, text)).collect()
}

/// Sentences about all processes that kept no accounts, for reports of another kind.
#[must_use]
pub fn sentences(report: &Report) -> Vec<String> {
    let counters = &report.tree.counters;
    let wanted = (Key::NotFollowedByRequest, counters.get(Key::NotFollowedByRequest));
    let mut sentences: Vec<String> = missed(report)
        .into_iter()
        .chain((wanted.1 > 0).then_some(wanted))
        .map(|(reason, number)| format!("Not followed: {}.", in_words(reason, number)))
        .collect();
    if report.tree.unrecorded > 0 {
        let processes = counted(report.tree.unrecorded, "process", "processes");
        sentences.push(format!("Not followed: {processes} had no place in the ledger."));
    }
    sentences
}

fn in_words(reason: Key, number: u64) -> String {
    let label = reason.entry().label;
    let label = label.strip_prefix("not followed: ").unwrap_or(label);
    let remedy = remedy(reason).map(|words| format!(": {words}")).unwrap_or_default();
    format!("{} {label}{remedy}", count(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::split;
    use crate::sample;
    use crate::summary::render;
    use underbar_ledger::table::KEYS;

    /// The last line of a good report after `change`, without the command to type.
    fn last(change: impl Fn(&mut Report)) -> String {
        let mut report = sample::getfree();
        change(&mut report);
        let text = render(&report, &[], false);
        text.lines().last().expect("lines").to_owned()
    }

    fn check(change: impl Fn(&mut Report), expected: &str) {
        let line = last(change);
        assert!(line.starts_with(expected), "{line}");
        assert!(!line.contains("Nothing to change."), "{line}");
    }

    #[test]
    fn nothing_to_change_is_said_only_where_all_was_seen() {
        assert!(last(|_| ()).starts_with("Nothing to change. Every figure: "));
        for end in [End::Signal(11), End::Signal(6), End::Exit(139)] {
            check(
                |report| report.run.end = Some(end),
                "It crashed: the figures are of a part of a run. Does it without underbar: ./getfree --seed 7",
            );
        }
        check(
            |report| report.run.end = Some(End::Signal(9)),
            "Nothing to change in what was seen; the run was killed by signal 9 (SIGKILL). Every figure: ",
        );
        check(
            |report| report.run.end = Some(End::Exit(2)),
            "Nothing to change in what was seen; the program ended with 2. Every figure: ",
        );
        check(
            |report| report.tree.unrecorded = 3,
            "Nothing to change in what was seen; 3 programs had no place in the ledger. ",
        );
        check(
            |report| report.processes[0].state = State::Killed,
            "Nothing to change in what was seen; getfree ended without notice. Every figure: ",
        );
        // Its children, and not the process whose status the first line says.
        for (killed, says) in [(1, "a process"), (2, "processes")] {
            check(
                |report| {
                    for number in 1..=killed {
                        let mut child = report.processes[0].clone();
                        (child.process, child.state) = (child.process + number, State::Killed);
                        report.processes.push(child);
                    }
                },
                &format!("Nothing to change in what was seen; {says} of getfree ended without notice. "),
            );
        }
        check(
            |report| {
                report.processes[0].counters.set(Key::CoverageAnonymous, 0);
                report.processes[0].counters.set(Key::HeapUsedPeak, 1 << 20);
            },
            "Nothing to change in what was seen; the heap is 1 MiB of 905 MiB resident. ",
        );
    }

    #[test]
    fn programs_without_accounts_come_with_what_to_do() {
        let mut report = sample::tree();
        report.tree.counters.set(Key::NotFollowedSetUid, 1);
        let text = render(&report, &[], false);
        let unseen = "\n  unseen    2 statically linked: link it dynamically; if it is Go, its heap is its own (see GOGC)\n";
        assert!(text.contains(unseen), "{text}");
        assert!(
            text.contains("\n            1 set-user-ID or set-group-ID: start underbar behind it: sudo underbar run -- PROGRAM\n"),
            "{text}"
        );
        let line = "Nothing to change in what was seen; 3 programs kept no accounts. What that means: underbar explain follow.static\n";
        assert!(text.ends_with(line), "{text}");
    }

    #[test]
    fn sentences_name_all_that_was_not_followed() {
        let mut report = sample::tree();
        for (key, number) in [(Key::NotFollowedSetUid, 1), (Key::NotFollowedByRequest, 4)] {
            report.tree.counters.set(key, number);
        }
        report.tree.unrecorded = 1;
        assert_eq!(
            sentences(&report),
            [
                "Not followed: 2 statically linked: link it dynamically; if it is Go, its heap is its own (see GOGC).",
                "Not followed: 1 set-user-ID or set-group-ID: start underbar behind it: sudo underbar run -- PROGRAM.",
                "Not followed: 4 as asked.",
                "Not followed: 1 process had no place in the ledger.",
            ]
        );
        assert!(sentences(&sample::getfree()).is_empty());
    }

    /// Every counter of programs that are not followed.
    fn reasons() -> impl Iterator<Item = Key> {
        KEYS.into_iter().filter(|key| split(key.entry().key).0 == "follow")
    }

    #[test]
    fn every_reason_has_a_remedy_unless_somebody_wanted_it() {
        let without: Vec<_> =
            reasons().filter(|key| remedy(*key).is_none()).map(|key| key.entry().key).collect();
        assert_eq!(without, ["follow.other_run", "follow.by_request"]);
    }
}
