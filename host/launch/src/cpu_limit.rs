//! The one watchdog of MT: looks at the CPU time of all program starts of a run, and sends signals to those beyond their limit.
//!
//! ```text
//! ledger: processes, their limit, LINKed programs by thread ─┐
//! kernel: CPU time of each process, of each such thread     ─┴─ look, five times a second ──> beyond the limit: SIGXCPU
//!                                                                                            a tenth further:  SIGKILL
//! ```
//!
//! A start is a process, from when it is first seen, or a program that it LINKs. While programs are LINKed, or come and go between two
//! looks, a process's time is not its own: it is not counted for the process, so that a driver of many programs is not limited by their sum.
//!
//! Invariant: no start gets a signal before it has used its limit; it gets it at the second look after that at the latest.
//! Known limits: processes of another PID namespace, and programs that are not followed, are not limited. Nor is a process that underbar
//! outlives only because it was killed itself.
//! Not here: what a process tells of its starts (`runtime::cpu_limit`).

use std::collections::HashMap;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

use underbar_ledger::{Key, LedgerView, SlotState, SlotView};
use underbar_shown::Shown;
use underbar_sys::process::signal_thread;
use underbar_sys::signal::name;
use underbar_sys::syscall::{clock_nanoseconds, kill};

use crate::alive::is_elsewhere;
use crate::{Alive, LedgerFile};

const SECOND: u64 = 1_000_000_000;
/// Looks are at least so far apart.
const PAUSE: Duration = Duration::from_millis(150);

/// A start that used more than its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expired {
    /// The process.
    pub process: u32,
    /// The name of its program.
    pub program: String,
    /// The limit, in seconds.
    pub seconds: u64,
    /// The thread, if the start is a program that it LINKed.
    pub thread: Option<u32>,
    /// It went on after SIGXCPU, and was sent SIGKILL.
    pub is_killed: bool,
}

impl std::fmt::Display for Expired {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Expired { process, program, seconds, .. } = self;
        write!(f, "MT({seconds}): process {process} ({program}) has used ")?;
        match self.thread {
            Some(thread) => write!(f, "{seconds} s of CPU time in a program that thread {thread} LINKed")?,
            None => write!(f, "{seconds} s of CPU time since its start")?,
        }
        let end =
            if self.is_killed { ", went on after SIGXCPU, and gets SIGKILL" } else { ", and gets SIGXCPU" };
        f.write_str(end)
    }
}

/// Watches over the processes of one ledger.
pub struct CpuWatch<'a> {
    ledger: &'a LedgerFile,
    processes: HashMap<(u32, u64), Process>,
    last: Option<Instant>,
}

