//! The functions that take the place of others: writes that a cache takes, and calls that tell the program an error.
//!
//! ```text
//! write, writev            cached ─> into the buffer          else ─> the function
//! close, fsync, fdatasync  the buffer is emptied, then the function; an error of earlier bytes is theirs
//! lseek to where it is     answered from the buffer; any other: emptied, then the function
//! the streams' own five    the same, with the stream's descriptor
//! ```
//!
//! Invariant: arguments that the kernel would refuse go to the kernel. A cached write is a cancellation point, as the function is.
//! Not here: functions before which buffers are only emptied (`before`).

use core::ffi::{CStr, c_int, c_void};
use core::mem::transmute;
use core::sync::atomic::{AtomicUsize, Ordering};

use underbar_ledger::caches::Flush;

use super::files::{self, Taken};
use super::reads::{self, Served};
use super::{before, entries, lock, vfork};
use crate::c_library::weak;
use crate::errno::set_errno;

weak! { address_of_testcancel = "pthread_testcancel"; }

/// Bytes of one call, at most, as for the kernel.
const MOST: usize = 0x7fff_f000;

pub(super) const WRITE: usize = 0;
pub(super) const WRITEV: usize = 1;
pub(super) const CLOSE: usize = 2;
pub(super) const FSYNC: usize = 3;
pub(super) const FDATASYNC: usize = 4;
pub(super) const LSEEK: usize = 5;
pub(super) const LSEEK64: usize = 6;
pub(super) const READ: usize = 7;
pub(super) const READ_CHK: usize = 8;
/// How many there are.
pub(super) const CALLS: usize = 9;

/// The functions of the C library. Each is written here before a word of the program has the address of our function.
pub(super) static REAL: [AtomicUsize; CALLS] = [const { AtomicUsize::new(0) }; CALLS];

/// Name, and the function that takes its place.
pub(super) fn call(number: usize) -> Option<(&'static CStr, usize)> {
    Some(match number {
        WRITE => (c"write", write as *const () as usize),
        WRITEV => (c"writev", writev as *const () as usize),
        CLOSE => (c"close", close as *const () as usize),
        FSYNC => (c"fsync", fsync as *const () as usize),
        FDATASYNC => (c"fdatasync", fdatasync as *const () as usize),
        LSEEK => (c"lseek", lseek as *const () as usize),
        LSEEK64 => (c"lseek64", lseek64 as *const () as usize),
        READ => (c"read", read as *const () as usize),
        READ_CHK => (c"__read_chk", read_chk as *const () as usize),
        _ => return None,
    })
}

fn real(number: usize) -> usize {
    REAL[number].load(Ordering::Relaxed)
}

/// A cancelled thread ends here, as in the function.
#[inline(always)]
fn test_cancel() {
    let address = address_of_testcancel();
    if address != 0 {
        // SAFETY: the C library's function of that name. No lock is held.
        unsafe { transmute::<usize, extern "C" fn()>(address)() }
    }
}

/// A write of `total` bytes.
#[inline(always)]
fn take(fd: i32, total: usize, copy: &dyn Fn(*mut u8)) -> Taken {
    if vfork::is_child() {
        return Taken::NotOurs;
    }
    test_cancel();
    let held = lock::enter();
    files::take(fd, total, copy, held.is_nested)
}

type Write = unsafe extern "C" fn(c_int, *const c_void, usize) -> isize;

unsafe extern "C" fn write(fd: c_int, bytes: *const c_void, count: usize) -> isize {
    if !entries::passes(fd) && count != 0 && count <= MOST && !bytes.is_null() {
        // SAFETY: the program's bytes; the room in the buffer was found.
        let copy = |to: *mut u8| unsafe { core::ptr::copy_nonoverlapping(bytes.cast(), to, count) };
        match take(fd, count, &copy) {
            Taken::Whole => return count as isize,
            Taken::Failed(error) => return failed(error),
            Taken::NotOurs => {}
        }
    }
    // SAFETY: the C library's function; the arguments are the program's.
    unsafe { transmute::<usize, Write>(real(WRITE))(fd, bytes, count) }
}

