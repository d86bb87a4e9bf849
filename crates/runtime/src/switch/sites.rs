//! The tables of threads, and the slow way of a call whose site is not in its place.
//!
//! ```text
//! the thread has no table   ─> one that a thread left, or a new one, or for good none: then it counts among the known sites
//! two other sites are there ─> the rarer one, with its counts, goes to the known sites
//! the site was never met    ─> it becomes a known site; its module gets a row, if it has none
//! ```
//!
//! A table's owner is a thread's number. A thread that ends gives its table up; if its end was not noticed, the next thread that
//! finds no other table asks the kernel for the owner.
//!
//! Invariant: no lock is held, and nothing is requested but pages of the ledger. A handler of a signal may come at any moment, and count
//! in the same table: then an entry may be off by one. It may also never return. A child of vfork counts in its parent's tables, and owns
//! none.
//! Not here: the tables themselves (`underbar_ledger::switches`).

use core::sync::atomic::Ordering;

use underbar_ledger::switch_names::{Function, SwitchKind, function};
use underbar_ledger::switches::{ELIGIBLE, Entry, FLAGS, Fixed, OF_PIPE, OF_WORK_FILE, TABLES, Table, parts};
use underbar_sys::file::fstat;
use underbar_sys::syscall::{Errno, gettid, kill};

use super::{owners, project, words};
use crate::thread_end::ThreadEnd;
use crate::{ledger, multi_fetch, sandbox};

/// Learns that a thread with a table ends. The value is the table's number and 1.
pub(crate) static END: ThreadEnd = ThreadEnd::new(thread_ends);

/// A call whose site is not in its place, or is due for a sample. `first` is the first argument, `bytes` the third, and `pointer` the stack
/// pointer of the call.
pub(super) extern "C" fn missed(key: u64, bytes: u64, first: u64, pointer: usize) {
    let (number, _) = parts(key);
    let has = |fact| function(number).is_some_and(|function| function.is(fact));
    let first = if has(Function::DESCRIPTOR) { u64::from(first as u32).wrapping_add(1) } else { 0 };
    count(key, if has(Function::BYTES) { bytes } else { 0 }, first, pointer);
}

/// In a projection, counts a call of a function of a library, which is a component of its own. `pointer` is the stack pointer of the call.
pub(super) fn count_call_of_library(key: u64, pointer: usize) {
    count(key, 0, 0, pointer);
    project::run_ends();
}

/// Counts a call in the thread's table.
pub(super) fn count(key: u64, bytes: u64, first: u64, pointer: usize) {
    let Some(pages) = ledger::switch_pages() else { return };
    let address = parts(key).1;
    let Some(table) = own_table(pages) else {
        if pages.add(key, [1, bytes, first]) {
            learn(pages, address);
            if let Some((known, _)) = pages.known(key) {
                known.first.fetch_or(flags(pages, key, first), Ordering::Relaxed);
            }
        }
        if project::is_on() {
            project::at_switch(project::flag(pages, pages.module_of(address)) != 0);
        }
        return;
    };
    let relaxed = Ordering::Relaxed;
    let at = address as usize & 0xff;
    let [entry, neighbour] = [&table.0[at], &table.0[at ^ 1]];
    let [there, next] = [entry, neighbour].map(|entry| entry.key.load(relaxed));
    if let Some(entry) = [(entry, there), (neighbour, next)].into_iter().find(|it| it.1 == key).map(|it| it.0)
    {
        entry.count.store(entry.count.load(relaxed).wrapping_add(1), relaxed);
        entry.bytes.store(entry.bytes.load(relaxed).wrapping_add(bytes), relaxed);
        let first = entry.first.load(relaxed);
        match (first >> 32) as i32 {
            left @ 1.. => entry.first.store(with_left(first, left - 1), relaxed),
            _ if hides(pages, key) => {
                entry.first.store(with_left(first, BETWEEN_SAMPLES), relaxed);
                owners::sample(pages, address, pointer);
            }
            _ => entry.first.store(with_left(first, i32::MAX), relaxed),
        }
        if project::is_on() {
            project::at_switch(first & ELIGIBLE != 0);
        }
        return;
    }
    // The site that was called less often makes room.
    let is_rarer = |one: &Entry, other: &Entry| one.count.load(relaxed) < other.count.load(relaxed);
    let goes_next = there != 0 && (next == 0 || is_rarer(neighbour, entry));
    let (entry, there) = if goes_next { (neighbour, next) } else { (entry, there) };
    if there != 0 {
        leave(pages, entry, there);
    }
    let (is_hiding, first) = match pages.known(key) {
        Some((known, false)) => {
            let word = known.first.load(relaxed);
            (word >> 32 != 0, first | word & FLAGS)
        }
        Some((known, true)) => {
            let is_hiding = learn(pages, address);
            let first = first | flags(pages, key, first);
            known.first.store(first | u64::from(is_hiding) << 32, relaxed);
            (is_hiding, first)
        }
        None => (learn(pages, address), first | flags(pages, key, first)),
    };
    // The first call of a thread is a sample, too: a site may be called less often than that.
    if is_hiding {
        owners::sample(pages, address, pointer);
    }
    entry.count.store(1, relaxed);
    entry.bytes.store(bytes, relaxed);
    entry.first.store(with_left(first, if is_hiding { BETWEEN_SAMPLES } else { i32::MAX }), relaxed);
    entry.key.store(key, relaxed);
    if project::is_on() {
        project::at_switch(first & ELIGIBLE != 0);
    }
}

/// Calls between two samples of a site: one of 997 is a sample, which is a prime.
const BETWEEN_SAMPLES: i32 = 996;

