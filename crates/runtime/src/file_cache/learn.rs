//! A descriptor that is written to for the first time: whether the options name its file, and whether it may be cached.
//!
//! Invariant: what could make a difference to the program is asked before, and the file left alone with a reason.
//! Not here: the buffer that it gets (`slot`).

use core::sync::atomic::Ordering;

use underbar_filecache::message::DONE;
use underbar_filecache::pattern;
use underbar_ledger::Key;
use underbar_ledger::caches::{self, Plain};
use underbar_options::work_files;
use underbar_sys::description::{self, O_ACCMODE, O_APPEND, O_DIRECT, O_DSYNC, are_one, file_system, flags};
use underbar_sys::file::{fstat, readlink};
use underbar_sys::machine::{Resource, limit};
use underbar_sys::syscall::{self, O_RDONLY, close, getpid};

use super::entries::{ACTIVE, COMPARED, EPOCH, NAMED, PLAIN, SHARED, WRITTEN, entry};
use super::slot::{self, ANYWHERE, Slot, add, row, slot_of};
use super::{Settings, settings};
use crate::ledger;

/// Looks at a descriptor that is written to for the first time. Whether it is cached from now on.
pub(super) fn learn(fd: i32) -> bool {
    let Some(entry) = entry(fd) else { return false };
    let may_be_others = entry.load(Ordering::Relaxed) == SHARED;
    match candidate(fd, settings()) {
        Ok((slot, row_number)) => {
            entry.store(WRITTEN + slot.number() as u8, Ordering::Relaxed);
            add(&row(row_number).files, 1);
            return true;
        }
        // Others may name what this process does not: by another number of the descriptor, or in another folder.
        Err(No::Unnamed { is_regular }) => {
            let is = if may_be_others && is_regular { NAMED } else { PLAIN };
            entry.store(is, Ordering::Relaxed);
        }
        Err(No::Because(row_number, reason)) => {
            entry.store(NAMED, Ordering::Relaxed);
            add(&row(row_number).plain[reason as usize], 1);
            ledger::add(Key::CacheLeftPlain, 1);
        }
    }
    false
}

/// Why a file is not cached.
enum No {
    /// The options do not name it.
    Unnamed { is_regular: bool },
    /// They do; the row, and the reason.
    Because(usize, Plain),
}

const FIFO: u32 = 0o010_000;
const KIND: u32 = 0o170_000;

/// A slot for a descriptor, and its row.
fn candidate(fd: i32, settings: &Settings) -> Result<(&'static Slot, usize), No> {
    let Ok(status) = fstat(fd) else { return Err(No::Unnamed { is_regular: false }) };
    let unnamed = || Err(No::Unnamed { is_regular: status.is_regular() });
    let is_print = settings.print > 0 && matches!(fd, 1 | 2);
    let mut room = [0; 1024];
    let mut path: &[u8] = b"";
    let (row_number, size) = if is_print {
        (caches::PRINT, settings.print)
    } else {
        if settings.files.is_empty() || !(status.is_regular() || status.mode & KIND == FIFO) {
            return unnamed();
        }
        path = path_of(fd, &mut room);
        match settings.size_of(path, true) {
            0 => return unnamed(),
            size => (caches::WRITE, size),
        }
    };
    if path.is_empty() {
        path = path_of(fd, &mut room);
    }
    let row = row(row_number);
    row.name.store(path.get(path.len().saturating_sub(caches::NAME)..).unwrap_or(path));
    let plain = |reason| Err(No::Because(row_number, reason));
    if !status.is_regular() || file_system(fd).is_ok_and(is_synthetic) {
        return plain(Plain::Special);
    }
    let Ok(flags) = flags(fd) else { return unnamed() };
    if flags & O_ACCMODE == O_RDONLY {
        return unnamed();
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
                return Ok((slot, row_number));
            }
            continue;
        }
        if let Some(slot) = slot_of(other) {
            slot.make_plain(Plain::Shared);
        }
        return plain(Plain::Shared);
    }
    if is_mapped(status.inode) {
        return plain(Plain::Mapped);
    }
    let Some(slot) = slot::free() else { return plain(Plain::Room) };
    slot.device.store(status.device, Ordering::Relaxed);
    slot.inode.store(status.inode, Ordering::Relaxed);
    match slot.map(fd, size) {
        Some(DONE) => {}
        Some(_) => return plain(Plain::Others),
        None => return plain(Plain::NoParent),
    }
    slot.place.store(description::place(fd).unwrap_or(ANYWHERE), Ordering::Relaxed);
    slot.epoch.store(EPOCH.load(Ordering::Relaxed), Ordering::Relaxed);
    slot.error.store(0, Ordering::Relaxed);
    slot.row.store(row_number, Ordering::Relaxed);
    slot.since.store(0, Ordering::Relaxed);
    slot.is_print.store(u32::from(is_print), Ordering::Relaxed);
    row.size.store(size as u64, Ordering::Relaxed);
    ACTIVE.fetch_add(1, Ordering::Relaxed);
    Ok((slot, row_number))
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
