//! Step timings in words and units.

use crate::model::{End, Report, State};
use crate::steps::Steps;
use crate::units::{bytes, count, counted, nanoseconds};

/// How the program ended: `exit 3`, `killed by signal 9 (SIGKILL)`.
#[must_use]
pub fn end(end: Option<End>) -> String {
    match end {
        None => "end not seen".to_owned(),
        Some(End::Exit(status)) => format!("exit {status}"),
        Some(End::Signal(signal)) => match signal_name(signal) {
            Some(name) => format!("killed by signal {signal} ({name})"),
            None => format!("killed by signal {signal}"),
        },
    }
}

/// How the program of a run ended. A ledger that nobody attended knows whether it did, and no status.
#[must_use]
pub fn end_of(report: &Report) -> String {
    if report.run.end.is_some() {
        return end(report.run.end);
    }
    // One process may have been several programs, one after the other.
    let of_run = report.processes.iter().filter(|process| process.process == report.run.process);
    match of_run.max_by_key(|process| process.started_ns).map(|process| process.state) {
        Some(State::Running) => "still running".to_owned(),
        Some(State::Ended) => "ended, exit status not recorded".to_owned(),
        Some(State::Killed) => "killed".to_owned(),
        Some(State::Folded) | None => end(None),
    }
}

/// Linux numbers of the signals that end programs; the same on all supported processors.
fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return None,
    })
}

/// Time and storage: `1.45 s elapsed, CPU 1.32 s (user 1.20 s, system 120 ms), peak 812 MiB resident`.
#[must_use]
pub fn time(steps: &Steps) -> String {
    format!(
        "{} elapsed, CPU {} (user {}, system {}), peak {} resident",
        nanoseconds(steps.elapsed_ns),
        nanoseconds(steps.cpu_ns()),
        nanoseconds(steps.user_ns),
        nanoseconds(steps.system_ns),
        bytes(steps.peak_resident_bytes),
    )
}

/// Entries to the kernel: `21,344 page faults (none read), 1,022 waits, 12 preemptions, 5 reads, 7 writes`.
#[must_use]
pub fn kernel(steps: &Steps) -> String {
    let faults = steps.minor_faults.saturating_add(steps.major_faults);
    let read = if steps.major_faults == 0 { "none".to_owned() } else { count(steps.major_faults) };
    let mut text = format!(
        "{} ({read} with I/O), {}, {}",
        counted(faults, "page fault", "page faults"),
        counted(steps.voluntary_switches, "wait", "waits"),
        counted(steps.involuntary_switches, "preemption", "preemptions"),
    );
    for (calls, one, many) in [(steps.read_calls, "read", "reads"), (steps.write_calls, "write", "writes")] {
        if let Some(calls) = calls {
            text.push_str(", ");
            text.push_str(&counted(calls, one, many));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_have_words() {
        assert_eq!(end(Some(End::Exit(3))), "exit 3");
        assert_eq!(end(Some(End::Signal(9))), "killed by signal 9 (SIGKILL)");
        assert_eq!(end(Some(End::Signal(40))), "killed by signal 40");
        assert_eq!(end(None), "end not seen");
    }

    #[test]
    fn a_ledger_without_a_parent_knows_whether_the_program_ended() {
        let mut report = crate::sample::getfree();
        assert_eq!(end_of(&report), "exit 0");
        report.run.end = None;
        report.run.process = report.processes[0].process;
        for (state, words) in [
            (State::Running, "still running"),
            (State::Ended, "ended, exit status not recorded"),
            (State::Killed, "killed"),
            (State::Folded, "end not seen"),
        ] {
            report.processes[0].state = state;
            assert_eq!(end_of(&report), words);
        }
        report.run.process += 1;
        assert_eq!(end_of(&report), "end not seen");
    }

    #[test]
    fn steps_have_words_and_units() {
        let steps = Steps {
            elapsed_ns: 1_450_000_000,
            user_ns: 1_200_000_000,
            system_ns: 120_000_000,
            peak_resident_bytes: 812 << 20,
            minor_faults: 21_344,
            major_faults: 0,
            voluntary_switches: 1_022,
            involuntary_switches: 1,
            read_calls: Some(5),
            write_calls: None,
            read_bytes: None,
            written_bytes: None,
            kernel_entries: None,
        };
        assert_eq!(
            time(&steps),
            "1.45 s elapsed, CPU 1.32 s (user 1.20 s, system 120 ms), peak 812 MiB resident"
        );
        assert_eq!(kernel(&steps), "21,344 page faults (none with I/O), 1,022 waits, 1 preemption, 5 reads");
        assert!(kernel(&Steps { major_faults: 2, ..steps }).starts_with("21,346 page faults (2 with I/O)"));
    }
}
