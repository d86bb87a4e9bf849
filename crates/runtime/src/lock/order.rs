//! Which locks a thread holds while it waits for another: two threads that do so in different orders may wait for each
//! other for ever.
//!
//! A mutex says who owns it. Those that somebody ever waited for are recorded, and few: the kernel reads the owners of
//! all of them at once, as some of the mutexes may be gone with their memory.
//!
//! Invariant: memory of the program is read through the kernel alone. Looked at are each lock's first waits, one of many
//! later ones, and each wait that is long: so both sides of two threads that wait for each other are seen.
//! Known limits: a lock that nobody waited for so far is not known to be held; simple locks do not say who holds them.

use core::sync::atomic::{AtomicU32, Ordering};

use underbar_ledger::locks::{Area, EDGES, Edge, LOCKS, READY, Sort};
use underbar_sys::syscall::{self, Piece};

use super::area;
use super::area::Found;
use super::number::thread;
use crate::sandbox;

/// Where a mutex keeps its owner.
const OWNER: usize = 8;
/// Waits for each lock that are looked at one by one; later, one of so many.
const FIRST: u32 = 64;
/// Locks that are asked at once.
const ASKED: usize = 64;

static LOOKS: [AtomicU32; LOCKS] = [const { AtomicU32::new(0) }; LOCKS];

/// Why it is looked at what a thread holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// It is going to wait.
    Begins,
    /// It waits for long, and was not looked at before.
    IsLong,
    /// It waits for longer: what it holds is counted already, unless somebody has come to wait for that meanwhile.
    Again,
}

/// This thread is going to wait, or waits for long, for this lock. Whether it was looked.
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

/// Asks the next locks; returns where to go on.
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
            // The first of them is gone, or nobody may ask.
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
