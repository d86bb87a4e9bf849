//! Notes about samples by timers: the reason for timers, their limits, and the missed samples.
//!
//! Invariant: every known kind of missed samples has a note, with its number.
//! Not here: the samples (`timer`).

use underbar_report::units::counted;
use underbar_sys::syscall::tick_nanoseconds;

use crate::sampler::Refused;

/// The most samples a second of a thread's CPU time that this kernel's timers give; None if it does not show the limit.
#[must_use]
pub fn most_rate() -> Option<u64> {
    Some(1_000_000_000_u64.div_ceil(tick_nanoseconds())).filter(|_| tick_nanoseconds() > 0)
}

/// The reasons for missing samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Processes that used the signal themselves; and the signal.
    pub gave_way: (u64, u32),
    /// Processes that forbade themselves system calls.
    pub locked_in: u64,
    /// Processes without a free signal.
    pub refused: u64,
    /// Threads without a timer.
    pub untimed: u64,
    /// Processes, one for each program that they were, with the library and without an area.
    pub placeless: u64,
}

/// The notes about samples by timers. `refused`: the reason why the kernel's own sampling was not used; None if
/// timers were requested. `unfollowed`: programs that were started without the library, and the reason, as text.
#[must_use]
pub fn notes(
    rate: u32,
    refused: Option<&Refused>,
    missing: &Missing,
    unfollowed: &[(u64, &str)],
) -> Vec<String> {
    let mut notes = vec![match refused {
        Some(refused) => format!("sampled by a timer in each thread: {refused}"),
        None => "sampled by a timer in each thread, as requested".to_owned(),
    }];
    if let Some(most) = most_rate().filter(|most| u64::from(rate) > *most) {
        notes.push(format!(
            "{rate} samples a second were requested; this kernel's tick allows a thread {most}"
        ));
    }
    notes.push(
        "time in the kernel appears at the instruction after the system call; storage was served by underbar's library, as by `run`".to_owned(),
    );
    let processes = |count| counted(count, "process", "processes");
    let mut add = |count: u64, what: String| {
        if count > 0 {
            notes.push(format!("not sampled: {what}"));
        }
    };
    for (count, why) in unfollowed {
        add(*count, format!("{}: {why}", counted(*count, "started program", "started programs")));
    }
    let (gave_way, signal) = missing.gave_way;
    add(gave_way, format!("{} after taking signal {signal}, the timers'", processes(gave_way)));
    add(missing.locked_in, format!("{} after forbidding system calls", processes(missing.locked_in)));
    add(missing.refused, format!("{} with every signal in use", processes(missing.refused)));
    add(
        missing.placeless,
        format!(
            "{} made by other means than fork, or without room for samples",
            processes(missing.placeless)
        ),
    );
    add(missing.untimed, format!("{} without a timer", counted(missing.untimed, "thread", "threads")));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_and_nothing_else() {
        let all = notes(1, None, &Missing::default(), &[(0, "statically linked")]);
        assert!(all.len() == 2 && all[0].ends_with("as requested"), "{all:?}");
        let missing = Missing { gave_way: (2, 57), locked_in: 3, refused: 4, untimed: 5, placeless: 7 };
        let all = notes(20_000, Some(&Refused::Filtered), &missing, &[(6, "statically linked")]).join("\n");
        for words in [
            "a filter of system calls",
            "20000 samples a second were requested",
            "2 processes after taking signal 57",
            "3 processes after forbidding",
            "4 processes with every signal",
            "5 threads",
            "7 processes made by other means",
            "6 started programs: statically linked",
        ] {
            assert!(all.contains(words), "{words}: {all}");
        }
    }
}
