//! Whether the processes in a ledger's slots are alive.
//!
//! ```text
//! a slot: namespace, number, started ─┬─ our namespace: kill(number, 0), and /proc/NUMBER/stat if /proc is ours
//!                                     │    zombie              dead
//!                                     │    began after that    dead: the number was reused
//!                                     └─ another: the process in /proc with this innermost number and namespace
//! ```
//!
//! Invariant: a doubtful process counts as alive: the accounts of a living process are never removed.
//! Not here: the same question within the programs themselves, which ask the kernel by number only (`runtime::ledger::attach`).

use std::cell::OnceCell;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

use underbar_ledger::{Identity, LedgerView, SlotView};
use underbar_sys::syscall::{Errno, kill};

/// A tick of the kernel's times in /proc, in nanoseconds.
const TICK_NS: u64 = 10_000_000;

/// Whether there is a process of that number. A process that has ended and was not waited for does not count.
#[must_use]
pub fn is_alive(process: u32) -> bool {
    i32::try_from(process).is_ok_and(|process| process > 0 && kill(process, 0) != Err(Errno::ESRCH))
        && !Stat::of(process).is_some_and(|stat| stat.has_ended())
}

/// Judges the processes of a ledger, all at one moment.
#[derive(Default)]
pub struct Alive {
    /// See [`inner_processes`]; computed once, as it reads a file or two for each process of the machine.
    inner: OnceCell<Vec<Inner>>,
}

impl Alive {
    /// Whether the process of that slot is alive.
    #[must_use]
    pub fn has(&self, slot: &SlotView<'_>) -> bool {
        let number = slot.process.number;
        let is_anothers = |stat: Stat| stat.is_anothers(number, slot.started_ns());
        self.has_process(slot.process)
            && (is_elsewhere(slot.process) || !Stat::of(number).is_some_and(is_anothers))
    }

    /// The resident memory of the process of that slot in bytes, if the kernel tells it; None if the process is not alive. One read of the
    /// kernel's data answers both.
    #[must_use]
    pub fn resident(&self, slot: &SlotView<'_>) -> Option<Option<u64>> {
        const PAGE: u64 = 4096;
        let number = slot.process.number;
        let stat = if is_elsewhere(slot.process) { None } else { Stat::of(number) };
        match stat {
            Some(stat) if stat.has_ended() || stat.is_anothers(number, slot.started_ns()) => None,
            Some(stat) => Some(Some(stat.resident_pages.saturating_mul(PAGE)).filter(|bytes| *bytes > 0)),
            None => self.has(slot).then_some(None),
        }
    }

    /// The anonymous part of that memory, as the kernel counts it; None if it does not tell.
    #[must_use]
    pub fn anonymous(&self, slot: &SlotView<'_>) -> Option<u64> {
        if is_elsewhere(slot.process) || !is_proc_ours() {
            return None;
        }
        anonymous_in(&fs::read_to_string(format!("/proc/{}/status", slot.process.number)).ok()?)
    }

    /// Whether there is a process of that identity, whenever it began.
    #[must_use]
    pub fn has_process(&self, process: Identity) -> bool {
        if is_elsewhere(process) { self.lives_elsewhere(process) } else { is_alive(process.number) }
    }

    /// Whether any process of this ledger may be counted as dead. An inner namespace does not see the processes of an outer one.
    #[must_use]
    pub fn may_judge(view: &LedgerView<'_>) -> bool {
        /// The kernel's number for the initial namespace, which contains all others.
        const FIRST: u32 = 0xEFFF_FFFC;
        let own = own_namespace();
        own == FIRST && is_proc_ours() || own != 0 && view.slots().any(|slot| slot.process.namespace == own)
    }

    /// The number that the process of a slot has in our namespace, if it is alive and /proc shows it. The first of several processes that
    /// may be it, since their namespaces cannot be read.
    #[must_use]
    pub fn number_here(&self, slot: &SlotView<'_>) -> Option<u32> {
        if !self.has(slot) {
            return None;
        }
        if !is_elsewhere(slot.process) {
            return Some(slot.process.number);
        }
        self.elsewhere(slot.process).map(|inner| inner.outer)
    }

    /// A process of another namespace. A process whose namespace cannot be read may be the one.
    fn lives_elsewhere(&self, process: Identity) -> bool {
        self.elsewhere(process).is_some()
    }

    fn elsewhere(&self, process: Identity) -> Option<&Inner> {
        self.inner.get_or_init(inner_processes).iter().find(|inner| {
            inner.number == process.number
                && inner.namespace.is_none_or(|namespace| namespace == process.namespace)
        })
    }
}

/// A living process of an inner namespace.
struct Inner {
    /// Its number in our namespace.
    outer: u32,
    /// Its number in its own.
    number: u32,
    /// Its namespace; None: it may not be asked.
    namespace: Option<u32>,
}

