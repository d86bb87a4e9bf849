//! Which descriptors are cached, and the buffers of those that are.
//!
//! ```text
//! descriptor ─> UNKNOWN   asked at its next write (`learn`)
//!            ─> PLAIN     the kernel's, until it is closed
//!            ─> a slot    buffer in memory that the supervisor shares, the file's numbers, the row of its figures
//! ```
//!
//! Two descriptors have one slot if they are one description: standard output and standard error, by `> file 2>&1`.
//!
//! Invariant: all but the first look at a descriptor's entry is under the lock of `lock`. A slot that is given up has a size of 0, so that
//! an append which a signal handler interrupted finds no room there. A buffer is emptied while all signals are blocked.
//! Not here: which calls do what (`calls`, `before`), the steps of a buffer (`underbar_filecache`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use underbar_filecache::buffer::{self, Append, HEAD_BYTES, Head};
use underbar_filecache::message::{Kind, Message};
use underbar_filecache::pattern;
use underbar_ledger::Key;
use underbar_ledger::caches::{self, CacheRow, Flush, Plain};
use underbar_options::work_files;
use underbar_sys::description::{
    self, O_ACCMODE, O_APPEND, O_DIRECT, O_DSYNC, are_one, file_system, flags, is_closed_on_exec,
    without_signals,
};
use underbar_sys::file::{fstat, readlink};
use underbar_sys::machine::{Resource, limit};
use underbar_sys::syscall::{
    self, Errno, MAP_SHARED, O_RDONLY, PROT_READ, PROT_WRITE, close, ftruncate, getpid, memfd_create, mmap,
    munmap,
};

use super::entries::{
    ACTIVE, COMPARED, ENTRIES, EPOCH, NOT_READ, PLAIN, REGULAR, UNKNOWN, WRITTEN, descriptor_of, entry,
    replace,
};
use super::{Settings, settings};
use crate::{ledger, switch};

/// Buffers of a process, at most.
const SLOTS: usize = 24;

/// A buffer and its file. Written under the lock, but for `size` and `memory` which an interrupted append reads; relaxed.
struct Slot {
    /// Head and bytes; null: the slot is free.
    memory: AtomicPtr<Head>,
    /// Bytes that fit; 0: no more.
    size: AtomicUsize,
    mapped: AtomicUsize,
    device: AtomicU64,
    inode: AtomicU64,
    /// The place at which the next flush is expected to write; [`ANYWHERE`]: others may have moved it.
    place: AtomicU64,
    epoch: AtomicU32,
    /// An error that the program has not been told yet.
    error: AtomicI32,
    /// The row of the figures.
    row: AtomicUsize,
    /// Bytes since the last flush that was forced.
    since: AtomicU64,
    /// Whether standard input makes it empty.
    is_print: AtomicU32,
}

const ANYWHERE: u64 = u64::MAX;

static ALL: [Slot; SLOTS] = [const {
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
static TOTALS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// A cache took or served a call.
#[inline(always)]
pub(super) fn took(bytes: usize) {
    add(&TOTALS[0], 1);
    add(&TOTALS[1], bytes as u64);
    ledger::set(Key::CacheCalls, TOTALS[0].load(Ordering::Relaxed));
    ledger::set(Key::CacheBytes, TOTALS[1].load(Ordering::Relaxed));
}

/// What became of a write.
pub(super) enum Taken {
    /// The cache has the bytes.
    Whole,
    /// It is the kernel's.
    NotOurs,
    /// An error that earlier bytes met, or this one.
    Failed(i32),
}

fn slot_of(fd: i32) -> Option<&'static Slot> {
    ALL.get(usize::from(entry(fd)?.load(Ordering::Relaxed).checked_sub(WRITTEN)?))
}

/// Whether a descriptor has a buffer of what is written.
pub(super) fn is_written(fd: i32) -> bool {
    slot_of(fd).is_some()
}

fn number(slot: &Slot) -> usize {
    (core::ptr::from_ref(slot).addr() - ALL.as_ptr().addr()) / size_of::<Slot>()
}

/// Slots that are in use.
fn slots() -> impl Iterator<Item = &'static Slot> {
    ALL.iter().filter(|slot| slot.size.load(Ordering::Relaxed) > 0)
}

