//! Which processes live, of numbers that a ledger has.
//!
//! ```text
//! a slot: namespace, number, started ─┬─ our namespace: kill(number, 0), and /proc/NUMBER/stat if it is of ours
//!                                     │    zombie              dead
//!                                     │    began after that    dead: the number was given again
//!                                     └─ another: the process in /proc whose innermost number and namespace these are
//! ```
//!
//! Invariant: where it cannot be told, it lives: the accounts of a living process are never thrown away.
//! Not here: the same question within the programs themselves, which ask the kernel by number only (`runtime::ledger::attach`).

use std::cell::OnceCell;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

use underbar_ledger::{Identity, LedgerView, SlotView};
use underbar_sys::syscall::{Errno, kill};

/// A tick of the kernel's times in /proc, in nanoseconds.
const TICK_NS: u64 = 10_000_000;

/// Is there a process of that number? One that has ended and that nobody has waited for is none.
#[must_use]
pub fn is_alive(process: u32) -> bool {
    i32::try_from(process).is_ok_and(|process| process > 0 && kill(process, 0) != Err(Errno::ESRCH))
        && !Stat::of(process).is_some_and(|stat| stat.has_ended())
}

/// Who judges the processes of a ledger, all at one moment.
#[derive(Default)]
pub struct Alive {
    /// See [`inner_processes`]; asked for once, as it reads a file or two for each process of the machine.
    inner: OnceCell<Vec<(u32, Option<u32>)>>,
}

impl Alive {
    /// Is the process of that slot alive?
    #[must_use]
    pub fn has(&self, slot: &SlotView<'_>) -> bool {
        let number = slot.process.number;
        let is_anothers = |stat: Stat| stat.is_anothers(number, slot.started_ns());
        self.has_process(slot.process)
            && (is_elsewhere(slot.process) || !Stat::of(number).is_some_and(is_anothers))
    }

    /// Is there a process of that identity, whenever it began?
    #[must_use]
    pub fn has_process(&self, process: Identity) -> bool {
        if is_elsewhere(process) { self.lives_elsewhere(process) } else { is_alive(process.number) }
    }

    /// May anybody of this ledger be taken for dead? From an inner namespace no process of an outer one is seen.
    #[must_use]
    pub fn may_judge(view: &LedgerView<'_>) -> bool {
        /// The number that the kernel gives the first namespace of all, of which every other is an inner one.
        const FIRST: u32 = 0xEFFF_FFFC;
        let own = own_namespace();
        own == FIRST && is_proc_ours() || own != 0 && view.slots().any(|slot| slot.process.namespace == own)
    }

    /// A process of another namespace. Whose namespace may not be asked may be meant.
    fn lives_elsewhere(&self, process: Identity) -> bool {
        self.inner.get_or_init(inner_processes).iter().any(|&(number, namespace)| {
            number == process.number && namespace.is_none_or(|namespace| namespace == process.namespace)
        })
    }
}

/// Has it a number of another namespace than ours?
fn is_elsewhere(process: Identity) -> bool {
    process.namespace != 0 && own_namespace() != 0 && process.namespace != own_namespace()
}

/// What the kernel says of a process.
struct Stat {
    state: char,
    /// When it began, in ticks since the machine was started.
    began: u64,
}

impl Stat {
    /// From `12 (a name) S 11 ...`, where the name may hold anything; the moment is the 22nd word. None where the kernel says
    /// nothing, or /proc speaks of another namespace than ours.
    fn of(process: u32) -> Option<Stat> {
        if !is_proc_ours() {
            return None;
        }
        let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let mut words = text.rsplit_once(')')?.1.split_ascii_whitespace();
        Some(Stat { state: words.next()?.chars().next()?, began: words.nth(18)?.parse().ok()? })
    }

    fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    /// Did it begin after the owner of a slot did? Then it has that one's number, and is another. A namespace of time has
    /// clocks of its own, of which nothing follows.
    fn is_anothers(&self, number: u32, slot_began_ns: u64) -> bool {
        let clock = |who: &str| fs::metadata(format!("/proc/{who}/ns/time")).map_or(0, |status| status.ino());
        self.began.saturating_mul(TICK_NS) > slot_began_ns && clock(&number.to_string()) == clock("self")
    }
}

/// The namespace of this process's number; 0 where it cannot be asked.
fn own_namespace() -> u32 {
    static OWN: OnceLock<u32> = OnceLock::new();
    *OWN.get_or_init(|| namespace_of("self").unwrap_or(0))
}

fn namespace_of(process: &str) -> Option<u32> {
    fs::metadata(format!("/proc/{process}/ns/pid")).ok().map(|status| status.ino() as u32)
}

/// Does /proc name processes as we do? In a new namespace it may still be the one of outside.
fn is_proc_ours() -> bool {
    static IS: OnceLock<bool> = OnceLock::new();
    *IS.get_or_init(|| numbers_of("self").is_some_and(|numbers| numbers.len() == 1))
}

/// The numbers of a process, from the namespace of /proc inwards.
fn numbers_of(process: &str) -> Option<Vec<u32>> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_ascii_whitespace().map(|number| number.parse().ok()).collect()
}

/// The living processes of inner namespaces: number, and namespace as far as it may be asked.
fn inner_processes() -> Vec<(u32, Option<u32>)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .filter_map(|name| {
            let numbers = numbers_of(&name).filter(|numbers| numbers.len() > 1)?;
            let text = fs::read_to_string(format!("/proc/{name}/stat")).ok()?;
            let has_ended = text.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']));
            (!has_ended).then(|| (numbers[numbers.len() - 1], namespace_of(&name)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process;

    #[test]
    fn an_ended_process_that_nobody_waited_for_is_not_alive() {
        let mut child =
            process::Command::new("true").stdout(process::Stdio::piped()).spawn().expect("a child");
        let number = child.id();
        assert!(is_alive(process::id()));
        while !Stat::of(number).is_some_and(|stat| stat.has_ended()) {
            std::thread::yield_now();
        }
        assert!(!is_alive(number));
        assert!(child.wait().expect("our child").success());
        assert!(!is_alive(number));
    }

    #[test]
    fn a_number_that_was_given_again_is_another_process() {
        let me = process::id();
        let stat = Stat::of(me).expect("this process");
        assert!(stat.began > 0 && !stat.has_ended());
        assert!(!stat.is_anothers(me, stat.began * TICK_NS));
        assert!(stat.is_anothers(me, stat.began * TICK_NS - 1), "it began after that");
    }

    #[test]
    fn who_has_a_namespace_of_its_own_is_looked_for_in_it() {
        let alive = Alive { inner: OnceCell::from(vec![(1, Some(7)), (2, None)]) };
        let check = |namespace, number| alive.lives_elsewhere(Identity { namespace, number });
        assert!(check(7, 1) && check(7, 2) && check(8, 2));
        assert!(!check(8, 1) && !check(7, 3));
        assert!(namespace_of("self").is_some_and(|namespace| namespace == own_namespace() && namespace != 0));
    }
}
