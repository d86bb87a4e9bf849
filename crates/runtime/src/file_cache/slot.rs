//! The buffers of files that this process writes: one for each description, in memory that the supervisor shares.
//!
//! ```text
//! descriptor ─ entry ─> slot ─> head and bytes     process: append, flush     supervisor: takes it if another process writes the file
//!                               the file's numbers, the row of its figures
//! ```
//!
//! Two descriptors have one slot if they are one description: standard output and standard error, by `> file 2>&1`.
//!
//! Invariant: a slot that is given up has a size of 0, so that an append which a signal handler interrupted finds no room there. A buffer
//! is emptied while all signals are blocked. A slot whose buffer was taken stays until the program has been told an error of it.
//! Not here: which files get one (`learn`), which calls do what (`files`, `calls`, `before`), the steps (`underbar_filecache`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use underbar_filecache::buffer::{self, Append, HEAD_BYTES, Head, Owner, Wish, Words};
use underbar_filecache::message::{DONE, Kind, Message};
use underbar_ledger::Key;
use underbar_ledger::caches::{self, CacheRow, Flush, Plain};
use underbar_sys::description::{self, without_signals};
use underbar_sys::file::fstat;
use underbar_sys::machine::is_file_allowed;
use underbar_sys::syscall::{
    Errno, MAP_SHARED, PROT_READ, PROT_WRITE, close, ftruncate, memfd_create, mmap, munmap,
};

use super::entries::{ACTIVE, EPOCH, NAMED, PLAIN, SHARED, UNKNOWN, WRITTEN, descriptor_of, entry, replace};
use super::settings;
use crate::{ledger, switch};

/// Buffers of a process, at most.
const SLOTS: usize = 24;

/// A buffer and its file. Written under the lock, but for `size` and `memory` which an interrupted append reads; relaxed.
pub(super) struct Slot {
    /// Head and bytes; null: the slot is free.
    memory: AtomicPtr<Words>,
    /// Bytes that fit; 0: no more.
    pub(super) size: AtomicUsize,
    mapped: AtomicUsize,
    pub(super) device: AtomicU64,
    pub(super) inode: AtomicU64,
    /// The place at which the next flush is expected to write; [`ANYWHERE`]: others may have moved it.
    pub(super) place: AtomicU64,
    pub(super) epoch: AtomicU32,
    /// An error that the program has not been told yet.
    pub(super) error: AtomicI32,
    /// The row of the figures.
    pub(super) row: AtomicUsize,
    /// Bytes since the last flush that was forced.
    pub(super) since: AtomicU64,
    /// Whether standard input makes it empty.
    pub(super) is_print: AtomicU32,
}

pub(super) const ANYWHERE: u64 = u64::MAX;

pub(super) static ALL: [Slot; SLOTS] = [const {
    Slot {
        memory: AtomicPtr::new(null_mut()),
        size: AtomicUsize::new(0),
        mapped: AtomicUsize::new(0),
        device: AtomicU64::new(0),
        inode: AtomicU64::new(0),
        place: AtomicU64::new(0),
        epoch: AtomicU32::new(0),
        error: AtomicI32::new(0),
        row: AtomicUsize::new(0),
        since: AtomicU64::new(0),
        is_print: AtomicU32::new(0),
    }
}; SLOTS];

/// Sums of all rows since the process began, or was forked: calls, bytes. Under the lock.
pub(super) static TOTALS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// A cache took or served a call.
#[inline(always)]
pub(super) fn took(bytes: usize) {
    add(&TOTALS[0], 1);
    add(&TOTALS[1], bytes as u64);
    ledger::set(Key::CacheCalls, TOTALS[0].load(Ordering::Relaxed));
    ledger::set(Key::CacheBytes, TOTALS[1].load(Ordering::Relaxed));
}

/// The slot of a descriptor.
#[inline(always)]
pub(super) fn slot_of(fd: i32) -> Option<&'static Slot> {
    ALL.get(usize::from(entry(fd)?.load(Ordering::Relaxed).checked_sub(WRITTEN)?))
}

/// Slots that are in use.
pub(super) fn slots() -> impl Iterator<Item = &'static Slot> {
    ALL.iter().filter(|slot| slot.size.load(Ordering::Relaxed) > 0)
}