/// The word of an entry with so many calls left until the next sample.
const fn with_left(first: u64, left: i32) -> u64 {
    first & 0xffff_ffff | (left as u64) << 32
}

/// Whether the module of a known site hides its callers.
fn hides(pages: &Fixed, key: u64) -> bool {
    pages.known(key).is_some_and(|(known, _)| known.first.load(Ordering::Relaxed) >> 32 != 0)
}

/// A site leaves its place. The key goes first, so that a handler that comes meanwhile finds no site here.
fn leave(pages: &Fixed, entry: &Entry, key: u64) {
    let relaxed = Ordering::Relaxed;
    entry.key.store(0, relaxed);
    // Another thread may settle what a program that is gone has counted: each count is taken once.
    let [count, bytes] = [&entry.count, &entry.bytes].map(|word| word.swap(0, relaxed));
    pages.add(key, [count, bytes, entry.first.load(relaxed)]);
}

/// What is known of a site besides its counts: the bits of its module and of its descriptor.
#[cold]
fn flags(pages: &Fixed, key: u64, first: u64) -> u64 {
    let (number, address) = parts(key);
    let of_module = project::flag(pages, pages.module_of(address));
    let Some(function) = function(number).filter(|_| first > 0 && !sandbox::is_closed()) else {
        return of_module;
    };
    let descriptor = (first as u32 as i32).wrapping_sub(1);
    let transfers = function.is(Function::READS) || function.is(Function::WRITES);
    let of_descriptor = match function.kind {
        _ if transfers && is_pipe(descriptor) => OF_PIPE,
        SwitchKind::File if super::is_work_file(descriptor) => OF_WORK_FILE,
        _ => 0,
    };
    of_module | of_descriptor
}

fn is_pipe(descriptor: i32) -> bool {
    const KIND: u32 = 0o170_000;
    const PIPE: u32 = 0o010_000;
    fstat(descriptor).is_ok_and(|status| status.mode & KIND == PIPE)
}

/// Gives the module of an address a row, unless it has one. Returns whether it hides its callers.
#[cold]
fn learn(pages: &Fixed, address: u64) -> bool {
    let Some(row) = owners::row(pages, address) else { return false };
    if owners::is_libpq(pages, row) {
        multi_fetch::libpq_is_used();
    }
    owners::hides(pages, row)
}

// ---- tables -------------------------------------------------------------------------------------------------------

/// The thread's table, found if it has none yet. None if it can have none.
#[inline]
fn own_table(pages: &Fixed) -> Option<&'static Table> {
    let mut table = if project::is_on() { words::hidden_table() } else { words::table() };
    if table == words::empty() {
        table = find_table(pages);
    }
    // SAFETY: neither of the two that stand for none: a table of this process, which stays mapped.
    (table != words::none() && table != words::empty()).then(|| unsafe { &*(table as *const Table) })
}

#[cold]
fn find_table(pages: &Fixed) -> usize {
    // A process that has forbidden itself system calls makes none for this. And a child of vfork would own the table beyond its end, as
    // the thread's words are its parent's.
    if sandbox::is_closed() || !ledger::attach::is_ours() {
        return words::none();
    }
    let me = gettid() as u64;
    let made = pages.head.made.load(Ordering::Acquire);
    let is_made = |number: &usize| made >> *number & 1 != 0;
    let own = |number: usize| pages.head.owners[number].load(Ordering::Relaxed) == me;
    // A handler that never returned may have left one that this thread owns.
    let found = (0..TABLES).find(|number| own(*number)).or_else(|| {
        let take = |number: &usize| take(pages, *number, 0, me);
        (0..TABLES)
            .filter(is_made)
            .find(take)
            .or_else(|| (0..TABLES).find(take))
            .or_else(|| of_the_dead(pages, me))
    });
    let table = found.and_then(|number| {
        let table = ledger::switch_table(number);
        if table.is_none() {
            pages.head.owners[number].store(0, Ordering::Release);
        }
        Some((number, core::ptr::from_ref(table?).addr()))
    });
    match table {
        Some((number, table)) => {
            set_table(table);
            END.register_without_storage(core::ptr::without_provenance_mut(number + 1));
            table
        }
        None => {
            set_table(words::none());
            words::none()
        }
    }
}

/// Sets the thread's table; in a projection stubs do not find it, so that each call comes here.
fn set_table(table: usize) {
    if project::is_on() { words::set_hidden_table(table) } else { words::set_table(table) }
}

fn take(pages: &Fixed, number: usize, from: u64, to: u64) -> bool {
    pages.head.owners[number].compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

/// A table whose owner is gone.
fn of_the_dead(pages: &Fixed, me: u64) -> Option<usize> {
    (0..TABLES).find(|&number| {
        let owner = pages.head.owners[number].load(Ordering::Relaxed);
        let is_gone = i32::try_from(owner).is_ok_and(|owner| kill(owner, 0) == Err(Errno::ESRCH));
        is_gone && take(pages, number, owner, me)
    })
}

/// The thread ends, or what its table is in is no longer its process's: the next call finds a table.
pub(super) fn forget_table() {
    set_table(words::empty());
}

unsafe extern "C" fn thread_ends(table: *mut u8) {
    forget_table();
    let number = table.addr().wrapping_sub(1);
    if sandbox::is_closed() {
        return;
    }
    if let Some(pages) = ledger::switch_pages()
        && let Some(owner) = pages.head.owners.get(number)
    {
        // Another's by now, if this is a child of a fork in the middle of its thread's end.
        let me = gettid() as u64;
        let _ = owner.compare_exchange(me, 0, Ordering::Release, Ordering::Relaxed);
    }
}