/// A piece of `writev`.
#[repr(C)]
struct Piece {
    bytes: *const u8,
    count: usize,
}

type Writev = unsafe extern "C" fn(c_int, *const Piece, c_int) -> isize;

unsafe extern "C" fn writev(fd: c_int, pieces: *const Piece, count: c_int) -> isize {
    if !entries::passes(fd) && (1..=1024).contains(&count) && !pieces.is_null() {
        // SAFETY: the program's array.
        let pieces = unsafe { core::slice::from_raw_parts(pieces, count as usize) };
        let total = pieces.iter().try_fold(0_usize, |sum, piece| sum.checked_add(piece.count));
        let are_there = pieces.iter().all(|piece| piece.count == 0 || !piece.bytes.is_null());
        if let Some(total) = total.filter(|total| are_there && (1..=MOST).contains(total)) {
            let copy = |mut to: *mut u8| {
                for piece in pieces.iter().filter(|piece| piece.count > 0) {
                    // SAFETY: the program's bytes; the room in the buffer was found for all of them.
                    unsafe { core::ptr::copy_nonoverlapping(piece.bytes, to, piece.count) };
                    to = to.wrapping_add(piece.count);
                }
            };
            match take(fd, total, &copy) {
                Taken::Whole => return total as isize,
                Taken::Failed(error) => return failed(error),
                Taken::NotOurs => {}
            }
        }
    }
    // SAFETY: the C library's function; the arguments are the program's.
    unsafe { transmute::<usize, Writev>(real(WRITEV))(fd, pieces, count) }
}

fn failed(error: i32) -> isize {
    set_errno(error);
    -1
}

type OfDescriptor = unsafe extern "C" fn(c_int) -> c_int;

unsafe extern "C" fn close(fd: c_int) -> c_int {
    let error = closes(fd);
    // SAFETY: the C library's function; the argument is the program's.
    let result = unsafe { transmute::<usize, OfDescriptor>(real(CLOSE))(fd) };
    match error {
        Some(error) if result == 0 => failed(error) as c_int,
        _ => result,
    }
}

/// A descriptor is about to be closed. Returns an error that earlier bytes met.
fn closes(fd: i32) -> Option<i32> {
    if !entries::is_active() || vfork::is_child() {
        return None;
    }
    let _held = lock::enter();
    before::closes(fd)
}

/// Empties the buffer before its file is synchronised. Returns an error that it met.
fn synchronises(fd: i32) -> Option<i32> {
    if !entries::is_active() || vfork::is_child() {
        return None;
    }
    let _held = lock::enter();
    files::flush(fd, Flush::Sync);
    files::error_of(fd)
}

unsafe extern "C" fn fsync(fd: c_int) -> c_int {
    if let Some(error) = synchronises(fd) {
        return failed(error) as c_int;
    }
    // SAFETY: the C library's function; the argument is the program's.
    unsafe { transmute::<usize, OfDescriptor>(real(FSYNC))(fd) }
}

unsafe extern "C" fn fdatasync(fd: c_int) -> c_int {
    if let Some(error) = synchronises(fd) {
        return failed(error) as c_int;
    }
    // SAFETY: the C library's function; the argument is the program's.
    unsafe { transmute::<usize, OfDescriptor>(real(FDATASYNC))(fd) }
}

type Seek = unsafe extern "C" fn(c_int, i64, c_int) -> i64;

/// The program asks where it is, or goes elsewhere.
fn seeks(fd: i32, by: i64, from: c_int) -> Option<i64> {
    const SEEK_SET: c_int = 0;
    const SEEK_CUR: c_int = 1;
    if entries::is_plain(fd) || vfork::is_child() {
        return None;
    }
    let _held = lock::enter();
    let place = files::place(fd).or_else(|| reads::place_of(fd));
    if by == 0 && from == SEEK_CUR {
        return place.map(|place| place as i64);
    }
    let to = match from {
        SEEK_SET => u64::try_from(by).ok(),
        SEEK_CUR => place.and_then(|place| place.checked_add_signed(by)),
        _ => None,
    };
    if let Some(to) = reads::seeks_to(fd, to) {
        return Some(to as i64);
    }
    files::flush(fd, Flush::Seek);
    files::moves(fd);
    None
}

