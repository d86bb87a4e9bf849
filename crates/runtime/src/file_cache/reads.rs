//! Files that are read: small reads are served from a buffer that the kernel fills at once.
//!
//! ```text
//! file    ... | behind us | waiting in the buffer | not read yet ...
//!                         ^ the program           ^ the kernel's place
//! ```
//!
//! The program's place is the kernel's less what waits. Where others get the descriptor, or the program goes elsewhere, the kernel's place is
//! moved back to the program's, and the buffer is empty.
//!
//! Invariant: a read returns what the kernel would have returned when the buffer was filled; at its end the kernel is asked each time.
//! Only files that this process opened for reading alone have a buffer, and no others have their descriptors. As with writes, a signal
//! handler may read in the middle of a read of its own thread, which then copies again.
//! Not here: which files (`Settings`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use underbar_ledger::Key;
use underbar_ledger::caches::{self, CacheRow, Flush, Plain};
use underbar_sys::description::{
    O_ACCMODE, O_DIRECT, file_system, flags, is_closed_on_exec, place, set_place, without_signals,
};
use underbar_sys::file::fstat;
use underbar_sys::syscall::{Errno, O_RDONLY, map_anonymous, munmap};

use super::entries::{
    ACTIVE, COMPARED, ENTRIES, EPOCH, NOT_READ, PLAIN, READ, REGULAR, SHARED, UNKNOWN, descriptor_of, entry,
    replace,
};
use super::learn::{is_synthetic, path_of};
use super::settings;
use super::slot::{add, row, took};
use crate::switch::own::read;

/// Buffers of a process, at most.
const BUFFERS: usize = caches::ROWS - caches::READ;

/// Drops of a buffer of which less than a quarter was used, one after the other, until the file is left to the kernel.
const PATIENCE: u64 = 4;

/// A buffer. Written under the lock; `state` and `size` also by an interrupted read's handler; relaxed.
struct Buffer {
    memory: AtomicPtr<u8>,
    /// Bytes that fit; 0: the buffer is free.
    size: AtomicUsize,
    mapped: AtomicUsize,
    /// Generation, and in the lower half how many bytes of it were served.
    state: AtomicU64,
    /// Bytes in it, served ones included.
    filled: AtomicUsize,
    device: AtomicU64,
    inode: AtomicU64,
    epoch: AtomicU64,
    wasted: AtomicU64,
    since: AtomicU64,
}

const SERVED: u64 = u32::MAX as u64;
const GENERATION: u64 = 1 << 32;

static ALL: [Buffer; BUFFERS] = [const {
    Buffer {
        memory: AtomicPtr::new(null_mut()),
        size: AtomicUsize::new(0),
        mapped: AtomicUsize::new(0),
        state: AtomicU64::new(0),
        filled: AtomicUsize::new(0),
        device: AtomicU64::new(0),
        inode: AtomicU64::new(0),
        epoch: AtomicU64::new(0),
        wasted: AtomicU64::new(0),
        since: AtomicU64::new(0),
    }
}; BUFFERS];

/// Descriptors that were there when the program began, by bits: others have them, too.
static INHERITED: AtomicU64 = AtomicU64::new(0);

/// What a read is.
pub(super) enum Served {
    /// So many bytes; 0: the end.
    Bytes(usize),
    /// The kernel's.
    NotOurs,
    /// An error.
    Failed(i32),
}

fn buffer_of(fd: i32) -> Option<&'static Buffer> {
    ALL.get(usize::from(entry(fd)?.load(Ordering::Relaxed).checked_sub(READ)?))
}

fn buffers() -> impl Iterator<Item = &'static Buffer> {
    ALL.iter().filter(|buffer| buffer.size.load(Ordering::Relaxed) > 0)
}

/// The program begins.
pub(super) fn begin() {
    let open = (0..64).filter(|fd| is_closed_on_exec(*fd).is_ok()).fold(0, |bits, fd| bits | 1 << fd);
    INHERITED.store(open, Ordering::Relaxed);
    for (_, entry) in ENTRIES.iter().enumerate().filter(|(fd, _)| *fd < 64 && open >> *fd & 1 != 0) {
        entry.store(SHARED, Ordering::Relaxed);
    }
}

impl Buffer {
    fn number(&self) -> usize {
        (core::ptr::from_ref(self).addr() - ALL.as_ptr().addr()) / size_of::<Buffer>()
    }

