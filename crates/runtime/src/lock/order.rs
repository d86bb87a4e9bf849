//! Which locks a thread holds while it waits for another. Two threads that take locks in different orders may wait for each
//! other for ever.
//!
//! A mutex names its owner. Mutexes that some thread ever waited for are recorded, and they are few. The kernel reads the
//! owners of all of them at once, as some of the mutexes may be gone with their memory.
//!
//! Invariant: memory of the program is read through the kernel alone. Checked are each lock's first waits, one of many
//! later ones, and each long wait. So both sides of two threads that wait for each other are seen.
//! Known limits: a lock that no thread has waited for is not known to be held; simple locks do not name their holder.

use core::sync::atomic::{AtomicU32, Ordering};

use underbar_ledger::locks::{Area, EDGES, Edge, LOCKS, READY, Sort};
use underbar_sys::syscall::{self, Piece};

use super::area;
use super::area::Found;
use super::number::thread;
use crate::sandbox;

/// Offset of the owner in a mutex.
const OWNER: usize = 8;
/// Waits for each lock that are checked one by one; later, one of this many is checked.
const FIRST: u32 = 64;
/// Locks that are read at once.
const ASKED: usize = 64;

static LOOKS: [AtomicU32; LOCKS] = [const { AtomicU32::new(0) }; LOCKS];

/// Why the locks that a thread holds are checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The thread is going to wait, or has waited and was not looked at before.
    Begins,
    /// The wait is long, and was not checked before.
    IsLong,
    /// The wait is longer: the locks that the thread holds are counted already, except those that a thread has begun to
    /// wait for meanwhile.
    Again,
}

/// This thread is going to wait, or waits long, for this lock. Returns whether the check was made.
pub fn look(wanted: Found, caller: usize, moment: Moment) -> bool {
    let looks = LOOKS[wanted.place].fetch_add(1, Ordering::Relaxed);
    let is_spared = moment == Moment::Begins && looks >= FIRST && !looks.is_multiple_of(FIRST);
    if is_spared || sandbox::is_closed() {
        return false;
    }
    let mut from = 0;
    while from < LOCKS {
        from = look_from(wanted, caller, moment, from);
    }
    true
}

/// Reads the owners of the next locks; returns where to go on.
fn look_from(wanted: Found, caller: usize, moment: Moment, from: usize) -> usize {
    let mut pieces = [Piece::default(); ASKED];
    let mut places = [0; ASKED];
    let (mut count, mut next) = (0, from);
    while next < LOCKS && count < ASKED {
        let record = &wanted.area.locks[next];
        let is_mutex = matches!(
            Sort::from_number(record.sort.load(Ordering::Relaxed)),
            Some(Sort::MutexNormal | Sort::MutexAdaptive)
        );
        if next != wanted.place && record.state.load(Ordering::Acquire) == READY && is_mutex {
            pieces[count] =
                Piece { address: record.address.load(Ordering::Relaxed) as usize + OWNER, length: 4 };
            places[count] = next;
            count += 1;
        }
        next += 1;
    }
    let (process, me) = (syscall::getpid(), thread());
    let mut at = 0;
    while at < count {
        let mut owners = [0; ASKED];
        let Ok(read) = syscall::read_words(process, &pieces[at..count], &mut owners[at..count]) else {
            // The first of them is gone, or reading is not permitted.
            at += 1;
            continue;
        };
        for (owner, place) in owners[at..at + read].iter().zip(&places[at..at + read]) {
            if *owner == me {
                add(wanted.area, *place, wanted.place, caller, moment);
            }
        }
        at += read.max(1);
    }
    next
}

fn add(area: &'static Area, held: usize, wanted: usize, caller: usize, moment: Moment) {
    let pair = Edge::pair_of(held, wanted);
    let start = (held * 31 + wanted) % EDGES;
    for probe in 0..ASKED {
        let edge = &area.edges[(start + probe) % EDGES];
        let mut found = edge.pair.load(Ordering::Relaxed);
        let mut is_new = false;
        if found == 0 {
            match edge.pair.compare_exchange(0, pair, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    edge.site.store(caller as u64, Ordering::Relaxed);
                    area::module_of(area, caller);
                    (found, is_new) = (pair, true);
                }
                Err(now) => found = now,
            }
        }
        if found == pair {
            if is_new || moment != Moment::Again {
                edge.count.fetch_add(1, Ordering::Relaxed);
            }
            return;
        }
    }
    area.header.edges_lost.fetch_add(1, Ordering::Relaxed);
}
