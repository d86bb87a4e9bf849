//! The ledger's file, as this process reaches it: by its path, or from the part that is mapped already.
//!
//! ```text
//! path ── open ──> descriptor ── fallocate, mmap ──────────────────────────────┐
//!          └─ not permitted, or not below this root                            ├──> pages of the file
//! the header, mapped earlier ── mremap of no bytes, then populate ─────────────┘
//! ```
//! A daemon that becomes another user, or changes its root, cannot open the file again in which it has a slot; nor can its children. But
//! the header stays mapped, and the kernel maps more of a shared mapping's file from there.
//!
//! Invariants: a page is allocated before anything touches it, so a full file system means no page, never SIGBUS. No file is mapped
//! that another user can cut short. Once a header is mapped, no other file is. No descriptor stays open.
//! Not here: what is in the pages (`attach`).

use core::ffi::CStr;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use underbar_ledger::Header;
use underbar_ledger::layout::{CONTROL_OFFSET, FILE_BYTES};
use underbar_sys::{file, syscall};

/// Longest path of a ledger.
const PATH_BYTES: usize = 512;

/// The mapped header; null without a ledger. Set when attached, kept for ever.
static HEADER: AtomicPtr<Header> = AtomicPtr::new(null_mut());
/// The identity of that file: device and number. Written once, before HEADER; the header stays mapped, so no other file
/// gets the number.
static DEVICE: AtomicU64 = AtomicU64::new(0);
static INODE: AtomicU64 = AtomicU64::new(0);
/// The file's path, for children made by fork. Written once, at the start.
static PATH: [AtomicU64; PATH_BYTES / 8] = [const { AtomicU64::new(0) }; PATH_BYTES / 8];

/// The file, while it is reached.
pub(super) enum Reached {
    /// Open, and what the kernel says of it.
    Open(i32, file::Status),
    /// Mapped from its first page on.
    Mapped(&'static Header),
}

/// Remembers the path. Once, at the start. False: it is too long.
pub(super) fn remember(path: &CStr) -> bool {
    let bytes = path.to_bytes_with_nul();
    for (word, bytes) in PATH.iter().zip(bytes.chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        word.store(u64::from_ne_bytes(whole), Ordering::Relaxed);
    }
    bytes.len() <= PATH_BYTES
}

/// Writes the ledger's path to `room`; returns its length without a final zero. None if it does not fit.
pub(crate) fn path(room: &mut [u8]) -> Option<usize> {
    for (bytes, word) in room.get_mut(..PATH_BYTES)?.chunks_mut(8).zip(&PATH) {
        bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
    }
    room.iter().position(|&byte| byte == 0)
}

/// The mapped header; None without a ledger.
pub(super) fn header() -> Option<&'static Header> {
    // SAFETY: null, or mapped for ever.
    unsafe { HEADER.load(Ordering::Relaxed).as_ref() }
}

/// Whether a program that this process starts finds at `path` the ledger that this process has. True also if this process
/// has none.
pub(crate) fn is_found_at(path: &CStr) -> bool {
    header().is_none() || file::stat(path).is_ok_and(|status| is_same(&status))
}

/// Calls `then` with the remembered file. None if there is no way to it.
pub(super) fn reach<R>(then: impl FnOnce(&Reached) -> R) -> Option<R> {
    let mut room = [0_u8; PATH_BYTES];
    path(&mut room)?;
    let path = CStr::from_bytes_until_nul(&room).ok()?;
    // Another user may have put a pipe in its place; opening it must not block.
    let flags = syscall::O_RDWR | syscall::O_CLOEXEC | syscall::O_NOFOLLOW | syscall::O_NONBLOCK;
    match syscall::open(path, flags, 0) {
        Ok(fd) => {
            let done = match file::fstat(fd) {
                Ok(status) if is_the_ledger(&status) => Some(then(&Reached::Open(fd, status))),
                _ => None,
            };
            let _ = syscall::close(fd);
            done
        }
        Err(error) if error == syscall::Errno::EACCES || is_elsewhere(error, &mut room) => {
            header().map(|header| then(&Reached::Mapped(header)))
        }
        Err(_) => None,
    }
}

/// Whether not even the folder of a file that is not found is there: then this process has another root now. If there is the folder,
/// the file was removed, and has no reader any more.
fn is_elsewhere(error: syscall::Errno, path: &mut [u8]) -> bool {
    let slash = path.iter().rposition(|&byte| byte == b'/');
    let Some(name) = slash.and_then(|slash| path.get_mut(slash + 1)) else { return false };
    *name = 0;
    error == syscall::Errno::ENOENT
        && CStr::from_bytes_until_nul(path).is_ok_and(|folder| file::stat(folder).err() == Some(error))
}

