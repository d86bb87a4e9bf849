//! The lock area: the record of a process's contended locks, in a file next to the ledger.
//!
//! ```text
//! header | modules[128] | locks[256] | edges[512]
//!                          |  waiters: places where threads waited for it
//!                          |  holders: places that released it while others waited
//!                          \  blocked: system calls of its holder during a long wait
//! ```
//!
//! A process makes it when it first waits for a lock, since most never do. Its name consists of the ledger's name, the process's
//! number and the time, so a process that continues as another program has two. The host gathers and removes them with the ledger.
//!
//! Addresses are those of the process. The modules record the address of each file, so that the host can name locks and places
//! after the process has ended.
//!
//! Invariant: a record's `state` is [`READY`] only when its address is set, and then its address never changes. All other words
//! are sums that any thread adds to (relaxed), except where the field says otherwise.
//! Not here: writing it (`runtime::lock`), and conclusions from it (`report`, `advise`).

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

use underbar_options::OneLock;

/// The first eight bytes of every lock area.
pub const MAGIC: u64 = u64::from_le_bytes(*b"UNDERLCK");
/// Changes when a structure in this file changes.
pub const VERSION: u32 = 2;
/// Maximum number of areas of one ledger; later processes only count.
pub const AREAS: u32 = 256;
/// Room of an area for modules, locks and edges.
pub const MODULES: usize = 128;
/// See [`MODULES`].
pub const LOCKS: usize = 256;
/// See [`MODULES`].
pub const EDGES: usize = 512;
/// Room for places of each lock, of each sort.
pub const SITES: usize = 8;
/// Room for system calls of each lock.
pub const CALLS: usize = 4;
/// Intervals of the histogram: interval `n` counts waits of 2^n to 2^(n+1) nanoseconds.
pub const INTERVALS: usize = 40;
/// Room for a module's path; a longer one is cut at its beginning.
pub const PATH_ROOM: usize = 232;
/// `policy` of a lock: the LOCK option decides.
pub const POLICY_AS_OPTION: u32 = 0;
/// The C library waits.
pub const POLICY_COUNT: u32 = OneLock::Count as u32;
/// A few threads spin for a moment, the rest sleep.
pub const POLICY_SIMPLE: u32 = OneLock::Simple as u32;
/// No thread spins: all sleep at once.
pub const POLICY_SLEEP: u32 = OneLock::Sleep as u32;
/// `state` of a complete record.
pub const READY: u32 = 2;
/// `state` of a record that a thread is setting up.
pub const CLAIMED: u32 = 1;

/// A whole area, as it is mapped.
#[repr(C, align(4096))]
pub struct Area {
    /// See [`Header`].
    pub header: Header,
    /// Loaded files and their addresses, in the order in which they were met.
    pub modules: [Module; MODULES],
    /// Locks that a thread waited for.
    pub locks: [LockRecord; LOCKS],
    /// Pairs of a held lock and a lock that its holder waited for.
    pub edges: [Edge; EDGES],
}

/// The owner of an area.
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
    /// The LOCK setting: 0 OFF, 1 COUNT, 2 SIMPLE.
    pub mode: AtomicU32,
    /// Unused.
    pub spare: AtomicU32,
}

/// A file that is loaded.
#[repr(C)]
pub struct Module {
    /// What is added to the addresses in the file; `u64::MAX` in a record that is being set up.
    pub base: AtomicU64,
    /// First address after it; 0: this record is free. Written last, with Release.
    pub end: AtomicU64,
    /// First address of it.
    pub start: AtomicU64,
    /// Its path, ended by a zero; empty for the program itself.
    pub path: [AtomicU8; PATH_ROOM],
}

/// The figures of one lock. All times in nanoseconds.
#[repr(C, align(64))]
pub struct LockRecord {
    /// 0 free, [`CLAIMED`], [`READY`].
    pub state: AtomicU32,
    /// Its type: a [`Sort`].
    pub sort: AtomicU32,
    /// Its address.
    pub address: AtomicU64,
    /// Return address of the call that first waited for it.
    pub first_site: AtomicU64,
    /// Acquisitions that did not succeed at once.
    pub contended: AtomicU64,
    /// Of these: got by spinning, without sleeping.
    pub spun: AtomicU64,
    /// Times that a thread slept for it.
    pub parked: AtomicU64,
    /// Times that a holder woke a thread.
    pub woken: AtomicU64,
    /// From the first try to the acquisition, summed over the contended ones.
    pub wait_ns: AtomicU64,
    /// The longest of them. Raised, not added.
    pub wait_max_ns: AtomicU64,
    /// Processor time spent spinning.
    pub spin_ns: AtomicU64,
    /// From the wake-up, or from the release of the lock, to running again: runnable, and not running. A part of `wait_ns`; 0 if
    /// it was not measured.
    pub runnable_ns: AtomicU64,
    /// Threads that wait now.
    pub waiting: AtomicU32,
    /// The thread that released it last while others waited. Stored, not added.
    pub last_holder: AtomicU32,
    /// Times that it was released, while others waited, by the same thread as the time before.
    pub same_holder: AtomicU64,
    /// Times that it was released while others waited.
    pub given_up: AtomicU64,
    /// The waiting policy in force, changed by the host: one of `POLICY_*`; for mutexes only.
    pub policy: AtomicU32,
    /// Times that a thread after a long wait checked its holder, whether that was in a system call or not.
    pub looked: AtomicU32,
    /// Acquisitions, with or without a wait: counted only while the host asks for it, as it does for the one mutex whose waiting
    /// is on trial ([`crate::control::Kind::LockCounted`]). Only the holder adds.
    pub acquired: AtomicU64,
    /// Waits by their length.
    pub histogram: [AtomicU32; INTERVALS],
    /// Places where threads waited: return addresses of the calls that lock.
    pub waiters: [Site; SITES],
    /// Places where it was released while others waited: return addresses of the calls that unlock. The time is the wait of those
    /// that waited then, since the last release, times their number.
    pub holders: [Site; SITES],
    /// System calls in which its holder was found.
    pub blocked: [Call; CALLS],
}

/// A place in the program: a call of lock or unlock.
#[repr(C)]
pub struct Site {
    /// Return address; 0: free. Set once, by compare-and-swap.
    pub address: AtomicU64,
    /// How often.
    pub count: AtomicU64,
    /// Total time.
    pub ns: AtomicU64,
}

/// A system call in which a holder was found after a thread had waited for a millisecond or longer.
#[repr(C)]
pub struct Call {
    /// The system call's number and one; 0: free. Set once, by compare-and-swap.
    pub number: AtomicU32,
    /// How often.
    pub count: AtomicU32,
}

/// One edge: a thread held one lock and waited for another.
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

/// The type of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Sort {
    /// A mutex of the C library of the usual kind.
    MutexNormal = 1,
    /// A mutex of the C library that spins for a while.
    MutexAdaptive = 2,
    /// A SimpleLock of eight bytes.
    Simple = 3,
    /// A SimpleLock of four bytes.
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