/// Buffers that are this process's, as the supervisor counts them.
pub(super) fn owned() -> u64 {
    slots().filter(|slot| slot.head().is_some_and(|head| head.owner() != Owner::Nobody)).count() as u64
}

pub(super) fn row(at: usize) -> &'static CacheRow {
    let rows = ledger::rows_of_caches();
    rows.rows.get(at).unwrap_or(&rows.rows[caches::WRITE])
}

pub(super) fn add(word: &AtomicU64, amount: u64) {
    word.store(word.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
}

impl Slot {
    pub(super) fn number(&self) -> usize {
        (core::ptr::from_ref(self).addr() - ALL.as_ptr().addr()) / size_of::<Slot>()
    }

    #[inline(always)]
    pub(super) fn head(&self) -> Option<Head<'static>> {
        // SAFETY: null, or mapped and never unmapped while the slot is in use; the words are atomics.
        unsafe { self.memory.load(Ordering::Relaxed).as_ref() }.map(Head)
    }

    fn bytes(&self) -> *mut u8 {
        self.memory.load(Ordering::Relaxed).cast::<u8>().wrapping_add(HEAD_BYTES)
    }

    fn message(&self, kind: Kind) -> Message {
        Message {
            kind,
            buffer: self.number() as u32,
            size: self.size.load(Ordering::Relaxed) as u64,
            device: self.device.load(Ordering::Relaxed),
            inode: self.inode.load(Ordering::Relaxed),
        }
    }

    fn row(&self) -> &'static CacheRow {
        row(self.row.load(Ordering::Relaxed))
    }

    /// A descriptor that has this slot.
    pub(super) fn descriptor(&self) -> Option<i32> {
        descriptor_of(WRITTEN + self.number() as u8)
    }

    pub(super) fn is_file_of(&self, fd: i32) -> bool {
        let numbers = (self.device.load(Ordering::Relaxed), self.inode.load(Ordering::Relaxed));
        fstat(fd).is_ok_and(|status| (status.device, status.inode) == numbers)
    }

    fn has_error(&self) -> bool {
        self.error.load(Ordering::Relaxed) != 0
    }

    /// Empties the buffer. False: some bytes are lost, and the error waits for the program.
    pub(super) fn flush(&self, reason: Flush) -> bool {
        let Some(head) = self.head() else { return true };
        if head.owner() == Owner::Process && head.length() == 0 {
            self.count_forced(reason);
        } else {
            without_signals(|| self.flush_undisturbed(head, reason));
        }
        !self.has_error()
    }

    fn count_forced(&self, reason: Flush) {
        let since = self.since.load(Ordering::Relaxed);
        if reason != Flush::Full && since > 0 {
            add(&self.row().forced[caches::power(since)], 1);
            self.since.store(0, Ordering::Relaxed);
        }
    }

    fn flush_undisturbed(&self, head: Head<'_>, reason: Flush) {
        while head.owner() != Owner::Process {
            self.was_taken(head);
            if self.size.load(Ordering::Relaxed) == 0 || self.has_error() {
                return;
            }
        }
        let Some(fd) = self.descriptor().filter(|fd| self.is_file_of(*fd)) else {
            // The descriptor was closed or replaced unseen. The supervisor has its own.
            return self.lose_descriptor();
        };
        let settled = loop {
            if let Some(settled) = head.settle(&mut Descriptor { fd, bytes: self.bytes() }) {
                break settled;
            }
            self.was_taken(head);
            if self.size.load(Ordering::Relaxed) == 0 || self.has_error() {
                return;
            }
        };
        let row = self.row();
        add(&row.flushes[reason as usize], 1);
        self.count_forced(reason);
        self.account(
            settled.calls,
            settled.written as u64,
            settled.lost.map(|(bytes, error)| (bytes as u64, error.number())),
        );
        let expected = self.place.load(Ordering::Relaxed);
        let was_moved = expected != ANYWHERE && settled.place.is_some_and(|place| place != expected);
        let next = settled.place.map_or(ANYWHERE, |place| place + settled.written as u64);
        self.place.store(next, Ordering::Relaxed);
        if was_moved {
            self.give_up(Some(Plain::Moved), PLAIN);
        } else if head.yields() {
            // The supervisor, if there is one, still has its duplicate.
            settings().supervisor.tell(&self.message(Kind::Leave), None);
            self.was_taken(head);
        }
    }

    /// Counts what a flush did, and keeps its error for the program.
    fn account(&self, calls: u64, written: u64, lost: Option<(u64, i32)>) {
        let row = self.row();
        add(&row.used, written.wrapping_neg());
        add(&row.kernel_calls, calls);
        add(&row.kernel_bytes, written);
        ledger::add(Key::CacheKernelCalls, calls);
        if let Some((bytes, error)) = lost {
            add(&row.used, bytes.wrapping_neg());
            add(&row.not_written, bytes);
            row.error.store(error as u64, Ordering::Relaxed);
            ledger::add(Key::CacheNotWritten, bytes);
            self.error.store(error, Ordering::Relaxed);
        }
    }

    /// The supervisor took the buffer: waits until what was in it is in the file. Then the file is plain, or to be asked for again, once the
    /// program knows an error of it.
    fn was_taken(&self, head: Head<'_>) {
        while head.owner() == Owner::Supervisor {
            // It answers when it has done what it does.
            let is_answered = settings().supervisor.ask(&self.message(Kind::Ended));
            if !is_answered && head.owner() == Owner::Supervisor {
                // It ended in the middle of that.
                match self.descriptor() {
                    Some(fd) => {
                        head.resume(&mut Descriptor { fd, bytes: self.bytes() }, |error| error.number());
                    }
                    None => return self.lose_descriptor(),
                }
            }
        }
        let wish = self.account_left(head);
        // It was given back, or the program has yet to be told of an error.
        if head.owner() == Owner::Process || self.has_error() {
            return;
        }
        if wish == Some(Wish::End) {
            self.count_plain(Plain::Left);
            self.retire(PLAIN);
        } else {
            self.retire(SHARED);
        }
    }

    /// Counts what the supervisor did since this was last asked.
    fn account_left(&self, head: Head<'_>) -> Option<Wish> {
        let left = head.left();
        if left.calls > 0 || left.lost.is_some() {
            add(&self.row().flushes[Flush::Look as usize], 1);
            self.account(left.calls, left.written, left.lost);
            let place = self.place.load(Ordering::Relaxed);
            if place != ANYWHERE {
                self.place.store(place + left.written, Ordering::Relaxed);
            }
        }
        left.wish
    }

    /// Its descriptor is no longer the file: the supervisor writes what is there by its own.
    pub(super) fn lose_descriptor(&self) {
        let row = self.row();
        let length = self.head().map_or(0, Head::length) as u64;
        if settings().supervisor.tell(&self.message(Kind::Drain), None).is_none() {
            add(&row.not_written, length);
            ledger::add(Key::CacheNotWritten, length);
        }
        add(&row.used, length.wrapping_neg());
        self.count_plain(Plain::Moved);
        self.retire(UNKNOWN);
    }

    fn count_plain(&self, reason: Plain) {
        add(&self.row().plain[reason as usize], 1);
        ledger::add(Key::CacheLeftPlain, 1);
    }

    /// The file is no longer cached: its buffer is emptied, and the supervisor gives its duplicate back. An error stays with the slot's
    /// descriptors only if `reason` is none, as at a close.
    pub(super) fn give_up(&self, reason: Option<Plain>, becomes: u8) {
        if let Some(reason) = reason {
            self.count_plain(reason);
        }
        without_signals(|| {
            settings().supervisor.tell(&self.message(Kind::Leave), None);
            self.retire(becomes);
        });
    }

    /// The file is cached no more; what is in the buffer is written. Another process may still get one.
    pub(super) fn make_plain(&self, reason: Plain) {
        self.flush(Flush::Plain);
        if self.size.load(Ordering::Relaxed) > 0 {
            self.give_up(Some(reason), NAMED);
        }
    }

    fn retire(&self, becomes: u8) {
        replace(WRITTEN + self.number() as u8, becomes);
        self.size.store(0, Ordering::Relaxed);
        // An append of this thread that was interrupted finds neither room nor its state. It may still touch the pages, which are given
        // back when the slot is used again.
        if let Some(head) = self.head() {
            head.end();
        }
        ACTIVE.fetch_sub(1, Ordering::Relaxed);
    }

    /// The place of the file as the program sees it. None: the buffer is not this process's any more.
    pub(super) fn place_of(&self, fd: i32) -> Option<u64> {
        let head = self.head()?;
        loop {
            let (mark, length) = (head.mark(), head.length());
            let place = description::place(fd).ok()?;
            if head.owner() != Owner::Process {
                return None;
            }
            // The supervisor takes nothing between the two.
            if head.mark() == mark {
                return Some(place + length as u64);
            }
        }
    }

    /// Takes bytes. `copy` puts them at an address; it may be called again.
    #[inline(always)]
    pub(super) fn append(&'static self, total: usize, copy: &dyn Fn(*mut u8)) -> Option<Append> {
        let head = self.head()?;
        let bytes = self.bytes();
        let taken =
            head.append(total, || self.size.load(Ordering::Relaxed), |at| copy(bytes.wrapping_add(at)));
        if let Append::Taken(length) = taken {
            let row = self.row();
            add(&row.calls, 1);
            add(&row.bytes, total as u64);
            add(&row.used, total as u64);
            add(&self.since, total as u64);
            if row.most.load(Ordering::Relaxed) < length as u64 {
                row.most.store(length as u64, Ordering::Relaxed);
            }
            took(total);
        }
        Some(taken)
    }

    /// Makes the buffer, and gives it and the file to the supervisor. Returns its answer; none: there is no supervisor, or it refuses.
    pub(super) fn map(&self, fd: i32, size: usize) -> Option<u8> {
        let length = (HEAD_BYTES + size).next_multiple_of(4096);
        if !is_file_allowed(length) {
            return None;
        }
        let memory = memfd_create(c"underbar-cache", false).ok()?;
        let mapped = ftruncate(memory, length as u64).and_then(|()| {
            // SAFETY: a new mapping of a new file, which replaces nothing.
            unsafe { mmap(null_mut(), length, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0) }
        });
        let mut answer = None;
        if let Ok(mapped) = mapped {
            self.size.store(size, Ordering::Relaxed);
            answer = settings().supervisor.tell(&self.message(Kind::Take), Some([fd, memory]));
            if answer == Some(DONE) {
                self.mapped.store(length, Ordering::Relaxed);
                self.memory.store(mapped.cast(), Ordering::Relaxed);
            } else {
                self.size.store(0, Ordering::Relaxed);
                // SAFETY: the mapping that was just made, which nobody knows.
                let _ = unsafe { munmap(mapped, length) };
            }
        }
        let _ = close(memory);
        answer
    }
}