unsafe extern "C" fn lseek(fd: c_int, by: i64, from: c_int) -> i64 {
    // SAFETY: the C library's function; the arguments are the program's.
    seeks(fd, by, from).unwrap_or_else(|| unsafe { transmute::<usize, Seek>(real(LSEEK))(fd, by, from) })
}

unsafe extern "C" fn lseek64(fd: c_int, by: i64, from: c_int) -> i64 {
    // SAFETY: the C library's function; the arguments are the program's.
    seeks(fd, by, from).unwrap_or_else(|| unsafe { transmute::<usize, Seek>(real(LSEEK64))(fd, by, from) })
}

/// A read of `count` bytes.
#[inline(always)]
fn serve(fd: i32, to: *mut u8, count: usize) -> Served {
    if !entries::is_active() || count == 0 || count > MOST || to.is_null() || vfork::is_child() {
        return Served::NotOurs;
    }
    if entries::is_read_plainly(fd) || entries::is_plain(fd) && !entries::any() {
        return Served::NotOurs;
    }
    test_cancel();
    let held = lock::enter();
    match reads::serve(fd, to, count, held.is_nested) {
        Served::NotOurs => {
            before::looks_by_reading(fd, &held);
            Served::NotOurs
        }
        served => served,
    }
}

type Read = unsafe extern "C" fn(c_int, *mut c_void, usize) -> isize;

unsafe extern "C" fn read(fd: c_int, to: *mut c_void, count: usize) -> isize {
    match serve(fd, to.cast(), count) {
        Served::Bytes(bytes) => bytes as isize,
        Served::Failed(error) => failed(error),
        // SAFETY: the C library's function; the arguments are the program's.
        Served::NotOurs => unsafe { transmute::<usize, Read>(real(READ))(fd, to, count) },
    }
}

type ReadChecked = unsafe extern "C" fn(c_int, *mut c_void, usize, usize) -> isize;

unsafe extern "C" fn read_chk(fd: c_int, to: *mut c_void, count: usize, room: usize) -> isize {
    let served = if count <= room { serve(fd, to.cast(), count) } else { Served::NotOurs };
    match served {
        Served::Bytes(bytes) => bytes as isize,
        Served::Failed(error) => failed(error),
        // SAFETY: the C library's function; the arguments are the program's.
        Served::NotOurs => unsafe { transmute::<usize, ReadChecked>(real(READ_CHK))(fd, to, count, room) },
    }
}

// ---- streams ------------------------------------------------------------------------------------------------------

pub(super) const STREAM_READ: usize = 0;
pub(super) const STREAM_WRITE: usize = 1;
pub(super) const STREAM_SEEK: usize = 2;
pub(super) const STREAM_CLOSE: usize = 3;
pub(super) const STREAM_STAT: usize = 4;
/// How many entries of the streams' tables are changed.
pub(super) const STREAMS: usize = 5;

/// The entries that the tables had. Each is written here before a table has our entry.
pub(super) static REAL_STREAM: [AtomicUsize; STREAMS] = [const { AtomicUsize::new(0) }; STREAMS];

/// The function that takes the place of an entry.
pub(super) fn stream(place: usize) -> usize {
    match place {
        STREAM_READ => stream_read as *const () as usize,
        STREAM_WRITE => stream_write as *const () as usize,
        STREAM_SEEK => stream_seek as *const () as usize,
        STREAM_CLOSE => stream_close as *const () as usize,
        _ => stream_stat as *const () as usize,
    }
}

fn real_stream(place: usize) -> usize {
    REAL_STREAM[place].load(Ordering::Relaxed)
}