pub(super) fn row(at: usize) -> &'static CacheRow {
    let rows = ledger::rows_of_caches();
    rows.rows.get(at).unwrap_or(&rows.rows[caches::WRITE])
}

pub(super) fn add(word: &AtomicU64, amount: u64) {
    word.store(word.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
}

impl Slot {
    #[inline(always)]
    fn head(&self) -> Option<&'static Head> {
        // SAFETY: null, or mapped and never unmapped while the slot is in use; the words are atomics.
        unsafe { self.memory.load(Ordering::Relaxed).as_ref() }
    }

    fn bytes(&self) -> *mut u8 {
        self.memory.load(Ordering::Relaxed).cast::<u8>().wrapping_add(HEAD_BYTES)
    }

    fn message(&self, kind: Kind) -> Message {
        Message {
            kind,
            buffer: number(self) as u32,
            size: self.size.load(Ordering::Relaxed) as u64,
            device: self.device.load(Ordering::Relaxed),
            inode: self.inode.load(Ordering::Relaxed),
        }
    }

    /// A descriptor that has this slot.
    fn descriptor(&self) -> Option<i32> {
        descriptor_of(WRITTEN + number(self) as u8)
    }

    fn is_file_of(&self, fd: i32) -> bool {
        let numbers = (self.device.load(Ordering::Relaxed), self.inode.load(Ordering::Relaxed));
        fstat(fd).is_ok_and(|status| (status.device, status.inode) == numbers)
    }

    /// Empties the buffer. False: some bytes are lost, and the error waits for the program.
    fn flush(&self, reason: Flush) -> bool {
        let Some(head) = self.head() else { return true };
        if head.length() == 0 {
            self.count_forced(reason);
            return self.error.load(Ordering::Relaxed) == 0;
        }
        without_signals(|| self.flush_undisturbed(head, reason))
    }

    fn count_forced(&self, reason: Flush) {
        let since = self.since.load(Ordering::Relaxed);
        if reason != Flush::Full && since > 0 {
            add(&row(self.row.load(Ordering::Relaxed)).forced[caches::power(since)], 1);
            self.since.store(0, Ordering::Relaxed);
        }
    }

    fn flush_undisturbed(&self, head: &Head, reason: Flush) -> bool {
        let row = row(self.row.load(Ordering::Relaxed));
        let Some(fd) = self.descriptor().filter(|fd| self.is_file_of(*fd)) else {
            // The descriptor was closed or replaced unseen. The supervisor has its own.
            self.lose_descriptor();
            return false;
        };
        add(&row.flushes[reason as usize], 1);
        self.count_forced(reason);
        let settled = head.settle(&mut Descriptor { fd, bytes: self.bytes() });
        let length = settled.length as u64;
        add(&row.used, length.wrapping_neg());
        add(&row.kernel_calls, settled.calls);
        add(&row.kernel_bytes, settled.written as u64);
        ledger::add(Key::CacheKernelCalls, settled.calls);
        let expected = self.place.load(Ordering::Relaxed);
        let was_moved = expected != ANYWHERE && settled.place.is_some_and(|place| place != expected);
        let next = settled.place.map_or(ANYWHERE, |place| place + settled.written as u64);
        self.place.store(next, Ordering::Relaxed);
        if let Some((bytes, Errno(number))) = settled.lost {
            add(&row.not_written, bytes as u64);
            row.error.store(u64::from(number), Ordering::Relaxed);
            ledger::add(Key::CacheNotWritten, bytes as u64);
            self.error.store(i32::from(number), Ordering::Relaxed);
        }
        if was_moved {
            self.give_up(Some(Plain::Moved), PLAIN);
        }
        self.error.load(Ordering::Relaxed) == 0
    }

    /// Its descriptor is no longer the file: the supervisor writes what is there by its own.
    fn lose_descriptor(&self) {
        let row = row(self.row.load(Ordering::Relaxed));
        let length = self.head().map_or(0, Head::length) as u64;
        if !settings().supervisor.tell(&self.message(Kind::Drain), None) {
            add(&row.not_written, length);
            ledger::add(Key::CacheNotWritten, length);
        }
        add(&row.used, length.wrapping_neg());
        add(&row.plain[Plain::Moved as usize], 1);
        ledger::add(Key::CacheLeftPlain, 1);
        self.retire(UNKNOWN);
    }

    /// The file is no longer cached: its buffer is emptied, and the supervisor gives its duplicate back. An error stays with the slot's
    /// descriptors only if `reason` is none, as at a close.
    fn give_up(&self, reason: Option<Plain>, becomes: u8) {
        if let Some(reason) = reason {
            let row = row(self.row.load(Ordering::Relaxed));
            add(&row.plain[reason as usize], 1);
            ledger::add(Key::CacheLeftPlain, 1);
        }
        without_signals(|| {
            settings().supervisor.tell(&self.message(Kind::Leave), None);
            self.retire(becomes);
        });
    }

    fn retire(&self, becomes: u8) {
        replace(WRITTEN + number(self) as u8, becomes);
        self.size.store(0, Ordering::Relaxed);
        // An append of this thread that was interrupted finds neither room nor its state. It may still touch the pages, which are given
        // back when the slot is used again.
        if let Some(head) = self.head() {
            head.end();
        }
        ACTIVE.fetch_sub(1, Ordering::Relaxed);
    }

    /// Takes bytes. `copy` puts them at an address; it may be called again.
    #[inline(always)]
    fn append(&'static self, total: usize, copy: &dyn Fn(*mut u8)) -> Option<Append> {
        let head = self.head()?;
        let bytes = self.bytes();
        let taken =
            head.append(total, || self.size.load(Ordering::Relaxed), |at| copy(bytes.wrapping_add(at)));
        if let Append::Taken(length) = taken {
            let row = row(self.row.load(Ordering::Relaxed));
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
        // Only the supervisor finds a flush that was cut short.
        false
    }
}

/// Takes a write of a descriptor. Called with the lock; `is_nested`: by a signal handler of the thread that has it.
#[inline(always)]
pub(super) fn take(fd: i32, total: usize, copy: &dyn Fn(*mut u8), is_nested: bool) -> Taken {
    if let Some(slot) = slot_of(fd)
        && !is_nested
        && slot.epoch.load(Ordering::Relaxed) == EPOCH.load(Ordering::Relaxed)
        && slot.error.load(Ordering::Relaxed) == 0
        && let Some(Append::Taken(_)) = slot.append(total, copy)
    {
        return Taken::Whole;
    }
    take_slowly(fd, total, copy, is_nested)
}

#[cold]
fn take_slowly(fd: i32, total: usize, copy: &dyn Fn(*mut u8), is_nested: bool) -> Taken {
    loop {
        let Some(slot) = slot_of(fd) else {
            let is_new = entry(fd)
                .is_some_and(|entry| matches!(entry.load(Ordering::Relaxed), UNKNOWN | NOT_READ | REGULAR));
            if is_nested || !is_new || !without_signals(|| learn(fd)) {
                return Taken::NotOurs;
            }
            continue;
        };
        if slot.epoch.load(Ordering::Relaxed) != EPOCH.load(Ordering::Relaxed) {
            if slot.is_file_of(fd) {
                slot.epoch.store(EPOCH.load(Ordering::Relaxed), Ordering::Relaxed);
            } else {
                without_signals(|| slot.lose_descriptor());
            }
            continue;
        }
        let error = slot.error.swap(0, Ordering::Relaxed);
        if error != 0 {
            return Taken::Failed(error);
        }
        if is_nested || total >= slot.size.load(Ordering::Relaxed) {
            let row = row(slot.row.load(Ordering::Relaxed));
            add(&row.large, 1);
            slot.flush(Flush::Full);
            slot.place.store(ANYWHERE, Ordering::Relaxed);
            match slot.error.swap(0, Ordering::Relaxed) {
                0 => return Taken::NotOurs,
                error => return Taken::Failed(error),
            }
        }
        match slot.append(total, copy) {
            Some(Append::Taken(_)) => return Taken::Whole,
            _ if slot.size.load(Ordering::Relaxed) == 0 => {}
            _ => {
                slot.flush(Flush::Full);
            }
        }
    }
}

/// Empties the buffer of a descriptor. An error waits for the program's next write, fsync or close.
pub(super) fn flush(fd: i32, reason: Flush) {
    if let Some(slot) = slot_of(fd) {
        slot.flush(reason);
    }
}

/// The error that waits for the program, which is told now.
pub(super) fn error_of(fd: i32) -> Option<i32> {
    slot_of(fd).map(|slot| slot.error.swap(0, Ordering::Relaxed)).filter(|error| *error != 0)
}

/// Empties all buffers.
pub(super) fn flush_all(reason: Flush) {
    slots().for_each(|slot| {
        slot.flush(reason);
    });
}

/// Empties the buffers of printed output.
pub(super) fn flush_printed(reason: Flush) {
    for slot in slots().filter(|slot| slot.is_print.load(Ordering::Relaxed) != 0) {
        slot.flush(reason);
    }
}

/// A descriptor's file is cached no more; what it has in its buffer is written.
pub(super) fn make_plain(fd: i32, reason: Plain) {
    if let Some(slot) = slot_of(fd) {
        slot.flush(Flush::Plain);
        if slot.size.load(Ordering::Relaxed) > 0 {
            slot.give_up(Some(reason), PLAIN);
        }
    }
}

/// The same for all of them.
pub(super) fn make_all_plain(reason: Plain) {
    for slot in slots() {
        if let Some(fd) = slot.descriptor() {
            make_plain(fd, reason);
        }
    }
}

/// A program is started that gets all descriptors which exec does not close: those are cached no more. The others are the caller's alone
/// as soon as the new program runs.
pub(super) fn share_with_program() {
    for slot in slots() {
        slot.flush(Flush::Fork);
        slot.place.store(ANYWHERE, Ordering::Relaxed);
        let Some(fd) = slot.descriptor() else { continue };
        if is_closed_on_exec(fd) != Ok(true) {
            make_plain(fd, Plain::Fork);
        }
    }
    share_unknown(false);
}

/// The file of that number is cached no more: it is opened once more.
pub(super) fn make_file_plain(device: u64, inode: u64) {
    for slot in slots() {
        if (slot.device.load(Ordering::Relaxed), slot.inode.load(Ordering::Relaxed)) == (device, inode)
            && let Some(fd) = slot.descriptor()
        {
            make_plain(fd, Plain::Shared);
        }
    }
}

/// A descriptor is about to be closed. Returns an error that earlier bytes met.
pub(super) fn closes(fd: i32) -> Option<i32> {
    let slot = slot_of(fd);
    let mut error = 0;
    if let Some(slot) = slot {
        slot.flush(Flush::Close);
        error = slot.error.swap(0, Ordering::Relaxed);
    }
    // The flush may have given it up.
    match slot_of(fd) {
        Some(slot) => {
            if let Some(entry) = entry(fd) {
                entry.store(UNKNOWN, Ordering::Relaxed);
            }
            if slot.descriptor().is_none() {
                slot.give_up(None, UNKNOWN);
            }
        }
        None => {
            if let Some(entry) = entry(fd) {
                entry.store(UNKNOWN, Ordering::Relaxed);
            }
        }
    }
    (error != 0).then_some(error)
}

/// The place of a descriptor as the program sees it; None: the kernel knows.
pub(super) fn place(fd: i32) -> Option<u64> {
    let head = slot_of(fd)?.head()?;
    Some(description::place(fd).ok()? + head.length() as u64)
}

/// Others may have moved the places of all files.
pub(super) fn places_are_unknown() {
    slots().for_each(|slot| slot.place.store(ANYWHERE, Ordering::Relaxed));
    EPOCH.fetch_add(1, Ordering::Relaxed);
}

/// The program moves the place of a descriptor.
pub(super) fn moves(fd: i32) {
    if let Some(slot) = slot_of(fd) {
        slot.place.store(ANYWHERE, Ordering::Relaxed);
    }
}

/// Descriptors that were not looked at yet and that a child gets, too, are never cached: all that are open, or those that exec does not
/// close.
pub(super) fn share_unknown(all: bool) {
    const ASKED: usize = 64;
    for (fd, entry) in ENTRIES
        .iter()
        .enumerate()
        .filter(|(_, entry)| matches!(entry.load(Ordering::Relaxed), UNKNOWN | NOT_READ | REGULAR))
    {
        let is_shared = fd >= ASKED || is_closed_on_exec(fd as i32).is_ok_and(|is_closed| all || !is_closed);
        if !is_shared {
            continue;
        }
        entry.store(PLAIN, Ordering::Relaxed);
        if matches!(fd, 1 | 2) && settings().print > 0 {
            add(&row(caches::PRINT).plain[Plain::Fork as usize], 1);
            ledger::add(Key::CacheLeftPlain, 1);
        }
    }
}

/// The process ends, or can make no system calls soon: no file is cached any more.
pub(super) fn end() {
    for slot in slots() {
        slot.flush(Flush::Exit);
        if slot.size.load(Ordering::Relaxed) > 0 {
            slot.give_up(None, PLAIN);
        }
    }
    ACTIVE.store(0, Ordering::Relaxed);
}

/// Whether printed output is cached.
pub(super) fn has_printed() -> bool {
    slots().any(|slot| slot.is_print.load(Ordering::Relaxed) != 0)
}

/// In a child by fork, which shares its parent's buffers: it has none.
pub(super) fn forget_all() {
    for slot in &ALL {
        slot.memory.store(null_mut(), Ordering::Relaxed);
        slot.size.store(0, Ordering::Relaxed);
    }
    for entry in &ENTRIES {
        if entry.load(Ordering::Relaxed) >= WRITTEN {
            entry.store(PLAIN, Ordering::Relaxed);
        }
    }
    TOTALS.iter().for_each(|total| total.store(0, Ordering::Relaxed));
    ACTIVE.store(1, Ordering::Relaxed);
}

// ---- a new file ---------------------------------------------------------------------------------------------------

/// Looks at a descriptor that is written to for the first time. Whether it is cached from now on.
fn learn(fd: i32) -> bool {
    let Some(entry) = entry(fd) else { return false };
    match candidate(fd, settings()) {
        Ok(Some((slot, row_number))) => {
            entry.store(WRITTEN + number(slot) as u8, Ordering::Relaxed);
            let row = row(row_number);
            add(&row.files, 1);
            true
        }
        Ok(None) => {
            entry.store(PLAIN, Ordering::Relaxed);
            false
        }
        Err((row_number, reason)) => {
            entry.store(PLAIN, Ordering::Relaxed);
            add(&row(row_number).plain[reason as usize], 1);
            ledger::add(Key::CacheLeftPlain, 1);
            false
        }
    }
}

const FIFO: u32 = 0o010_000;
const KIND: u32 = 0o170_000;

/// A slot for a descriptor if the options name its file; an error if they do and it must be left alone.
fn candidate(fd: i32, settings: &Settings) -> Result<Option<(&'static Slot, usize)>, (usize, Plain)> {
    let Ok(status) = fstat(fd) else { return Ok(None) };
    let is_print = settings.print > 0 && matches!(fd, 1 | 2);
    let mut room = [0; 1024];
    let mut path: &[u8] = b"";
    let (row_number, size) = if is_print {
        (caches::PRINT, settings.print)
    } else {
        if settings.files.is_empty() || !(status.is_regular() || status.mode & KIND == FIFO) {
            return Ok(None);
        }
        path = path_of(fd, &mut room);
        match settings.size_of(path, true) {
            0 => return Ok(None),
            size => (caches::WRITE, size),
        }
    };
    if path.is_empty() {
        path = path_of(fd, &mut room);
    }
    let row = row(row_number);
    row.name.store(path.get(path.len().saturating_sub(caches::NAME)..).unwrap_or(path));
    let plain = |reason| Err((row_number, reason));
    if !status.is_regular() || file_system(fd).is_ok_and(is_synthetic) {
        return plain(Plain::Special);
    }
    let Ok(flags) = flags(fd) else { return Ok(None) };
    if flags & O_ACCMODE == O_RDONLY {
        return Ok(None);
    }
    if flags & O_APPEND != 0 {
        return plain(Plain::Append);
    }
    if flags & (O_DSYNC | O_DIRECT) != 0 {
        return plain(Plain::Synchronous);
    }
    if limit(Resource::File) != Ok(None) {
        return plain(Plain::Limit);
    }
    let numbers = (status.device, status.inode);
    for other in (0..COMPARED).filter(|other| *other != fd) {
        if !fstat(other).is_ok_and(|status| (status.device, status.inode) == numbers) {
            continue;
        }
        let are_streams = is_print && matches!(other, 1 | 2);
        if are_streams && are_one(getpid(), fd, other) == Ok(true) {
            // Standard output and standard error in one file.
            if let Some(slot) = slot_of(other) {
                return Ok(Some((slot, row_number)));
            }
            continue;
        }
        make_plain(other, Plain::Shared);
        return plain(Plain::Shared);
    }
    if is_mapped(status.inode) {
        return plain(Plain::Mapped);
    }
    let Some(slot) = free_slot() else { return plain(Plain::Room) };
    slot.device.store(status.device, Ordering::Relaxed);
    slot.inode.store(status.inode, Ordering::Relaxed);
    if !slot.map(fd, size, settings) {
        return plain(Plain::NoParent);
    }
    slot.place.store(description::place(fd).unwrap_or(ANYWHERE), Ordering::Relaxed);
    slot.epoch.store(EPOCH.load(Ordering::Relaxed), Ordering::Relaxed);
    slot.error.store(0, Ordering::Relaxed);
    slot.row.store(row_number, Ordering::Relaxed);
    slot.since.store(0, Ordering::Relaxed);
    slot.is_print.store(u32::from(is_print), Ordering::Relaxed);
    row.size.store(size as u64, Ordering::Relaxed);
    ACTIVE.fetch_add(1, Ordering::Relaxed);
    Ok(Some((slot, row_number)))
}

/// A slot that nobody uses, its old pages given back.
fn free_slot() -> Option<&'static Slot> {
    let slot = ALL.iter().find(|slot| slot.size.load(Ordering::Relaxed) == 0)?;
    let old = slot.memory.swap(null_mut(), Ordering::Relaxed);
    if !old.is_null() {
        // SAFETY: pages of this slot alone. A file is learnt by the owner of the lock, and no append of this thread is under way.
        let _ = unsafe { munmap(old.cast(), slot.mapped.load(Ordering::Relaxed)) };
    }
    Some(slot)
}