/// A slot that nobody uses, its old pages given back.
pub(super) fn free() -> Option<&'static Slot> {
    let slot = ALL.iter().find(|slot| slot.size.load(Ordering::Relaxed) == 0)?;
    let old = slot.memory.swap(null_mut(), Ordering::Relaxed);
    if !old.is_null() {
        // SAFETY: pages of this slot alone. A file is learnt by the owner of the lock, and no append of this thread is under way.
        let _ = unsafe { munmap(old.cast(), slot.mapped.load(Ordering::Relaxed)) };
    }
    Some(slot)
}

/// In a child by fork, which shares its parent's buffers: it has none.
pub(super) fn forget_all() {
    for slot in &ALL {
        slot.memory.store(null_mut(), Ordering::Relaxed);
        slot.size.store(0, Ordering::Relaxed);
    }
    TOTALS.iter().for_each(|total| total.store(0, Ordering::Relaxed));
}

/// Others may have moved the places of all files.
pub(super) fn places_are_unknown() {
    slots().for_each(|slot| slot.place.store(ANYWHERE, Ordering::Relaxed));
    EPOCH.fetch_add(1, Ordering::Relaxed);
}

/// A file by the program's own descriptor.
struct Descriptor {
    fd: i32,
    bytes: *const u8,
}

impl buffer::File for Descriptor {
    type Error = Errno;

    fn place(&mut self) -> Result<u64, Errno> {
        description::place(self.fd)
    }

    fn write(&mut self, from: usize, to: usize) -> Result<usize, Errno> {
        // SAFETY: bytes of the buffer, which is mapped, and of which nobody writes those that its length counts.
        let bytes = unsafe { core::slice::from_raw_parts(self.bytes.add(from), to - from) };
        match switch::own::write(self.fd, bytes) {
            Err(Errno::EINTR) => Ok(0),
            result => result,
        }
    }

    fn has(&mut self, _: u64, _: usize) -> bool {
        // Asked only if the supervisor was killed in the middle of a take, while others wrote by the same description.
        false
    }
}