impl<'a> CpuWatch<'a> {
    /// Watches from now on. Before the first process begins.
    ///
    /// # Errors
    /// Those of writing to the ledger: then nobody watches.
    pub fn of(ledger: &'a LedgerFile) -> io::Result<CpuWatch<'a>> {
        ledger.is_watched()?;
        Ok(CpuWatch { ledger, processes: HashMap::new(), last: None })
    }

    /// Looks at all processes, unless it did a moment ago; sends signals, and returns who got them.
    pub fn look(&mut self) -> Vec<Expired> {
        if self.last.is_some_and(|last| last.elapsed() < PAUSE) {
            return Vec::new();
        }
        self.last = Some(Instant::now());
        let bytes = self.ledger.read().unwrap_or_default();
        let Ok(view) = LedgerView::new(&bytes) else { return Vec::new() };
        let alive = Alive::default();
        let mut expired = Vec::new();
        for slot in view.slots().filter(|slot| slot.state == SlotState::Live) {
            let seconds = slot.get(Key::CpuLimit);
            if seconds == 0 || is_elsewhere(slot.process) || !alive.has(&slot) {
                continue;
            }
            let number = slot.process.number;
            let process = self.processes.entry((number, slot.started_ns())).or_default();
            let Some(reading) = reading(&slot) else { continue };
            for (thread, is_killed) in process.charge(&reading, seconds.saturating_mul(SECOND)) {
                let signal = if is_killed { name::KILL } else { name::XCPU };
                let _ = match thread {
                    Some(thread) if !is_killed => signal_thread(number, thread, signal),
                    _ => kill(number.cast_signed(), signal),
                };
                let program = String::from_utf8_lossy(slot.program()).into_owned();
                let program = program.rsplit('/').next().unwrap_or_default().shown().to_string();
                expired.push(Expired { process: number, program, seconds, thread, is_killed });
            }
        }
        expired
    }
}

/// CPU time of a process and of its threads with LINKed programs.
#[derive(Clone, Debug, Default)]
struct Reading {
    used: u64,
    /// How many starts there were.
    starts: u64,
    /// Thread, number of the start, CPU time of the thread.
    linked: Vec<(u32, u32, u64)>,
}

fn reading(slot: &SlotView<'_>) -> Option<Reading> {
    let process = slot.process.number;
    let linked =
        slot.starts().filter_map(|(thread, start)| Some((thread, start, of_thread(process, thread)?)));
    Some(Reading {
        used: of_process(process)?,
        starts: slot.get(Key::CpuLimitStarts),
        linked: linked.collect(),
    })
}

/// CPU time of a process, by the clock that the kernel has for each.
fn of_process(process: u32) -> Option<u64> {
    const SCHEDULER: i32 = 2;
    let clock = !process.cast_signed() << 3 | SCHEDULER;
    Some(clock_nanoseconds(clock.cast_unsigned())).filter(|&used| used > 0)
}

fn of_thread(process: u32, thread: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/schedstat")).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

/// What a start has used.
#[derive(Clone, Copy, Debug, Default)]
struct Start {
    used: u64,
    was_told: bool,
}

impl Start {
    /// Adds time. Some: it is to be told, or (true) to be killed.
    fn add(&mut self, used: u64, limit: u64) -> Option<bool> {
        self.used += used;
        let grace = (limit / 10).max(SECOND);
        if self.was_told && self.used >= limit.saturating_add(grace) {
            // Once more only if it survives that, too.
            self.used = limit;
            return Some(true);
        }
        if !self.was_told && self.used >= limit {
            self.was_told = true;
            return Some(false);
        }
        None
    }
}

/// The starts of a process, as of the last look.
#[derive(Debug, Default)]
struct Process {
    last: Option<Reading>,
    own: Start,
    linked: Vec<(u32, u32, Start)>,
}

impl Process {
    /// Charges what was used since the last look. Returns the starts beyond their limit: of which thread (None: the process), and whether
    /// it is to be killed.
    fn charge(&mut self, now: &Reading, limit: u64) -> Vec<(Option<u32>, bool)> {
        let Some(last) = self.last.replace(now.clone()) else { return Vec::new() };
        let mut beyond = Vec::new();
        let mut of_linked = 0;
        let mut starts = Vec::new();
        for &(thread, start, used) in &now.linked {
            let is_it = |&(its, number): &(u32, u32)| (its, number) == (thread, start);
            let before = last.linked.iter().find(|&&(its, number, _)| is_it(&(its, number)));
            let mut one = Start::default();
            if let Some(&(.., before)) = before {
                let more = used.saturating_sub(before);
                of_linked += more;
                let known = self.linked.iter().find(|&&(its, number, _)| is_it(&(its, number)));
                one = known.map_or(one, |known| known.2);
                beyond.extend(one.add(more, limit).map(|is_killed| (Some(thread), is_killed)));
            }
            starts.push((thread, start, one));
        }
        self.linked = starts;
        // Programs that came and went between the looks have used some of it.
        if now.starts == last.starts {
            let own = now.used.saturating_sub(last.used).saturating_sub(of_linked);
            beyond.extend(self.own.add(own, limit).map(|is_killed| (None, is_killed)));
        }
        beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(used: u64, starts: u64, linked: &[(u32, u32, u64)]) -> Reading {
        let linked = linked.iter().map(|&(thread, start, used)| (thread, start, used * SECOND)).collect();
        Reading { used: used * SECOND, starts, linked }
    }

    #[test]
    fn a_process_is_told_at_its_limit_and_killed_a_tenth_later() {
        let mut process = Process::default();
        let limit = 60 * SECOND;
        // What it had used when it was first seen may be another program's.
        assert_eq!(process.charge(&at(100, 1, &[]), limit), []);
        assert_eq!(process.charge(&at(159, 1, &[]), limit), []);
        assert_eq!(process.charge(&at(160, 1, &[]), limit), [(None, false)]);
        assert_eq!(process.charge(&at(165, 1, &[]), limit), []);
        assert_eq!(process.charge(&at(166, 1, &[]), limit), [(None, true)]);
    }

    #[test]
    fn a_linked_program_has_a_limit_of_its_own_and_its_time_is_not_the_process_s() {
        let mut process = Process::default();
        let limit = 10 * SECOND;
        assert_eq!(process.charge(&at(1, 1, &[]), limit), []);
        assert_eq!(process.charge(&at(2, 2, &[(7, 1, 2)]), limit), []);
        assert_eq!(process.charge(&at(11, 2, &[(7, 1, 11)]), limit), []);
        assert_eq!(process.charge(&at(12, 2, &[(7, 1, 12)]), limit), [(Some(7), false)]);
        // The next one begins anew, on the same thread.
        assert_eq!(process.charge(&at(13, 3, &[(7, 2, 13)]), limit), []);
        assert_eq!(process.charge(&at(22, 3, &[(7, 2, 22)]), limit), []);
        assert_eq!(process.charge(&at(23, 3, &[(7, 2, 23)]), limit), [(Some(7), false)]);
        // The process itself has used nothing.
        assert_eq!(process.own.used, 0);
    }

    #[test]
    fn a_driver_of_many_programs_is_not_limited_by_their_sum() {
        let mut process = Process::default();
        for look in 0..1_000 {
            assert_eq!(process.charge(&at(look, 1 + look * 100, &[]), 10 * SECOND), []);
        }
        // When it starts no more of them, it is.
        assert_eq!(process.charge(&at(1_010, 99_901, &[]), 10 * SECOND), [(None, false)]);
    }

    #[test]
    fn the_kernel_tells_the_time_of_processes_and_threads() {
        let me = std::process::id();
        let before = of_process(me).expect("a clock");
        while of_process(me).expect("a clock") < before + 2_000_000 {}
        assert!(of_thread(me, me).is_some());
        assert_eq!(of_thread(me, 0), None);
    }
}
