//! The ledger file as the runtime maps it: header and slots.
//!
//! Every field that two processes touch is an atomic, so a shared reference to the mapping is enough. The directory is separate
//! from the slots so that a search for a free one touches one page, not one page for each slot.
//!
//! ```text
//! directory entry:  Free -> Claimed -> Live -> Ended -> Folding -> Free
//!                                        \        \--> Aggregate (ended processes of one program)
//!                                         \-- killed: found dead by a later claim or by the host
//! ```
//!
//! Invariant: a slot's contents belong to the process that its directory entry names while that entry is Claimed or Live, and
//! after that to the process that made it Folding.
//!
//! Not here: where the areas of the file begin (`offsets`), faults (`fault`), and the control page ([`crate::control`]); who may claim
//! and fold, and when (`runtime::ledger`).

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

pub use crate::fault::{Fault, FaultKind, OfEcb};
pub use crate::offsets::*;
use crate::sizes;
use crate::table::{COUNTERS, FINGERPRINT, FOLDS, Key, LAYOUT_VERSION};
use crate::text::Text;

/// The first eight bytes of every ledger.
pub const MAGIC: u64 = u64::from_le_bytes(*b"UNDERBAR");
/// How many owners of other anonymous memory a slot can name.
pub const OWNERS: usize = 16;

/// Header: the first page.
#[repr(C, align(4096))]
pub struct Header {
    /// [`MAGIC`]; written last by the maker, with Release, so a reader that sees it sees the rest.
    pub magic: AtomicU64,
    /// [`LAYOUT_VERSION`].
    pub layout_version: AtomicU32,
    /// Process that made the ledger: the command, or a program started with a bare preload.
    pub maker: AtomicU32,
    /// [`FINGERPRINT`] of the maker.
    pub fingerprint: AtomicU64,
    /// When it was made: nanoseconds of CLOCK_BOOTTIME.
    pub made_ns: AtomicU64,
    /// Length of the option text before it was cut to [`OPTIONS_ROOM`].
    pub options_bytes: AtomicU64,
    /// Processes that found no slot. Any process adds; relaxed.
    pub unrecorded: AtomicU64,
    /// [`Identity::packed`] of the process that folds ended slots now, or 0. Taken by compare-and-swap
    /// (Acquire), given up with Release; a holder that died is replaced by one that can see that.
    pub folder: AtomicU64,
    /// 1 if the file is to outlive the processes that wrote it (`--exec`, MSGFILE), [`LEFT`] if the run has ended before some of
    /// its processes.
    pub keep: AtomicU32,
    /// Children that were to be forked and have not come to the ledger yet. Parents add before they fork, children subtract after
    /// they have looked for a slot; relaxed. A failed fork stays in the count: it tells when to look closer, not how many there
    /// are.
    pub on_their_way: AtomicU32,
    /// State and process of each slot.
    pub directory: Directory,
    /// When the host first found that no process of a [`LEFT`] file is alive: nanoseconds of CLOCK_BOOTTIME.
    pub found_dead_ns: AtomicU64,
    /// Lock areas that were made next to the ledger ([`crate::locks`]). Any process adds; relaxed.
    pub lock_areas: AtomicU32,
    /// The maker's namespace of process numbers, if the maker holds the file's lock (`process_lock` of sys) while its programs
    /// run; else 0. A process that is told the number `maker` for the lock's holder is in this namespace, too.
    pub maker_namespace: AtomicU32,
}

/// [`Header::keep`] of a file that a run has left for its surviving processes.
pub const LEFT: u32 = 2;

/// State and process of every slot, one word each.
///
/// ```text
/// bit 63    56 55                 32 31                             0
///     state    number of a process   its namespace of process numbers
/// ```
#[repr(C)]
pub struct Directory(pub [AtomicU64; SLOTS]);

/// A process. Numbers have a meaning only within a namespace, and containers have namespaces of their own.
///
/// Numbers are reused, so an outside observer also compares the start times of the slot's owner and of the process that has that
/// number now ([`Slot::started_ns`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The kernel's number of the namespace; 0 if it could not be read, as in a root without /proc.
    pub namespace: u32,
    /// The process, as processes of that namespace see it.
    pub number: u32,
}

impl Identity {
    /// Bits of a process number in a word: the kernel gives none above 2^22.
    const NUMBER: u32 = (1 << 24) - 1;

    /// In one word, with nothing in its upper eight bits.
    #[must_use]
    pub const fn packed(self) -> u64 {
        ((self.number & Self::NUMBER) as u64) << 32 | self.namespace as u64
    }

    /// Unpacks a word of [`Identity::packed`]; ignores the upper eight bits.
    #[must_use]
    pub const fn unpacked(word: u64) -> Self {
        Self { namespace: word as u32, number: (word >> 32) as u32 & Self::NUMBER }
    }