impl Slot {
    /// Makes the buffer, and gives it and the file to the supervisor. False: there is none, or it refuses.
    fn map(&self, fd: i32, size: usize, settings: &Settings) -> bool {
        let length = (HEAD_BYTES + size).next_multiple_of(4096);
        let Ok(memory) = memfd_create(c"underbar-cache", false) else { return false };
        let mapped = ftruncate(memory, length as u64).and_then(|()| {
            // SAFETY: a new mapping of a new file, which replaces nothing.
            unsafe { mmap(null_mut(), length, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0) }
        });
        let mut is_taken = false;
        if let Ok(mapped) = mapped {
            self.size.store(size, Ordering::Relaxed);
            is_taken = settings.supervisor.tell(&self.message(Kind::Take), Some([fd, memory]));
            if is_taken {
                self.mapped.store(length, Ordering::Relaxed);
                self.memory.store(mapped.cast(), Ordering::Relaxed);
            } else {
                self.size.store(0, Ordering::Relaxed);
                // SAFETY: the mapping that was just made, which nobody knows.
                let _ = unsafe { munmap(mapped, length) };
            }
        }
        let _ = close(memory);
        is_taken
    }
}

impl Settings {
    /// Bytes of the cache for a file that is written, or read; 0: none.
    pub(super) fn size_of(&self, path: &[u8], is_written: bool) -> usize {
        let mut room = [0; 1024];
        let directory = readlink(c"/proc/self/cwd", &mut room).unwrap_or_default();
        let mut files = work_files(self.files.get(), self.read as u64, self.write as u64);
        files
            .find(|file| pattern::names(file.pattern(), path, directory))
            .map_or(0, |file| if is_written { file.write } else { file.read } as usize)
    }
}