/// Whether it has a number in another namespace than ours.
pub(crate) fn is_elsewhere(process: Identity) -> bool {
    process.namespace != 0 && own_namespace() != 0 && process.namespace != own_namespace()
}

/// The kernel's data about a process.
pub(crate) struct Stat {
    state: char,
    /// Its start, in ticks since the machine was started.
    began: u64,
    /// Threads.
    pub(crate) threads: u64,
    /// Resident pages.
    pub(crate) resident_pages: u64,
}

impl Stat {
    /// None if the kernel gives nothing, or /proc is that of another namespace than ours.
    fn of(process: u32) -> Option<Stat> {
        if !is_proc_ours() {
            return None;
        }
        Stat::read(&fs::read(format!("/proc/{process}/stat")).ok()?)
    }

    /// From `12 (a name) S 11 ...`, where the name may hold anything; the start is the 22nd word.
    pub(crate) fn read(text: &[u8]) -> Option<Stat> {
        let behind_name = &text[text.iter().rposition(|&byte| byte == b')')? + 1..];
        let mut words = str::from_utf8(behind_name).ok()?.split_ascii_whitespace();
        let state = words.next()?.chars().next()?;
        let threads = words.nth(16)?.parse().ok()?;
        let began = words.nth(1)?.parse().ok()?;
        let resident_pages = words.nth(1)?.parse().ok()?;
        Some(Stat { state, began, threads, resident_pages })
    }

    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    /// Whether it began after the owner of a slot did. Then it is another process with the same number. A time namespace has
    /// its own clocks, so no conclusion is possible there.
    pub(crate) fn is_anothers(&self, number: u32, slot_began_ns: u64) -> bool {
        let clock = |who: &str| fs::metadata(format!("/proc/{who}/ns/time")).map_or(0, |status| status.ino());
        self.began.saturating_mul(TICK_NS) > slot_began_ns && clock(&number.to_string()) == clock("self")
    }
}

/// From the line `RssAnon:     1234 kB` of the kernel's text about a process.
fn anonymous_in(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes.saturating_mul(1024))
}

/// The namespace of this process's number; 0 if it cannot be read.
pub(crate) fn own_namespace() -> u32 {
    static OWN: OnceLock<u32> = OnceLock::new();
    *OWN.get_or_init(|| namespace_of("self").unwrap_or(0))
}

fn namespace_of(process: &str) -> Option<u32> {
    fs::metadata(format!("/proc/{process}/ns/pid")).ok().map(|status| status.ino() as u32)
}

/// Whether /proc uses the process numbers of our namespace. In a new namespace it may still be the outer one.
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

/// The living processes of inner namespaces.
fn inner_processes() -> Vec<Inner> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .filter_map(|name| {
            let numbers = numbers_of(&name).filter(|numbers| numbers.len() > 1)?;
            let text = fs::read_to_string(format!("/proc/{name}/stat")).ok()?;
            let has_ended = text.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']));
            (!has_ended).then(|| Inner {
                outer: numbers[0],
                number: numbers[numbers.len() - 1],
                namespace: namespace_of(&name),
            })
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
        assert!(stat.resident_pages > 100, "pages of this process: {}", stat.resident_pages);
        assert!(!stat.is_anothers(me, stat.began * TICK_NS));
        assert!(stat.is_anothers(me, stat.began * TICK_NS - 1), "it began after that");
    }

    #[test]
    fn anonymous_memory_is_read_from_the_kernels_text() {
        assert_eq!(
            anonymous_in("VmRSS:\t    2000 kB\nRssAnon:\t     512 kB\nRssFile:\t 1488 kB\n"),
            Some(512 << 10)
        );
        for text in ["", "RssAnon:", "RssAnon: 5", "RssAnon: x kB", "RssAnon: 99999999999999999999 kB"] {
            assert_eq!(anonymous_in(text), None, "{text}");
        }
        let own = fs::read_to_string("/proc/self/status").expect("/proc");
        assert!(anonymous_in(&own).is_some_and(|bytes| bytes > 4096));
    }

    #[test]
    fn who_has_a_namespace_of_its_own_is_looked_for_in_it() {
        let inner = |outer, number, namespace| Inner { outer, number, namespace };
        let alive = Alive { inner: OnceCell::from(vec![inner(91, 1, Some(7)), inner(92, 2, None)]) };
        let check = |namespace, number| alive.lives_elsewhere(Identity { namespace, number });
        assert!(check(7, 1) && check(7, 2) && check(8, 2));
        assert!(!check(8, 1) && !check(7, 3));
        let here = alive.elsewhere(Identity { namespace: 7, number: 1 }).map(|inner| inner.outer);
        assert_eq!(here, Some(91));
        assert!(namespace_of("self").is_some_and(|namespace| namespace == own_namespace() && namespace != 0));
    }
}