    /// Can a process with this identity ask the kernel about `other` by its number? If either namespace is unknown, a number that
    /// is unused here may be in use there.
    #[must_use]
    pub const fn sees(self, other: Self) -> bool {
        self.namespace != 0 && self.namespace == other.namespace
    }
}

/// The state of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SlotState {
    /// Free. Zero, so that a new file is all free.
    Free = 0,
    /// Being set up by the process in its directory word.
    Claimed = 1,
    /// Written by the process in its directory word.
    Live = 2,
    /// Its process has ended, or has continued as another program, and settled its counts first.
    Ended = 3,
    /// Being added to an aggregate, or wiped.
    Folding = 4,
    /// Sum over ended processes of one program.
    Aggregate = 5,
}

impl SlotState {
    /// The state with that number; noise reads as None.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::Free),
            1 => Some(Self::Claimed),
            2 => Some(Self::Live),
            3 => Some(Self::Ended),
            4 => Some(Self::Folding),
            5 => Some(Self::Aggregate),
            _ => None,
        }
    }
}

impl Directory {
    /// Packs a state and a process into a directory word.
    #[must_use]
    pub const fn word(state: SlotState, process: Identity) -> u64 {
        (state as u64) << 56 | process.packed()
    }

    /// State and process of a directory word. None if it is noise.
    #[must_use]
    pub const fn entry(word: u64) -> Option<(SlotState, Identity)> {
        match SlotState::from_number((word >> 56) as u32) {
            Some(state) => Some((state, Identity::unpacked(word))),
            None => None,
        }
    }

    /// State and process of a slot. None if the word is noise.
    #[must_use]
    pub fn get(&self, slot: usize) -> Option<(SlotState, Identity)> {
        Self::entry(self.0.get(slot)?.load(Ordering::Acquire))
    }

    /// Changes a slot from one state to another; true if it was in the first. AcqRel: whoever
    /// takes a slot over sees what its last owner wrote.
    #[must_use]
    pub fn change(&self, slot: usize, from: (SlotState, Identity), to: (SlotState, Identity)) -> bool {
        self.0[slot]
            .compare_exchange(
                Self::word(from.0, from.1),
                Self::word(to.0, to.1),
                Ordering::AcqRel,
                Ordering::Relaxed,
            )
            .is_ok()
    }
}

/// A library or program that mapped anonymous memory outside this heap.
#[repr(C)]
pub struct Owner {
    /// File name of the library, or whatever is known of it.
    pub name: Text<4>,
    /// Resident bytes, by the look that saw the most memory.
    pub bytes: AtomicU64,
    /// The most that any look saw.
    pub peak: AtomicU64,
}

/// The role of another allocator in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum AllocatorRole {
    /// The program contains it, and would use it without underbar, whose heap serves instead.
    Replaced = 1,
    /// It serves malloc, since the loader finds it before underbar's.
    Serves = 2,
}

impl AllocatorRole {
    /// The role with that number; 0 and noise read as None.
    #[must_use]
    pub const fn from_number(number: u64) -> Option<Self> {
        match number {
            1 => Some(Self::Replaced),
            2 => Some(Self::Serves),
            _ => None,
        }
    }
}

/// LINKed programs of a process whose CPU time is watched at a time. Further ones are counted, and not limited.
pub const STARTS: usize = 16;

/// The end time of a process that can no longer ask for the time, since it has restricted its system calls.
pub const ENDED_UNTIMED: u64 = 1;