/// A FILE of the C library, as all versions have it.
#[repr(C)]
struct Stream {
    flags: u32,
    pointers: [usize; 13],
    descriptor: i32,
    more_flags: i32,
    old_offset: i64,
    column: [u8; 8],
    lock: usize,
    offset: i64,
}

const _: () = {
    assert!(core::mem::offset_of!(Stream, descriptor) == 112);
    assert!(core::mem::offset_of!(Stream, offset) == 144);
};

/// Set in a stream's flags after an error.
const ERROR_SEEN: u32 = 0x20;

type StreamBytes = unsafe extern "C" fn(*mut Stream, *mut c_void, isize) -> isize;

unsafe extern "C" fn stream_write(stream: *mut Stream, bytes: *mut c_void, count: isize) -> isize {
    // SAFETY: the C library passes its stream.
    let fd = unsafe { (*stream).descriptor };
    if !entries::passes(fd) && count > 0 && (count as usize) <= MOST {
        // SAFETY: the stream's bytes; the room in the buffer was found.
        let copy = |to: *mut u8| unsafe { core::ptr::copy_nonoverlapping(bytes.cast(), to, count as usize) };
        match take(fd, count as usize, &copy) {
            Taken::Whole => {
                // SAFETY: as the C library's own function, which the stream's lock keeps others from.
                unsafe {
                    if (*stream).offset >= 0 {
                        (*stream).offset += count as i64;
                    }
                }
                return count;
            }
            Taken::Failed(error) => {
                set_errno(error);
                // SAFETY: as above.
                unsafe { (*stream).flags |= ERROR_SEEN };
                return 0;
            }
            Taken::NotOurs => {}
        }
    }
    // SAFETY: the C library's own entry, with its arguments.
    unsafe { transmute::<usize, StreamBytes>(real_stream(STREAM_WRITE))(stream, bytes, count) }
}

unsafe extern "C" fn stream_read(stream: *mut Stream, bytes: *mut c_void, count: isize) -> isize {
    // SAFETY: the C library passes its stream.
    let fd = unsafe { (*stream).descriptor };
    match serve(fd, bytes.cast(), usize::try_from(count).unwrap_or(0)) {
        Served::Bytes(bytes) => bytes as isize,
        Served::Failed(error) => failed(error),
        // SAFETY: the C library's own entry, with its arguments.
        Served::NotOurs => unsafe {
            transmute::<usize, StreamBytes>(real_stream(STREAM_READ))(stream, bytes, count)
        },
    }
}

type StreamSeek = unsafe extern "C" fn(*mut Stream, i64, c_int) -> i64;

unsafe extern "C" fn stream_seek(stream: *mut Stream, by: i64, from: c_int) -> i64 {
    // SAFETY: the C library passes its stream, and its own entry.
    unsafe {
        seeks((*stream).descriptor, by, from)
            .unwrap_or_else(|| transmute::<usize, StreamSeek>(real_stream(STREAM_SEEK))(stream, by, from))
    }
}

type StreamClose = unsafe extern "C" fn(*mut Stream) -> c_int;

unsafe extern "C" fn stream_close(stream: *mut Stream) -> c_int {
    // SAFETY: the C library passes its stream, and its own entry.
    let (error, result) = unsafe {
        let error = closes((*stream).descriptor);
        (error, transmute::<usize, StreamClose>(real_stream(STREAM_CLOSE))(stream))
    };
    match error {
        Some(error) if result == 0 => failed(error) as c_int,
        _ => result,
    }
}

type StreamStat = unsafe extern "C" fn(*mut Stream, *mut c_void) -> c_int;

unsafe extern "C" fn stream_stat(stream: *mut Stream, status: *mut c_void) -> c_int {
    // SAFETY: the C library passes its stream, and its own entry.
    unsafe {
        let fd = (*stream).descriptor;
        if !entries::is_plain(fd) && !vfork::is_child() {
            let _held = lock::enter();
            files::flush(fd, Flush::Look);
        }
        transmute::<usize, StreamStat>(real_stream(STREAM_STAT))(stream, status)
    }
}