    fn row(&self) -> &'static CacheRow {
        row(caches::READ + self.number())
    }

    fn served(&self) -> usize {
        (self.state.load(Ordering::Acquire) & SERVED) as usize
    }

    fn waiting(&self) -> usize {
        self.filled.load(Ordering::Relaxed).saturating_sub(self.served())
    }

    /// Begins another generation, with so many bytes of which some were served.
    fn begin(&self, filled: usize, served: usize) {
        self.filled.store(filled, Ordering::Relaxed);
        let state = self.state.load(Ordering::Relaxed);
        let next = (state & !SERVED).wrapping_add(GENERATION) | served as u64;
        self.state.store(next, Ordering::Release);
    }

    /// Copies bytes that wait. None: a signal handler gave the buffer up meanwhile.
    #[inline(always)]
    fn serve(&self, to: *mut u8, most: usize) -> Option<usize> {
        loop {
            let state = self.state.load(Ordering::Acquire);
            if self.size.load(Ordering::Relaxed) == 0 {
                return None;
            }
            let served = (state & SERVED) as usize;
            let bytes = most.min(self.filled.load(Ordering::Relaxed).saturating_sub(served));
            let from = self.memory.load(Ordering::Relaxed).wrapping_add(served);
            // SAFETY: the program's room, and bytes of the buffer that are filled.
            unsafe { core::ptr::copy_nonoverlapping(from, to, bytes) };
            let next = state + bytes as u64;
            if self.state.compare_exchange(state, next, Ordering::Release, Ordering::Relaxed).is_ok() {
                return Some(bytes);
            }
        }
    }

    /// Fills the empty buffer.
    fn fill(&self, fd: i32) -> Result<usize, Errno> {
        without_signals(|| {
            let size = self.size.load(Ordering::Relaxed);
            if size == 0 {
                return Ok(0);
            }
            let row = self.row();
            if self.filled.load(Ordering::Relaxed) > 0 {
                add(&row.flushes[Flush::Full as usize], 1);
                self.wasted.store(0, Ordering::Relaxed);
            }
            // SAFETY: the buffer's pages, of which nobody reads while it is empty.
            let room = unsafe { core::slice::from_raw_parts_mut(self.memory.load(Ordering::Relaxed), size) };
            let bytes = read(fd, room)?;
            self.begin(bytes, 0);
            add(&row.kernel_calls, 1);
            add(&row.kernel_bytes, bytes as u64);
            crate::ledger::add(Key::CacheKernelCalls, 1);
            row.used.store(bytes as u64, Ordering::Relaxed);
            if row.most.load(Ordering::Relaxed) < bytes as u64 {
                row.most.store(bytes as u64, Ordering::Relaxed);
            }
            Ok(bytes)
        })
    }

    /// The kernel's place becomes the program's, and the buffer empty.
    fn settle(&self, reason: Flush) {
        without_signals(|| {
            let waiting = self.waiting();
            let row = self.row();
            let since = self.since.swap(0, Ordering::Relaxed);
            if since > 0 {
                add(&row.forced[caches::power(since)], 1);
            }
            if waiting > 0 {
                add(&row.flushes[reason as usize], 1);
                if let Some(fd) = descriptor_of(READ + self.number() as u8)
                    && let Ok(kernel) = place(fd)
                {
                    let _ = set_place(fd, kernel.saturating_sub(waiting as u64));
                }
                if self.served() < self.filled.load(Ordering::Relaxed) / 4 {
                    add(&self.wasted, 1);
                }
            }
            row.used.store(0, Ordering::Relaxed);
            self.begin(0, 0);
        });
    }

    fn give_up(&self, reason: Option<Plain>, becomes: u8) {
        without_signals(|| {
            if let Some(reason) = reason {
                add(&self.row().plain[reason as usize], 1);
                crate::ledger::add(Key::CacheLeftPlain, 1);
            }
            replace(READ + self.number() as u8, becomes);
            self.size.store(0, Ordering::Relaxed);
            self.begin(0, 0);
            ACTIVE.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Serves a read of a descriptor. Called with the lock.
#[inline(always)]
pub(super) fn serve(fd: i32, to: *mut u8, count: usize, is_nested: bool) -> Served {
    if let Some(buffer) = buffer_of(fd)
        && buffer.waiting() >= count
        && buffer.epoch.load(Ordering::Relaxed) == u64::from(EPOCH.load(Ordering::Relaxed))
        && let Some(bytes) = buffer.serve(to, count)
        && bytes == count
    {
        account(buffer, bytes);
        return Served::Bytes(bytes);
    }
    serve_slowly(fd, to, count, is_nested)
}

#[inline(always)]
fn account(buffer: &Buffer, bytes: usize) {
    let row = buffer.row();
    add(&row.calls, 1);
    add(&row.bytes, bytes as u64);
    row.used.store(buffer.waiting() as u64, Ordering::Relaxed);
    add(&buffer.since, bytes as u64);
    took(bytes);
}

#[cold]
fn serve_slowly(fd: i32, to: *mut u8, count: usize, is_nested: bool) -> Served {
    let buffer = match buffer_of(fd) {
        Some(buffer) => buffer,
        None => {
            let is_new = entry(fd).is_some_and(|entry| entry.load(Ordering::Relaxed) == UNKNOWN);
            if is_nested || !is_new || !without_signals(|| learn(fd)) {
                return Served::NotOurs;
            }
            match buffer_of(fd) {
                Some(buffer) => buffer,
                None => return Served::NotOurs,
            }
        }
    };
    if buffer.epoch.load(Ordering::Relaxed) != u64::from(EPOCH.load(Ordering::Relaxed)) {
        let numbers = (buffer.device.load(Ordering::Relaxed), buffer.inode.load(Ordering::Relaxed));
        if !fstat(fd).is_ok_and(|status| (status.device, status.inode) == numbers) {
            // The descriptor was closed unseen; what waits was its alone.
            buffer.give_up(Some(Plain::Moved), UNKNOWN);
            return Served::NotOurs;
        }
        buffer.epoch.store(EPOCH.load(Ordering::Relaxed).into(), Ordering::Relaxed);
    }
    let mut done = 0;
    while let Some(bytes) = buffer.serve(to.wrapping_add(done), count - done) {
        done += bytes;
        if done == count {
            break;
        }
        if count - done >= buffer.size.load(Ordering::Relaxed) {
            // The rest is larger than the buffer, which is empty.
            add(&buffer.row().large, 1);
            // SAFETY: the rest of the program's room.
            let rest = unsafe { core::slice::from_raw_parts_mut(to.add(done), count - done) };
            match read(fd, rest) {
                Ok(bytes) => done += bytes,
                Err(Errno(number)) if done == 0 => return Served::Failed(number.into()),
                Err(_) => {}
            }
            break;
        }
        match buffer.fill(fd) {
            Ok(0) => break,
            Ok(_) => {}
            Err(Errno(number)) if done == 0 => return Served::Failed(number.into()),
            Err(_) => break,
        }
    }
    account(buffer, done);
    Served::Bytes(done)
}

/// The place of a descriptor as the program sees it; None: the kernel knows.
pub(super) fn place_of(fd: i32) -> Option<u64> {
    let buffer = buffer_of(fd)?;
    Some(place(fd).ok()?.saturating_sub(buffer.waiting() as u64))
}

/// The program goes to a place. Returns it if it is in the buffer; else the kernel is where the program is.
pub(super) fn seeks_to(fd: i32, to: Option<u64>) -> Option<u64> {
    let buffer = buffer_of(fd)?;
    let filled = buffer.filled.load(Ordering::Relaxed);
    if let (Some(to), Ok(kernel)) = (to, place(fd))
        && let Some(first) = kernel.checked_sub(filled as u64)
        && (first..=kernel).contains(&to)
        && filled > 0
    {
        buffer.begin(filled, (to - first) as usize);
        return Some(to);
    }
    buffer.settle(Flush::Seek);
    if buffer.wasted.load(Ordering::Relaxed) >= PATIENCE {
        buffer.give_up(Some(Plain::Random), PLAIN);
    }
    None
}

/// A descriptor's file is served no more.
pub(super) fn make_plain(fd: i32, reason: Plain) {
    if let Some(buffer) = buffer_of(fd) {
        buffer.settle(Flush::Plain);
        buffer.give_up(Some(reason), PLAIN);
    }
}

/// The same for all of them.
pub(super) fn make_all_plain(reason: Plain) {
    for buffer in buffers() {
        buffer.settle(Flush::Plain);
        buffer.give_up(Some(reason), PLAIN);
    }
}

/// The file of that number is opened once more.
pub(super) fn make_file_plain(device: u64, inode: u64) {
    for buffer in buffers() {
        if (buffer.device.load(Ordering::Relaxed), buffer.inode.load(Ordering::Relaxed)) == (device, inode) {
            buffer.settle(Flush::Plain);
            buffer.give_up(Some(Plain::Shared), PLAIN);
        }
    }
}

/// A program is started that gets all descriptors which exec does not close.
pub(super) fn share_with_program() {
    for buffer in buffers() {
        let fd = descriptor_of(READ + buffer.number() as u8);
        if fd.is_none_or(|fd| is_closed_on_exec(fd) != Ok(true)) {
            buffer.settle(Flush::Fork);
            buffer.give_up(Some(Plain::Fork), PLAIN);
        }
    }
}

/// The content of some file changes by its path: what waits may be old.
pub(super) fn settle_all(reason: Flush) {
    buffers().for_each(|buffer| buffer.settle(reason));
}

/// A descriptor is about to be closed.
pub(super) fn closes(fd: i32) {
    if let Some(buffer) = buffer_of(fd) {
        add(&buffer.row().flushes[Flush::Close as usize], 1);
        buffer.give_up(None, UNKNOWN);
    }
    if let Some(bit) = 1_u64.checked_shl(fd as u32) {
        INHERITED.fetch_and(!bit, Ordering::Relaxed);
    }
}

/// The process ends.
pub(super) fn end() {
    for buffer in buffers() {
        buffer.settle(Flush::Exit);
        buffer.give_up(None, PLAIN);
    }
}

/// In a child by fork: its parent made all of them plain before.
pub(super) fn forget_all() {
    ALL.iter().for_each(|buffer| buffer.size.store(0, Ordering::Relaxed));
    INHERITED.store(u64::MAX, Ordering::Relaxed);
}

/// Looks at a descriptor that is read for the first time. Whether it is served from now on.
fn learn(fd: i32) -> bool {
    let Some(entry) = entry(fd) else { return false };
    // What is written there may still be cached.
    entry.store(NOT_READ, Ordering::Relaxed);
    let Ok(status) = fstat(fd) else { return false };
    if status.is_regular() {
        entry.store(REGULAR, Ordering::Relaxed);
    }
    let is_inherited = fd >= 64 || INHERITED.load(Ordering::Relaxed) >> fd & 1 != 0;
    if is_inherited || settings().files.is_empty() {
        return false;
    }
    let Ok(flags) = flags(fd) else { return false };
    let is_for_reading = flags & O_ACCMODE == O_RDONLY && flags & O_DIRECT == 0;
    if !status.is_regular() || status.size <= 0 || !is_for_reading {
        return false;
    }
    let mut room = [0; 1024];
    let path = path_of(fd, &mut room);
    let size = settings().size_of(path, false);
    if size == 0 || file_system(fd).is_ok_and(is_synthetic) {
        return false;
    }
    let numbers = (status.device, status.inode);
    let is_same = |other: &i32| fstat(*other).is_ok_and(|status| (status.device, status.inode) == numbers);
    let Some(buffer) = ALL.iter().find(|buffer| buffer.size.load(Ordering::Relaxed) == 0) else {
        return false;
    };
    let row = buffer.row();
    row.name.store(path.get(path.len().saturating_sub(caches::NAME)..).unwrap_or(path));
    if (0..COMPARED).filter(|other| *other != fd).any(|other| is_same(&other)) {
        add(&row.plain[Plain::Shared as usize], 1);
        crate::ledger::add(Key::CacheLeftPlain, 1);
        return false;
    }
    let length = size.next_multiple_of(4096);
    if buffer.mapped.load(Ordering::Relaxed) != length {
        let old = buffer.memory.swap(null_mut(), Ordering::Relaxed);
        if !old.is_null() {
            // SAFETY: pages of this buffer alone. A file is learnt by the owner of the lock, and no read of this thread is under way.
            let _ = unsafe { munmap(old, buffer.mapped.swap(0, Ordering::Relaxed)) };
        }
        let Ok(memory) = map_anonymous(length) else { return false };
        buffer.memory.store(memory, Ordering::Relaxed);
        buffer.mapped.store(length, Ordering::Relaxed);
    }
    buffer.device.store(status.device, Ordering::Relaxed);
    buffer.inode.store(status.inode, Ordering::Relaxed);
    buffer.epoch.store(EPOCH.load(Ordering::Relaxed).into(), Ordering::Relaxed);
    buffer.wasted.store(0, Ordering::Relaxed);
    buffer.since.store(0, Ordering::Relaxed);
    buffer.begin(0, 0);
    buffer.size.store(size, Ordering::Relaxed);
    row.size.store(size as u64, Ordering::Relaxed);
    add(&row.files, 1);
    entry.store(READ + buffer.number() as u8, Ordering::Relaxed);
    ACTIVE.fetch_add(1, Ordering::Relaxed);
    true
}

const _: () = assert!(READ as usize + BUFFERS < 256);
const _: () = assert!(ENTRIES.len() > COMPARED as usize);