/// One process.
#[repr(C, align(4096))]
pub struct Slot {
    /// Parent process.
    pub parent: AtomicU32,
    /// How many processes are folded in here; 1 for a single process.
    pub processes: AtomicU32,
    /// When the program started: nanoseconds of CLOCK_BOOTTIME.
    pub started_ns: AtomicU64,
    /// When it ended; 0 while it runs, and after a SIGKILL; [`ENDED_UNTIMED`] if it could not ask for the time.
    pub ended_ns: AtomicU64,
    /// Number of option diagnostics that the runtime met.
    pub option_errors: AtomicU64,
    /// Path of the program's file; if it is too long, its last parts, without a slash before them.
    pub program: Text<32>,
    /// A number for the whole path, which distinguishes programs with long paths.
    pub program_number: AtomicU64,
    /// The name by which it was started, if that is another name of the same file.
    pub started_as: Text<32>,
    /// Its arguments, separated by zero bytes, cut.
    pub arguments: Text<32>,
    /// The counters, in the order of the table. Only the owning process writes; relaxed.
    pub counters: [AtomicU64; COUNTERS],
    /// Requests by size, in the order of [`sizes::TABLE`]. Only the owning process writes; relaxed.
    pub sizes: [AtomicU64; sizes::ROWS],
    /// Owners of other anonymous memory. Only the owning process writes; relaxed.
    pub owners: [Owner; OWNERS],
    /// [`AllocatorRole`] of another allocator as a number, 0 if there is none. Only the owning process writes, at its start;
    /// relaxed.
    pub allocator_role: AtomicU64,
    /// File name of that allocator's library, or whatever is known of it. Written with the role.
    pub allocator: Text<4>,
    /// Why the runtime ended the process, if it did. Only the owning process writes.
    pub fault: Fault,
    /// How many heaps the process created besides its default one; 0: the page of its heaps was never made. Incremented with
    /// Release when the heap's row is set up; only the owning process writes.
    pub heaps: AtomicU64,
    /// 1 and the number of heap pools that have a row; 0: their pages were never made. Stored with Release when the rows are set up;
    /// only the owning process writes.
    pub pools: AtomicU64,
    /// How many classes of ECBs the process has made that have a page, as all before them; 0: none. Stored with Release when the page
    /// is set up; only the owning process writes, under a lock.
    pub classes: AtomicU64,
    /// 1: there are rows of ECBs by name-value pairs; 0: their pages were never made. Stored with Release when they are set up; only the
    /// owning process writes.
    pub pairs: AtomicU64,
    /// 1: the process has trace tables of ECBs ([`crate::traces`]); 0: their pages were never made. Stored with Release when they are
    /// mapped; only the owning process writes.
    pub traces: AtomicU64,
    /// 1: the process counts switches ([`crate::switches`]); 0: their pages were never made. Stored with Release when they are set up; only
    /// the owning process writes.
    pub switches: AtomicU64,
    /// 1: the process has caches of files ([`crate::caches`]); 0: their pages were never made. Stored with Release when they are set up;
    /// only the owning process writes.
    pub caches: AtomicU64,
    /// Programs that are LINKed and have a limit of CPU time (MT): the number of the LINKing thread in the upper half, that of the start in
    /// the lower; 0: free. Set and cleared by that thread, relaxed: the host compares a word only with itself, from look to look.
    pub starts: [AtomicU64; STARTS],
    /// The heading that the program gave to its storage report (CEE3RPH), of at most 79 bytes; empty: none. Only the owning process
    /// writes, under a lock.
    pub heading: Text<10>,
}

/// A figure as the reader shows it. A cell that one thread freed and another has not counted yet takes a sum below zero for a
/// moment, or for ever if the process is killed then. No counter reaches the upper half of the range.
#[must_use]
pub const fn not_below_zero(figure: u64) -> u64 {
    if (figure as i64) < 0 { 0 } else { figure }
}

const _: () = assert!(size_of::<Header>() <= CONTROL_OFFSET);
const _: () = assert!(crate::control::WORDS * 8 == OPTIONS_OFFSET - CONTROL_OFFSET);
const _: () = assert!(size_of::<Slot>() == crate::heaps::PAGE_OFFSET);

impl Slot {
    /// A counter's cell.
    #[must_use]
    #[inline(always)]
    pub fn cell(&self, key: Key) -> &AtomicU64 {
        &self.counters[key as usize]
    }

    /// Do both slots run the same program, by the same name?
    #[must_use]
    pub fn is_of_the_program_of(&self, other: &Slot) -> bool {
        let number = |slot: &Slot| slot.program_number.load(Ordering::Relaxed);
        number(self) == number(other)
            && self.program.same(&other.program)
            && self.started_as.same(&other.started_as)
    }

    /// Adds another slot's figures to this one, each by its fold rule. Only the folding process calls this.
    pub fn fold(&self, other: &Slot) {
        let relaxed = Ordering::Relaxed;
        let looked = |slot: &Slot| slot.cell(Key::CoverageAnonymous).load(relaxed);
        let has_more = looked(other) > looked(self);
        for (fold, (mine, theirs)) in FOLDS.iter().zip(self.counters.iter().zip(&other.counters)) {
            let figure = |cell: &AtomicU64| not_below_zero(cell.load(relaxed));
            mine.store(fold.apply(figure(mine), figure(theirs)), relaxed);
        }
        add_each(&self.sizes, &other.sizes);
        // Parts and whole come from one look: that of the process with the most memory.
        if has_more {
            let heap = other.cell(Key::CoverageHeap).load(relaxed);
            self.cell(Key::CoverageHeap).store(heap, relaxed);
            for (mine, theirs) in self.owners.iter().zip(&other.owners) {
                for (to, from) in mine.name.0.iter().zip(&theirs.name.0) {
                    to.store(from.load(relaxed), relaxed);
                }
                mine.bytes.store(theirs.bytes.load(relaxed), relaxed);
                mine.peak.store(theirs.peak.load(relaxed), relaxed);
            }
        }
        self.fault.fold(&other.fault);
        let processes = other.processes.load(relaxed).max(1);
        self.processes.store(self.processes.load(relaxed).saturating_add(processes), relaxed);
        self.option_errors.store(
            self.option_errors.load(relaxed).saturating_add(other.option_errors.load(relaxed)),
            relaxed,
        );
        self.ended_ns.store(self.ended_ns.load(relaxed).max(other.ended_ns.load(relaxed)), relaxed);
        if self.heading.is_empty() {
            self.heading.copy(&other.heading);
        }
        if self.allocator_role.load(relaxed) == 0 {
            self.allocator.copy(&other.allocator);
            self.allocator_role.store(other.allocator_role.load(relaxed), relaxed);
        }
    }

