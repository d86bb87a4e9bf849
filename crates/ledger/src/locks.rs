//! The lock area: what a process knows of its contended locks, in a file beside the ledger.
//!
//! ```text
//! header | modules[128] | locks[256] | edges[512]
//!                          |  waiters: where threads waited for it
//!                          |  holders: where it was given up while others waited
//!                          \  blocked: in which system call its holder was, while somebody waited long
//! ```
//!
//! It comes into being when a process first waits for a lock, since most never do. Its name is that of the ledger,
//! the process's number and the moment: so a process that goes on as another program has two. The host gathers and
//! removes them with the ledger.
//!
//! Addresses are those of the process; the modules say which file was where, so that the host can name locks and
//! places after the process has ended.
//!
//! Invariant: a record's `state` is [`READY`] only when its address is set, and then its address never changes. All
//! other words are sums that any thread adds to (relaxed), but where it is said otherwise.
//! Not here: who writes it (`runtime::lock`), and what follows from it (`report`, `advise`).

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

use underbar_options::OneLock;

/// The first eight bytes of every lock area.
pub const MAGIC: u64 = u64::from_le_bytes(*b"UNDERLCK");
/// Changes when a structure in this file changes.
pub const VERSION: u32 = 2;
/// How many areas one ledger has at most; later processes only count.
pub const AREAS: u32 = 256;
/// How many modules, locks and edges an area has room for.
pub const MODULES: usize = 128;
/// See [`MODULES`].
pub const LOCKS: usize = 256;
/// See [`MODULES`].
pub const EDGES: usize = 512;
/// Places that are kept for each lock, of each sort.
pub const SITES: usize = 8;
/// System calls that are kept for each lock.
pub const CALLS: usize = 4;
/// Intervals of the histogram: interval `n` counts waits of 2^n to 2^(n+1) nanoseconds.
pub const INTERVALS: usize = 40;
/// Room for a module's path; a longer one is cut at its beginning.
pub const PATH_ROOM: usize = 232;
/// `policy` of a lock: as LOCK says.
pub const POLICY_AS_OPTION: u32 = 0;
/// The C library waits.
pub const POLICY_COUNT: u32 = OneLock::Count as u32;
/// Few look for a moment, the rest sleep.
pub const POLICY_SIMPLE: u32 = OneLock::Simple as u32;
/// Nobody looks: all sleep at once.
pub const POLICY_SLEEP: u32 = OneLock::Sleep as u32;
/// `state` of a record that is set up.
pub const READY: u32 = 2;
/// `state` of a record that a thread is setting up.
pub const CLAIMED: u32 = 1;

/// A whole area, as it is mapped.
#[repr(C, align(4096))]
pub struct Area {
    /// See [`Header`].
    pub header: Header,
    /// Files that were loaded where, in the order in which they were met.
    pub modules: [Module; MODULES],
    /// Locks that somebody waited for.
    pub locks: [LockRecord; LOCKS],
    /// Locks that were held while another one was waited for.
    pub edges: [Edge; EDGES],
}

/// Whose area it is.
#[repr(C, align(64))]
pub struct Header {
    /// [`MAGIC`]; written last, with Release.
    pub magic: AtomicU64,
    /// [`VERSION`].
    pub version: AtomicU32,
    /// The process's number.
    pub process: AtomicU32,
    /// When its program began, as in its slot of the ledger.
    pub started_ns: AtomicU64,
    /// Contended acquisitions of locks for which there was no record left.
    pub unrecorded: AtomicU64,
    /// Edges for which there was no room.
    pub edges_lost: AtomicU64,
    /// What LOCK says: 0 OFF, 1 COUNT, 2 SIMPLE.
    pub mode: AtomicU32,
    /// Nothing.
    pub spare: AtomicU32,
}

/// A file that is loaded.
#[repr(C)]
pub struct Module {
    /// What is added to the addresses in the file; `u64::MAX` in a record that is being set up.
    pub base: AtomicU64,
    /// First address behind it; 0: this record is free. Written last, with Release.
    pub end: AtomicU64,
    /// First address of it.
    pub start: AtomicU64,
    /// Its path, ended by a zero; empty for the program itself.
    pub path: [AtomicU8; PATH_ROOM],
}

