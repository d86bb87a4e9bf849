//! What is asked and done about open files beyond reading and writing: their place, their flags, whether two are one, and messages that
//! carry them to another process.
//!
//! Invariant: as in [`crate::syscall`], no C library, no `errno`, no allocation.
//! Not here: reading and writing (`syscall`).

use core::ffi::CStr;

use crate::syscall::{Errno, Result, number, syscall3, syscall6};

const LSEEK: usize = 8;
const FCNTL: usize = 72;
const FSTATFS: usize = 138;
const SOCKET: usize = 41;
const CONNECT: usize = 42;
const SENDMSG: usize = 46;
const RECVFROM: usize = 45;
const SETSOCKOPT: usize = 54;
const KCMP: usize = 312;

/// Every write goes to the end.
pub const O_APPEND: u32 = 0o2000;
/// Writes go to the device at once: `O_DSYNC`, which `O_SYNC` includes.
pub const O_DSYNC: u32 = 0o10000;
/// Past the page cache.
pub const O_DIRECT: u32 = 0o40000;
/// The bits that say whether it is open for reading or writing.
pub const O_ACCMODE: u32 = 3;

/// The place of the description: where the next read or write goes.
pub fn place(fd: i32) -> Result<u64> {
    const SEEK_CUR: usize = 1;
    // SAFETY: no memory is involved.
    unsafe { syscall3(LSEEK, fd as isize as usize, 0, SEEK_CUR) }.map(|place| place as u64)
}

/// Moves the place of the description.
pub fn set_place(fd: i32, place: u64) -> Result<()> {
    // SAFETY: no memory is involved.
    unsafe { syscall3(LSEEK, fd as isize as usize, place as usize, 0) }.map(drop)
}

/// The flags of the description.
pub fn flags(fd: i32) -> Result<u32> {
    const F_GETFL: usize = 3;
    // SAFETY: no memory is involved.
    unsafe { syscall3(FCNTL, fd as isize as usize, F_GETFL, 0) }.map(|flags| flags as u32)
}

/// Whether exec closes the descriptor.
pub fn is_closed_on_exec(fd: i32) -> Result<bool> {
    const F_GETFD: usize = 1;
    // SAFETY: no memory is involved.
    unsafe { syscall3(FCNTL, fd as isize as usize, F_GETFD, 0) }.map(|flags| flags & 1 != 0)
}

/// The number of the kind of file system.
pub fn file_system(fd: i32) -> Result<u64> {
    let mut room = [0_u64; 16];
    // SAFETY: a `struct statfs` has 120 bytes.
    unsafe { syscall3(FSTATFS, fd as isize as usize, room.as_mut_ptr() as usize, 0)? };
    Ok(room[0])
}

/// Whether two descriptors of this process are one description. An error if the kernel does not tell.
pub fn are_one(process: i32, one: i32, other: i32) -> Result<bool> {
    let process = process as usize;
    // SAFETY: no memory is involved. 0 compares files.
    unsafe { syscall6(KCMP, process, process, 0, one as usize, other as usize, 0) }.map(|order| order == 0)
}

/// Connects to a socket of that name, which keeps messages apart, and is closed on exec. Answers are waited for two seconds at most.
pub fn connect(name: &CStr) -> Result<i32> {
    const UNIX: u16 = 1;
    const SEQPACKET: usize = 5;
    const CLOEXEC: usize = 0o2_000_000;
    const SOL_SOCKET: usize = 1;
    const SO_RCVTIMEO: usize = 20;
    let mut address = [0_u8; 110];
    address[..2].copy_from_slice(&UNIX.to_le_bytes());
    let bytes = name.to_bytes_with_nul();
    address.get_mut(2..2 + bytes.len()).ok_or(Errno::ENAMETOOLONG)?.copy_from_slice(bytes);
    // SAFETY: no memory is involved.
    let fd = unsafe { syscall3(SOCKET, usize::from(UNIX), SEQPACKET | CLOEXEC, 0)? } as i32;
    let patience = [2_u64, 0];
    // SAFETY: the kernel reads a `struct timeval` and the address, which outlive the calls.
    let connected = unsafe {
        let size = size_of_val(&patience);
        let _ =
            syscall6(SETSOCKOPT, fd as usize, SOL_SOCKET, SO_RCVTIMEO, patience.as_ptr() as usize, size, 0);
        syscall3(CONNECT, fd as usize, address.as_ptr() as usize, 2 + bytes.len())
    };
    match connected {
        Ok(_) => Ok(fd),
        Err(error) => {
            let _ = crate::syscall::close(fd);
            Err(error)
        }
    }
}

/// Sends a message, with two descriptors or none.
pub fn send(fd: i32, bytes: &[u8], descriptors: Option<[i32; 2]>) -> Result<usize> {
    const NOSIGNAL: usize = 0x4000;
    #[repr(C)]
    struct Control {
        length: usize,
        level: i32,
        kind: i32,
        descriptors: [i32; 2],
    }
    #[repr(C)]
    struct Message {
        name: usize,
        name_length: usize,
        pieces: usize,
        count: usize,
        control: usize,
        control_length: usize,
        flags: usize,
    }
    let piece = [bytes.as_ptr() as usize, bytes.len()];
    let control = Control {
        length: size_of::<Control>(),
        level: 1,
        kind: 1,
        descriptors: descriptors.unwrap_or_default(),
    };
    let message = Message {
        name: 0,
        name_length: 0,
        pieces: piece.as_ptr() as usize,
        count: 1,
        control: if descriptors.is_some() { (&raw const control) as usize } else { 0 },
        control_length: if descriptors.is_some() { size_of::<Control>() } else { 0 },
        flags: 0,
    };
    // SAFETY: the kernel reads the message and what it points to, all of which outlive the call.
    unsafe { syscall3(SENDMSG, fd as usize, (&raw const message) as usize, NOSIGNAL) }
}

/// Receives a message. 0 bytes: the other side is gone.
pub fn receive(fd: i32, into: &mut [u8]) -> Result<usize> {
    // SAFETY: the kernel writes only within `into`.
    unsafe { syscall6(RECVFROM, fd as usize, into.as_mut_ptr() as usize, into.len(), 0, 0, 0) }
}

/// Runs `then` while all signals that can be blocked are blocked in this thread. A fault, and KILL, still end the process.
pub fn without_signals<R>(then: impl FnOnce() -> R) -> R {
    let change = |how: usize, set: u64, before: &mut u64| {
        // SAFETY: both pointers refer to 8 bytes, the size given to the kernel.
        unsafe {
            syscall6(
                number::RT_SIGPROCMASK,
                how,
                (&raw const set) as usize,
                core::ptr::from_mut(before) as usize,
                8,
                0,
                0,
            )
        }
    };
    let mut before = 0;
    let is_blocked = change(0, u64::MAX, &mut before).is_ok();
    let result = then();
    if is_blocked {
        let _ = change(2, before, &mut 0);
    }
    result
}