/// Whether WORKFILE names the file of a descriptor, cached or not.
pub(super) fn is_work_file(fd: i32) -> bool {
    if !(0..10_000).contains(&fd) {
        return false;
    }
    let (mut path, mut folder) = ([0; 1024], [0; 1024]);
    let path = path_of(fd, &mut path);
    let directory = readlink(c"/proc/self/cwd", &mut folder).unwrap_or_default();
    let mut files = work_files(settings().files.get(), 0, 0);
    files.any(|file| pattern::names(file.pattern(), path, directory))
}

/// Whether a file of that number is mapped, as far as the kernel tells. On whichever device it is: a mistake leaves a file plain.
fn is_mapped(inode: u64) -> bool {
    let Ok(fd) = syscall::open(c"/proc/self/maps", O_RDONLY | syscall::O_CLOEXEC, 0) else { return true };
    let mut room = [0; 2048];
    let (mut field, mut number, mut found) = (0, 0_u64, false);
    while let Ok(length @ 1..) = ledger::own_reads::read(fd, &mut room) {
        for &byte in &room[..length] {
            match byte {
                b'\n' => field = 0,
                // addresses, rights, offset, device, number
                b' ' if field < 5 => {
                    field += 1;
                    if field == 5 {
                        found |= number == inode;
                    }
                    number = 0;
                }
                b'0'..=b'9' if field == 4 => {
                    number = number.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
                }
                _ => {}
            }
        }
    }
    let _ = close(fd);
    found
}