/// What one lock has seen. All times in nanoseconds.
#[repr(C, align(64))]
pub struct LockRecord {
    /// 0 free, [`CLAIMED`], [`READY`].
    pub state: AtomicU32,
    /// What it is: a [`Sort`].
    pub sort: AtomicU32,
    /// Where it is.
    pub address: AtomicU64,
    /// Return address of the call that first waited for it.
    pub first_site: AtomicU64,
    /// Acquisitions that did not succeed at once.
    pub contended: AtomicU64,
    /// Of these: got by looking again, without sleeping.
    pub spun: AtomicU64,
    /// Times that a thread slept for it.
    pub parked: AtomicU64,
    /// Times that a holder woke somebody.
    pub woken: AtomicU64,
    /// From the first try to the acquisition, summed over the contended ones.
    pub wait_ns: AtomicU64,
    /// The longest of them. Raised, not added.
    pub wait_max_ns: AtomicU64,
    /// Processor time spent looking again.
    pub spin_ns: AtomicU64,
    /// From being woken, or from the lock being given up, to running again: runnable, and not running. A part of
    /// `wait_ns`; 0 where it was not measured.
    pub runnable_ns: AtomicU64,
    /// Threads that wait now.
    pub waiting: AtomicU32,
    /// Thread that gave it up last while others waited. Stored, not added.
    pub last_holder: AtomicU32,
    /// Times that the thread which gave it up while others waited was the one that did so the time before.
    pub same_holder: AtomicU64,
    /// Times that it was given up while others waited.
    pub given_up: AtomicU64,
    /// Policy of waiting in force, changed by the host: one of `POLICY_*`; for mutexes only.
    pub policy: AtomicU32,
    /// Times that somebody who had waited long looked what its holder does, whether it was in a system call or not.
    pub looked: AtomicU32,
    /// Acquisitions, whether they waited or not: counted only while the host asks for it, as it does for the one mutex
    /// whose waiting is on trial ([`crate::control::Kind::LockCounted`]). Added to by the holder alone.
    pub acquired: AtomicU64,
    /// Waits by their length.
    pub histogram: [AtomicU32; INTERVALS],
    /// Where threads waited: return addresses of the calls that lock.
    pub waiters: [Site; SITES],
    /// Where it was given up while others waited: return addresses of the calls that unlock. The time is the wait of
    /// those that waited then, since it was last given up, times their number.
    pub holders: [Site; SITES],
    /// System calls in which its holder was seen.
    pub blocked: [Call; CALLS],
}

/// A place in the program.
#[repr(C)]
pub struct Site {
    /// Return address; 0: free. Set once, by compare-and-swap.
    pub address: AtomicU64,
    /// How often.
    pub count: AtomicU64,
    /// How long, together.
    pub ns: AtomicU64,
}

/// A system call in which a holder was seen while somebody had waited for a millisecond or longer.
#[repr(C)]
pub struct Call {
    /// The system call's number and one; 0: free. Set once, by compare-and-swap.
    pub number: AtomicU32,
    /// How often it was seen.
    pub count: AtomicU32,
}

/// A thread held one lock and waited for another.
#[repr(C)]
pub struct Edge {
    /// Number of the lock that was held, and one; 0: free. Set once, by compare-and-swap of both words' halves.
    pub pair: AtomicU64,
    /// Return address of the call that waited.
    pub site: AtomicU64,
    /// How often.
    pub count: AtomicU64,
}

impl Edge {
    /// The word for "held that lock and waited for this one", by their places in [`Area::locks`].
    #[must_use]
    pub const fn pair_of(held: usize, wanted: usize) -> u64 {
        ((held as u64 + 1) << 32) | (wanted as u64 + 1)
    }

    /// The locks of such a word; None for 0 and for noise.
    #[must_use]
    pub const fn locks_of(pair: u64) -> Option<(usize, usize)> {
        let (held, wanted) = ((pair >> 32) as usize, (pair & 0xffff_ffff) as usize);
        if held == 0 || wanted == 0 || held > LOCKS || wanted > LOCKS {
            None
        } else {
            Some((held - 1, wanted - 1))
        }
    }
}

/// What a lock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Sort {
    /// A mutex of the C library of the usual kind.
    MutexNormal = 1,
    /// One that spins for a while.
    MutexAdaptive = 2,
    /// A SimpleLock of eight bytes.
    Simple = 3,
    /// One of four bytes.
    SimpleSmall = 4,
}

impl Sort {
    /// The sort with that number; noise reads as None.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Sort> {
        match number {
            1 => Some(Sort::MutexNormal),
            2 => Some(Sort::MutexAdaptive),
            3 => Some(Sort::Simple),
            4 => Some(Sort::SimpleSmall),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_names_its_locks() {
        for (held, wanted) in [(0, 1), (LOCKS - 1, 0), (7, LOCKS - 1)] {
            assert_eq!(Edge::locks_of(Edge::pair_of(held, wanted)), Some((held, wanted)));
        }
        for noise in [0, 1, 1 << 32, u64::MAX, (LOCKS as u64 + 1) << 32 | 1] {
            assert_eq!(Edge::locks_of(noise), None);
        }
    }

    #[test]
    fn an_area_has_no_gaps_between_its_tables() {
        let tables =
            size_of::<[Module; MODULES]>() + size_of::<[LockRecord; LOCKS]>() + size_of::<[Edge; EDGES]>();
        assert_eq!(size_of::<Area>(), (size_of::<Header>() + tables).next_multiple_of(4096));
        assert!(size_of::<Area>() < 400 * 1024, "each process that waits has one");
    }
}