    /// Wipes a slot for its next owner.
    pub fn wipe(&self) {
        let relaxed = Ordering::Relaxed;
        self.parent.store(0, relaxed);
        self.processes.store(1, relaxed);
        self.started_ns.store(0, relaxed);
        self.ended_ns.store(0, relaxed);
        self.option_errors.store(0, relaxed);
        self.program.store(b"");
        self.program_number.store(0, relaxed);
        self.started_as.store(b"");
        self.arguments.store(b"");
        self.allocator_role.store(0, relaxed);
        self.allocator.store(b"");
        for counter in self.counters.iter().chain(&self.sizes) {
            counter.store(0, relaxed);
        }
        for owner in &self.owners {
            owner.name.store(b"");
            owner.bytes.store(0, relaxed);
            owner.peak.store(0, relaxed);
        }
        self.fault.wipe();
        self.heaps.store(0, relaxed);
        self.pools.store(0, relaxed);
        self.classes.store(0, relaxed);
        self.pairs.store(0, relaxed);
        self.traces.store(0, relaxed);
        self.switches.store(0, relaxed);
        self.caches.store(0, relaxed);
        self.starts.iter().for_each(|start| start.store(0, relaxed));
        self.heading.store(b"");
    }
}

/// Adds other figures to these, one by one.
fn add_each(mine: &[AtomicU64], theirs: &[AtomicU64]) {
    for (mine, theirs) in mine.iter().zip(theirs) {
        let figure = |cell: &AtomicU64| not_below_zero(cell.load(Ordering::Relaxed));
        mine.store(figure(mine).saturating_add(figure(theirs)), Ordering::Relaxed);
    }
}

impl Header {
    /// Fills in a new, zeroed header. `magic` comes last, with Release.
    pub fn make(&self, maker: u32, now_ns: u64, options_bytes: usize, keep: bool) {
        self.layout_version.store(LAYOUT_VERSION, Ordering::Relaxed);
        self.maker.store(maker, Ordering::Relaxed);
        self.fingerprint.store(FINGERPRINT, Ordering::Relaxed);
        self.made_ns.store(now_ns, Ordering::Relaxed);
        self.options_bytes.store(options_bytes as u64, Ordering::Relaxed);
        self.keep.store(u32::from(keep), Ordering::Relaxed);
        self.magic.store(MAGIC, Ordering::Release);
    }

    /// Is this a complete header of exactly this layout and table?
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.magic.load(Ordering::Acquire) == MAGIC
            && self.layout_version.load(Ordering::Relaxed) == LAYOUT_VERSION
            && self.fingerprint.load(Ordering::Relaxed) == FINGERPRINT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_its_namespace_and_its_number() {
        for (namespace, number) in [(0, 1), (0xeffffffc, 4_194_303), (u32::MAX, 4_194_400)] {
            let process = Identity { namespace, number };
            assert_eq!(Identity::unpacked(process.packed()), process);
            let word = Directory::word(SlotState::Aggregate, process);
            assert_eq!(Directory::entry(word), Some((SlotState::Aggregate, process)));
        }
        assert_eq!(Directory::entry(0), Some((SlotState::Free, Identity::default())));
        assert_eq!(Directory::entry(u64::MAX), None);
        let of = |namespace| Identity { namespace, number: 1 };
        assert!(of(7).sees(of(7)) && !of(7).sees(of(8)));
        assert!(!of(0).sees(of(0)) && !of(7).sees(of(0)) && !of(0).sees(of(7)));
    }

    #[test]
    fn requests_by_size_of_two_processes_are_added() {
        let cells = |figures: [u64; 3]| figures.map(AtomicU64::new);
        let mine = cells([1, u64::MAX, 0]);
        add_each(&mine, &cells([2, 5, (-3_i64) as u64]));
        // What is below zero for a moment is none.
        assert_eq!(mine.map(AtomicU64::into_inner), [3, 5, 0]);
    }
}
