//! Every order of events of the lock with one read-modify-write, with the processor's store buffer.
//!
//! ```text
//! each thread   Take -> Inside -> Load -> Commit (store into the buffer) -> ... buffer -> memory, at any later time
//!                 \-> Mark -> Barrier(of each other thread, one after another) -> Compare -> Asleep -> Mark
//!                               \ from Commit back to Load; its buffer goes to memory
//! ```
//!
//! One step of one thread is one access of memory; all orders of steps are tried. Required: two threads are never inside, and a
//! next step is possible in every state until all threads have ended. Each planted fault must break that.

use std::collections::HashSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Take,
    Inside,
    Load,
    Commit,
    Swap,
    Wake,
    Mark,
    Barrier(u8),
    Compare,
    Asleep,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// The waiter sleeps once it has marked the word.
    NoBarrier,
    /// It calls membarrier, and marks the word then.
    BarrierFirst,
    /// A membarrier for memory alone: it does not restart sequences.
    NoRestart,
    /// Sequences restart, but their earlier stores stay in the buffer.
    NoFlush,
    /// A thread that has to take the lock again after its sleep does so without the mark.
    NoMarkAfterSleep,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Thread {
    at: At,
    left: u8,
    /// A store of 0 that no other thread sees yet.
    buffered: bool,
    has_slept: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    word: u8,
    threads: Vec<Thread>,
}

const FREE: u8 = 0;
const HELD: u8 = 1;
const AWAITED: u8 = 2;

impl State {
    fn flush(&mut self, which: usize) {
        if std::mem::take(&mut self.threads[which].buffered) {
            self.word = FREE;
        }
    }

    fn given_up(&mut self, which: usize) {
        let thread = &mut self.threads[which];
        thread.left -= 1;
        thread.has_slept = false;
        thread.at = if thread.left == 0 { At::End } else { At::Take };
    }

    /// The possible states after the next step of a thread.
    fn steps(&self, which: usize, fault: Fault) -> Vec<State> {
        let mut next = self.clone();
        let others = self.threads.len() as u8;
        // A read-modify-write empties the buffer first; so does entering the kernel.
        if !matches!(self.threads[which].at, At::Inside | At::Load | At::Commit | At::End | At::Asleep) {
            next.flush(which);
        }
        let word = next.word;
        let at = match self.threads[which].at {
            At::Take if word == FREE => {
                next.word = HELD;
                At::Inside
            }
            At::Take if fault == Fault::BarrierFirst => At::Barrier(0),
            At::Take => At::Mark,
            At::Inside => At::Load,
            At::Load => {
                if word == HELD {
                    At::Commit
                } else {
                    At::Swap
                }
            }
            At::Commit => {
                next.threads[which].buffered = true;
                next.given_up(which);
                return vec![next];
            }
            At::Swap => {
                next.word = FREE;
                At::Wake
            }
            At::Wake => {
                next.given_up(which);
                let sleepers = |one: &usize| self.threads[*one].at == At::Asleep;
                let woken: Vec<State> = (0..self.threads.len())
                    .filter(sleepers)
                    .map(|sleeper| {
                        let mut woken = next.clone();
                        woken.threads[sleeper].at = At::Mark;
                        woken.threads[sleeper].has_slept = true;
                        woken
                    })
                    .collect();
                return if woken.is_empty() { vec![next] } else { woken };
            }
            At::Mark => {
                let forgets = fault == Fault::NoMarkAfterSleep && self.threads[which].has_slept;
                next.word = if word == FREE && forgets { HELD } else { AWAITED };
                match word {
                    FREE => At::Inside,
                    HELD if !matches!(fault, Fault::NoBarrier | Fault::BarrierFirst) => At::Barrier(0),
                    _ => At::Compare,
                }
            }
            At::Barrier(other) => {
                if other as usize != which {
                    if fault != Fault::NoFlush {
                        next.flush(other as usize);
                    }
                    let other = &mut next.threads[other as usize];
                    if other.at == At::Commit && fault != Fault::NoRestart {
                        other.at = At::Load;
                    }
                }
                match fault {
                    _ if other + 1 < others => At::Barrier(other + 1),
                    Fault::BarrierFirst => At::Mark,
                    _ => At::Compare,
                }
            }
            At::Compare if word == AWAITED => At::Asleep,
            At::Compare => At::Mark,
            At::Asleep | At::End => return Vec::new(),
        };
        next.threads[which].at = at;
        vec![next]
    }
}

/// The fault, and the number of states.
fn explore(threads: usize, each: u8, fault: Fault) -> (Option<&'static str>, usize) {
    let thread = Thread { at: At::Take, left: each, buffered: false, has_slept: false };
    let first = State { word: FREE, threads: vec![thread; threads] };
    let (mut known, mut open) = (HashSet::from([first.clone()]), vec![first]);
    while let Some(state) = open.pop() {
        let holds = |thread: &&Thread| matches!(thread.at, At::Inside | At::Load | At::Commit | At::Swap);
        if state.threads.iter().filter(holds).count() > 1 {
            return (Some("two inside"), known.len());
        }
        let mut next: Vec<State> = (0..threads).flat_map(|which| state.steps(which, fault)).collect();
        for which in (0..threads).filter(|which| state.threads[*which].buffered) {
            let mut flushed = state.clone();
            flushed.flush(which);
            next.push(flushed);
        }
        if next.is_empty() && state.threads.iter().any(|thread| thread.at != At::End) {
            return (Some("asleep for ever"), known.len());
        }
        open.extend(next.into_iter().filter(|state| known.insert(state.clone())));
    }
    (None, known.len())
}

#[test]
fn nobody_sleeps_for_ever_and_one_is_inside() {
    for (threads, each) in [(2, 3), (3, 2)] {
        let (wrong, states) = explore(threads, each, Fault::None);
        assert_eq!(wrong, None, "{threads} threads");
        assert!(states > 300, "{states} states of {threads} threads: the model does not run");
    }
}

#[test]
fn each_planted_fault_is_found() {
    use Fault::{BarrierFirst, NoBarrier, NoFlush, NoMarkAfterSleep, NoRestart};
    for fault in [NoBarrier, BarrierFirst, NoRestart, NoFlush, NoMarkAfterSleep] {
        assert_eq!(explore(3, 2, fault).0, Some("asleep for ever"), "{fault:?}");
    }
}