/// The path of a descriptor.
pub(super) fn path_of(fd: i32, room: &mut [u8]) -> &[u8] {
    let mut name = *b"/proc/self/fd/\0\0\0\0\0";
    let mut digits = [0; 4];
    let (mut rest, mut count) = (fd, 0);
    while count == 0 || rest > 0 {
        digits[count] = b'0' + (rest % 10) as u8;
        rest /= 10;
        count += 1;
    }
    for at in 0..count {
        name[14 + at] = digits[count - 1 - at];
    }
    match core::ffi::CStr::from_bytes_until_nul(&name) {
        Ok(name) => readlink(name, room).unwrap_or_default(),
        Err(_) => b"",
    }
}

/// File systems whose files the kernel makes up: each write is an order.
pub(super) fn is_synthetic(kind: u64) -> bool {
    const KINDS: [u64; 12] = [
        0x9fa0,      // proc
        0x6265_6572, // sysfs
        0x6367_7270, // cgroup2
        0x0027_e0eb, // cgroup
        0x6462_6720, // debugfs
        0x7472_6163, // tracefs
        0x7363_6673, // securityfs
        0x6265_6570, // configfs
        0xcafe_4a11, // bpf
        0xf97c_ff8c, // selinuxfs
        0x1980_0202, // mqueue
        0x6165_676c, // pstore
    ];
    KINDS.contains(&(kind & 0xffff_ffff))
}