/// Whether this is the file whose header is mapped, or, if none is mapped, a file that no other user can cut short.
fn is_the_ledger(status: &file::Status) -> bool {
    if header().is_some() {
        return is_same(status);
    }
    const OTHERS_WRITE: u32 = 0o022;
    status.is_regular()
        && status.size >= FILE_BYTES as i64
        && status.mode & OTHERS_WRITE == 0
        && (status.user == 0 || status.user == syscall::geteuid())
}

fn is_same(status: &file::Status) -> bool {
    (status.device, status.inode) == (DEVICE.load(Ordering::Relaxed), INODE.load(Ordering::Relaxed))
}

impl Reached {
    /// The header, mapped once in a process and its forked children. None if the file is no ledger.
    pub(super) fn header(&self) -> Option<&'static Header> {
        let Reached::Open(fd, status) = self else { return header() };
        if let Some(header) = header() {
            return Some(header);
        }
        let page: *mut Header = map_open(*fd, 0, CONTROL_OFFSET, WRITE)?.cast();
        // SAFETY: a mapped page; a header is made of atomics. It stays mapped.
        let header = unsafe { &*page };
        if !header.is_ours() {
            return None;
        }
        DEVICE.store(status.device, Ordering::Relaxed);
        INODE.store(status.inode, Ordering::Relaxed);
        HEADER.store(page, Ordering::Relaxed);
        Some(header)
    }

    /// The descriptor, if the file is open.
    pub(super) fn descriptor(&self) -> Option<i32> {
        match self {
            Reached::Open(fd, _) => Some(*fd),
            Reached::Mapped(_) => None,
        }
    }

    /// Allocates a part of the file, whose pages may be touched from then on. False if there is no room.
    pub(super) fn allocate(&self, offset: usize, bytes: usize) -> bool {
        match self {
            Reached::Open(fd, _) => syscall::fallocate(*fd, 0, offset as u64, bytes as u64).is_ok(),
            Reached::Mapped(header) => {
                let Some(pages) = map_again(header, offset, bytes) else { return false };
                // SAFETY: only this function knows the mapping. The kernel tells of a lack of room by an error.
                unsafe {
                    let is_done = syscall::madvise(pages, bytes, syscall::MADV_POPULATE_WRITE).is_ok();
                    let _ = syscall::munmap(pages, bytes);
                    is_done
                }
            }
        }
    }

    /// Maps a part of the file, shared.
    pub(super) fn map(&self, offset: usize, bytes: usize) -> Option<*mut u8> {
        match self {
            Reached::Open(fd, _) => map_open(*fd, offset, bytes, WRITE),
            Reached::Mapped(header) => map_again(header, offset, bytes),
        }
    }

    /// Maps a part of the file that other processes write. A parent has mapped it, if the file is not open.
    pub(super) fn map_to_read(&self, offset: usize, bytes: usize) -> Option<*mut u8> {
        map_open(self.descriptor()?, offset, bytes, syscall::PROT_READ)
    }
}

const WRITE: u32 = syscall::PROT_READ | syscall::PROT_WRITE;

fn map_open(fd: i32, offset: usize, bytes: usize, protection: u32) -> Option<*mut u8> {
    // SAFETY: without MAP_FIXED a mapping replaces nothing. The file is never shortened: no other user can
    // (`is_the_ledger`).
    unsafe { syscall::mmap(null_mut(), bytes, protection, syscall::MAP_SHARED, fd, offset as u64).ok() }
}

/// Maps a part of the file whose beginning is mapped at the header.
fn map_again(header: &'static Header, offset: usize, bytes: usize) -> Option<*mut u8> {
    // SAFETY: of a shared mapping, a move of no bytes leaves the old one as it is, and makes a new one of the same file from the same
    // offset on. Nobody knows it yet. The file is as long as that (`is_the_ledger`).
    unsafe {
        let header = core::ptr::from_ref(header).cast_mut().cast();
        let first = syscall::mremap(header, 0, offset + bytes, syscall::MREMAP_MAYMOVE).ok()?;
        if offset > 0 {
            let _ = syscall::munmap(first, offset);
        }
        Some(first.add(offset))
    }
}
