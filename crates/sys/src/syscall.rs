//! Raw system calls of Linux on x86-64: what the runtime and the launcher ask of the kernel.
//!
//! ```text
//! runtime, launch -> typed function here -> syscall6() -> `syscall` instruction -> kernel
//! ```
//!
//! Invariant: nothing here calls the C library, writes `errno`, allocates or locks. So every function
//! may be called before the program's constructors, in a signal handler, between vfork and exec, and from
//! inside an interposed `mmap` or `read` without calling itself.
//! A call interrupted by a signal returns [`Errno::EINTR`]; nobody here tries again unless it says so.
//!
//! Not here: starting, waiting for and signalling processes ([`crate::process`]).

use core::ffi::CStr;
use core::fmt;
use core::sync::atomic::AtomicU32;

/// The reason for which the kernel refused a call: 1 to 4095, as in `errno.h`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(pub u16);

impl Errno {
    /// Operation not permitted.
    pub const EPERM: Errno = Errno(1);
    /// No such file or directory.
    pub const ENOENT: Errno = Errno(2);
    /// No such process.
    pub const ESRCH: Errno = Errno(3);
    /// Interrupted by a signal.
    pub const EINTR: Errno = Errno(4);
    /// Input or output error.
    pub const EIO: Errno = Errno(5);
    /// Argument list too long.
    pub const E2BIG: Errno = Errno(7);
    /// Executable format not known.
    pub const ENOEXEC: Errno = Errno(8);
    /// Descriptor not open, or not open for this.
    pub const EBADF: Errno = Errno(9);
    /// No child process to wait for.
    pub const ECHILD: Errno = Errno(10);
    /// Try again: would block, or a futex that no longer holds the expected value.
    pub const EAGAIN: Errno = Errno(11);
    /// Out of memory, or out of mappings.
    pub const ENOMEM: Errno = Errno(12);
    /// Permission denied.
    pub const EACCES: Errno = Errno(13);
    /// Bad address.
    pub const EFAULT: Errno = Errno(14);
    /// No such device.
    pub const ENODEV: Errno = Errno(19);
    /// The file exists already.
    pub const EEXIST: Errno = Errno(17);
    /// A part of the path is not a directory.
    pub const ENOTDIR: Errno = Errno(20);
    /// Invalid argument.
    pub const EINVAL: Errno = Errno(22);
    /// The file is being written, so it cannot be executed.
    pub const ETXTBSY: Errno = Errno(26);
    /// No space left on the device.
    pub const ENOSPC: Errno = Errno(28);
    /// Nobody reads the other end of the pipe.
    pub const EPIPE: Errno = Errno(32);
    /// The name is too long.
    pub const ENAMETOOLONG: Errno = Errno(36);
    /// The kernel does not have this call (also what many seccomp filters answer).
    pub const ENOSYS: Errno = Errno(38);
    /// Too many symbolic links.
    pub const ELOOP: Errno = Errno(40);
    /// The file's server knows it no longer.
    pub const ESTALE: Errno = Errno(116);
    /// The time is up.
    pub const ETIMEDOUT: Errno = Errno(110);

    /// The number, as C programs keep it in `errno`.
    #[must_use]
    pub const fn number(self) -> i32 {
        self.0 as i32
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "errno {}", self.0)
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl core::error::Error for Errno {}

/// What a system call gives: a value, or the kernel's reason.
pub type Result<T> = core::result::Result<T, Errno>;

/// Numbers of the system calls used by this crate (`asm/unistd_64.h`).
#[allow(missing_docs, reason = "each is the call's own name")]
pub mod number {
    pub const READ: usize = 0;
    pub const WRITE: usize = 1;
    pub const CLOSE: usize = 3;
    pub const FSTAT: usize = 5;
    pub const MMAP: usize = 9;
    pub const MPROTECT: usize = 10;
    pub const MUNMAP: usize = 11;
    pub const RT_SIGACTION: usize = 13;
    pub const RT_SIGPROCMASK: usize = 14;
    pub const PREAD64: usize = 17;
    pub const PWRITE64: usize = 18;
    pub const ACCESS: usize = 21;
    pub const SCHED_YIELD: usize = 24;
    pub const MREMAP: usize = 25;
    pub const MINCORE: usize = 27;
    pub const MADVISE: usize = 28;
    pub const SCHED_GETAFFINITY: usize = 204;
    pub const GETPID: usize = 39;
    pub const CLONE: usize = 56;
    pub const FORK: usize = 57;
    pub const VFORK: usize = 58;
    pub const EXECVE: usize = 59;
    pub const KILL: usize = 62;
    pub const FTRUNCATE: usize = 77;
    pub const UNLINK: usize = 87;
    pub const READLINK: usize = 89;
    pub const GETRLIMIT: usize = 97;
    pub const GETUID: usize = 102;
    pub const GETEUID: usize = 107;
    pub const GETPPID: usize = 110;
    pub const RT_SIGTIMEDWAIT: usize = 128;
    pub const PRCTL: usize = 157;
    pub const SETRLIMIT: usize = 160;
    pub const GETTID: usize = 186;
    pub const FUTEX: usize = 202;
    pub const TIMER_CREATE: usize = 222;
    pub const TIMER_SETTIME: usize = 223;
    pub const TIMER_DELETE: usize = 226;
    pub const CLOCK_GETTIME: usize = 228;
    pub const CLOCK_GETRES: usize = 229;
    pub const EXIT_GROUP: usize = 231;
    pub const WAITID: usize = 247;
    pub const OPENAT: usize = 257;
    pub const NEWFSTATAT: usize = 262;
    pub const FALLOCATE: usize = 285;
    pub const PROCESS_VM_READV: usize = 310;
    pub const GETRANDOM: usize = 318;
    pub const MEMFD_CREATE: usize = 319;
    pub const EXECVEAT: usize = 322;
}

// ---- the instruction -------------------------------------------------------------------------------------

/// One system call with six arguments; unused ones are 0. Returns what the kernel left in `rax`.
///
/// # Safety
/// The arguments must be what the call `number` expects: pointers valid for what the kernel reads and
/// writes there, and no memory taken away that Rust still uses.
#[inline]
pub unsafe fn syscall6(
    number: usize,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> Result<usize> {
    let result: usize;
    // SAFETY: the kernel keeps all registers but rax, rcx and r11, which are named here, and does not touch
    // the red zone; the caller vouches for the meaning of the arguments. Memory is assumed written.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    // The kernel answers -4095 to -1 for a refusal; everything else is a value (addresses included).
    if result > usize::MAX - 4095 { Err(Errno(result.wrapping_neg() as u16)) } else { Ok(result) }
}

/// [`syscall6`] with three arguments.
///
/// # Safety
/// As [`syscall6`].
#[inline]
pub unsafe fn syscall3(number: usize, a: usize, b: usize, c: usize) -> Result<usize> {
    // SAFETY: the caller's promise, passed on.
    unsafe { syscall6(number, a, b, c, 0, 0, 0) }
}

// ---- memory ----------------------------------------------------------------------------------------------

/// Pages may not be touched.
pub const PROT_NONE: u32 = 0;
/// Pages may be read.
pub const PROT_READ: u32 = 1;
/// Pages may be written.
pub const PROT_WRITE: u32 = 2;

/// Stores are seen by all who map the same file.
pub const MAP_SHARED: u32 = 0x01;
/// Stores are this process's own.
pub const MAP_PRIVATE: u32 = 0x02;
/// Exactly at the hint, replacing what is there.
pub const MAP_FIXED: u32 = 0x10;
/// No file: zeroed pages.
pub const MAP_ANONYMOUS: u32 = 0x20;
/// Do not reserve swap space for it.
pub const MAP_NORESERVE: u32 = 0x4000;
/// Make the pages present at once.
pub const MAP_POPULATE: u32 = 0x8000;
/// Exactly at the hint, or [`Errno::EEXIST`] where something is already.
pub const MAP_FIXED_NOREPLACE: u32 = 0x10_0000;

/// Drop the pages now; private anonymous ones read as zero afterwards.
pub const MADV_DONTNEED: u32 = 4;
/// The kernel may drop the pages when it needs memory.
pub const MADV_FREE: u32 = 8;
/// Use huge pages here.
pub const MADV_HUGEPAGE: u32 = 14;
/// Do not use huge pages here.
pub const MADV_NOHUGEPAGE: u32 = 15;
/// Leave the pages out of core dumps.
pub const MADV_DONTDUMP: u32 = 16;
/// Children see zeroed pages here after fork.
pub const MADV_WIPEONFORK: u32 = 18;
/// Make the pages present and writable now.
pub const MADV_POPULATE_WRITE: u32 = 23;
/// Children do not have these pages after fork.
pub const MADV_DONTFORK: u32 = 10;

/// [`mremap`] may choose another address.
pub const MREMAP_MAYMOVE: u32 = 1;

/// Maps `length` bytes. `fd` is -1 and `offset` 0 for anonymous memory. The result is never null.
///
/// # Safety
/// With [`MAP_FIXED`] nothing that is in use may lie in the range. For files, the caller accepts that
/// others change the content and that a shortened file answers an access by SIGBUS.
#[inline]
pub unsafe fn mmap(
    hint: *mut u8,
    length: usize,
    protection: u32,
    flags: u32,
    fd: i32,
    offset: u64,
) -> Result<*mut u8> {
    // SAFETY: the caller's promise; the kernel reads no memory of ours for this call.
    let address = unsafe {
        syscall6(
            number::MMAP,
            hint as usize,
            length,
            protection as usize,
            flags as usize,
            fd as isize as usize,
            offset as usize,
        )?
    };
    Ok(address as *mut u8)
}

/// Maps `length` bytes of private zeroed memory, readable and writable, wherever the kernel likes.
#[inline]
pub fn map_anonymous(length: usize) -> Result<*mut u8> {
    // SAFETY: without MAP_FIXED a mapping replaces nothing.
    unsafe { mmap(core::ptr::null_mut(), length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) }
}

/// Gives the pages of `[address, address + length)` back.
///
/// # Safety
/// Nobody may use the range any more. `address` is a multiple of the page size.
#[inline]
pub unsafe fn munmap(address: *mut u8, length: usize) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { syscall3(number::MUNMAP, address as usize, length, 0)? };
    Ok(())
}

/// Grows, shrinks or (with [`MREMAP_MAYMOVE`]) moves a mapping; returns where it lies now.
///
/// # Safety
/// The old range must be one whole mapping of the caller; after a move nobody may use the old addresses.
#[inline]
pub unsafe fn mremap(address: *mut u8, old: usize, new: usize, flags: u32) -> Result<*mut u8> {
    // SAFETY: the caller's promise.
    let moved = unsafe { syscall6(number::MREMAP, address as usize, old, new, flags as usize, 0, 0)? };
    Ok(moved as *mut u8)
}

/// Moves or resizes a mapping to a place of the caller's choice.
///
/// # Safety
/// As [`mremap`]; and what is mapped at `to` goes.
#[inline]
pub unsafe fn mremap_to(address: *mut u8, old: usize, new: usize, to: *mut u8) -> Result<*mut u8> {
    const MAYMOVE_AND_FIXED: usize = 3;
    // SAFETY: the caller's promise.
    let moved =
        unsafe { syscall6(number::MREMAP, address as usize, old, new, MAYMOVE_AND_FIXED, to as usize, 0)? };
    Ok(moved as *mut u8)
}

/// Changes what may be done with pages.
///
/// # Safety
/// Nobody may rely on a permission that is taken away.
#[inline]
pub unsafe fn mprotect(address: *mut u8, length: usize, protection: u32) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { syscall3(number::MPROTECT, address as usize, length, protection as usize)? };
    Ok(())
}

/// Tells which pages from `address` on are in memory: one byte for each, whose lowest bit counts. `address` is a
/// multiple of the page size; [`Errno::ENOMEM`] where not all of the range is mapped.
#[inline]
pub fn mincore(address: usize, pages: &mut [u8]) -> Result<()> {
    // SAFETY: the kernel writes one byte for each page of the length given, and reads no memory of the range.
    unsafe { syscall3(number::MINCORE, address, pages.len() * 4096, pages.as_mut_ptr() as usize)? };
    Ok(())
}

/// Advises the kernel about pages (`MADV_*`).
///
/// # Safety
/// Some advice drops content ([`MADV_DONTNEED`], [`MADV_FREE`]): nobody may rely on it then.
#[inline]
pub unsafe fn madvise(address: *mut u8, length: usize, advice: u32) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { syscall3(number::MADVISE, address as usize, length, advice as usize)? };
    Ok(())
}

// ---- files -----------------------------------------------------------------------------------------------

/// Relative paths start at the current directory.
pub const AT_FDCWD: i32 = -100;
/// The path may be empty: the descriptor itself is meant.
pub const AT_EMPTY_PATH: u32 = 0x1000;
/// Open for reading.
pub const O_RDONLY: u32 = 0;
/// Open for writing.
pub const O_WRONLY: u32 = 1;
/// Open for both.
pub const O_RDWR: u32 = 2;
/// Create where absent.
pub const O_CREAT: u32 = 0o100;
/// Fail where present.
pub const O_EXCL: u32 = 0o200;
/// Do not make a terminal the controlling one.
pub const O_NOCTTY: u32 = 0o400;
/// Do not wait, for instance for the writer of a FIFO.
pub const O_NONBLOCK: u32 = 0o4000;
/// Fail where the last component is a symbolic link.
pub const O_NOFOLLOW: u32 = 0o400_000;
/// Close on exec.
pub const O_CLOEXEC: u32 = 0o2_000_000;

/// Opens `path`, relative to the current directory; `mode` counts only with [`O_CREAT`].
#[inline]
pub fn open(path: &CStr, flags: u32, mode: u32) -> Result<i32> {
    openat(AT_FDCWD, path, flags, mode)
}

/// Opens `path`, relative to the directory `fd`.
#[inline]
pub fn openat(fd: i32, path: &CStr, flags: u32, mode: u32) -> Result<i32> {
    // SAFETY: `path` is a C string for the whole call; the kernel only reads it.
    let opened = unsafe {
        syscall6(
            number::OPENAT,
            fd as isize as usize,
            path.as_ptr() as usize,
            flags as usize,
            mode as usize,
            0,
            0,
        )?
    };
    Ok(opened as i32)
}

/// Closes a descriptor. Not to be repeated after an error: the descriptor is gone all the same.
#[inline]
pub fn close(fd: i32) -> Result<()> {
    // SAFETY: no memory is involved. That the descriptor is the caller's own is the caller's affair.
    unsafe { syscall3(number::CLOSE, fd as isize as usize, 0, 0)? };
    Ok(())
}

/// Reads at most `buffer.len()` bytes; 0 is the end.
#[inline]
pub fn read(fd: i32, buffer: &mut [u8]) -> Result<usize> {
    // SAFETY: the kernel writes only within `buffer`, which is exclusively borrowed.
    unsafe { syscall3(number::READ, fd as isize as usize, buffer.as_mut_ptr() as usize, buffer.len()) }
}

/// Reads at most `buffer.len()` bytes from `offset` on, leaving the file's position alone.
#[inline]
pub fn pread(fd: i32, buffer: &mut [u8], offset: u64) -> Result<usize> {
    // SAFETY: as `read`.
    unsafe {
        syscall6(
            number::PREAD64,
            fd as isize as usize,
            buffer.as_mut_ptr() as usize,
            buffer.len(),
            offset as usize,
            0,
            0,
        )
    }
}

/// Writes to `offset`, without moving the descriptor's place; may write less than all.
#[inline]
pub fn pwrite(fd: i32, bytes: &[u8], offset: u64) -> Result<usize> {
    // SAFETY: the kernel reads the bytes, which outlive the call.
    unsafe {
        syscall6(
            number::PWRITE64,
            fd as isize as usize,
            bytes.as_ptr() as usize,
            bytes.len(),
            offset as usize,
            0,
            0,
        )
    }
}

/// Writes at most `bytes.len()` bytes and says how many.
#[inline]
pub fn write(fd: i32, bytes: &[u8]) -> Result<usize> {
    // SAFETY: the kernel only reads `bytes`.
    unsafe { syscall3(number::WRITE, fd as isize as usize, bytes.as_ptr() as usize, bytes.len()) }
}

/// Allocates the blocks of a file, so that a later store through a mapping cannot meet a full device.
#[inline]
pub fn fallocate(fd: i32, mode: u32, offset: u64, length: u64) -> Result<()> {
    // SAFETY: no memory is involved.
    unsafe {
        syscall6(
            number::FALLOCATE,
            fd as isize as usize,
            mode as usize,
            offset as usize,
            length as usize,
            0,
            0,
        )?
    };
    Ok(())
}

/// Removes a name; the file goes with its last user.
#[inline]
pub fn unlink(path: &CStr) -> Result<()> {
    // SAFETY: `path` is a C string for the whole call; the kernel only reads it.
    unsafe { syscall3(number::UNLINK, path.as_ptr() as usize, 0, 0)? };
    Ok(())
}

/// How long a file this process may write; beyond it the kernel sends a signal that ends most programs.
#[inline]
#[must_use]
pub fn longest_file() -> u64 {
    const RLIMIT_FSIZE: usize = 1;
    let mut limits = [0_u64; 2];
    // SAFETY: the kernel writes two words.
    let done = unsafe { syscall3(number::GETRLIMIT, RLIMIT_FSIZE, limits.as_mut_ptr() as usize, 0) };
    if done.is_ok() { limits[0] } else { 0 }
}

/// A piece of memory as the kernel's vectors of pieces have it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Piece {
    /// Where it begins.
    pub address: usize,
    /// Its bytes.
    pub length: usize,
}

/// Reads pieces of this process's memory (`process` is its number), some of which may not be there, into `words`, one
/// word of four bytes for each piece. Says how many came before the first that is not there.
pub fn read_words(process: i32, pieces: &[Piece], words: &mut [u32]) -> Result<usize> {
    let to = Piece { address: words.as_mut_ptr() as usize, length: size_of_val(words) };
    // SAFETY: the kernel writes within `words`, which is exclusively borrowed, and finds out itself what may be read.
    let bytes = unsafe {
        syscall6(
            number::PROCESS_VM_READV,
            process as usize,
            &raw const to as usize,
            1,
            pieces.as_ptr() as usize,
            pieces.len(),
            0,
        )?
    };
    Ok(bytes / 4)
}

/// Sets the length of a file. Whoever maps what is cut off meets SIGBUS there.
#[inline]
pub fn ftruncate(fd: i32, length: u64) -> Result<()> {
    // SAFETY: no memory is involved.
    unsafe { syscall3(number::FTRUNCATE, fd as isize as usize, length as usize, 0)? };
    Ok(())
}

/// A file in memory without a name, closed on exec unless `keep_on_exec`.
#[inline]
pub fn memfd_create(name: &CStr, keep_on_exec: bool) -> Result<i32> {
    let flags = if keep_on_exec { 0 } else { 1 };
    // SAFETY: `name` is a C string for the whole call; the kernel only reads it.
    let fd = unsafe { syscall3(number::MEMFD_CREATE, name.as_ptr() as usize, flags, 0)? };
    Ok(fd as i32)
}

/// May this process (by its real user) read (4), write (2), execute (1) `path`, or is it there (0)?
#[inline]
pub fn access(path: &CStr, mode: u32) -> Result<()> {
    // SAFETY: `path` is a C string for the whole call; the kernel only reads it.
    unsafe { syscall3(number::ACCESS, path.as_ptr() as usize, mode as usize, 0)? };
    Ok(())
}

// ---- threads, time and chance ----------------------------------------------------------------------------

/// Seconds and nanoseconds as the kernel counts them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Timespec {
    /// Whole seconds.
    pub seconds: i64,
    /// 0 to 999,999,999.
    pub nanoseconds: i64,
}

impl Timespec {
    /// So many nanoseconds.
    pub(crate) fn of(nanoseconds: u64) -> Self {
        const SECOND: u64 = 1_000_000_000;
        Self { seconds: (nanoseconds / SECOND) as i64, nanoseconds: (nanoseconds % SECOND) as i64 }
    }
}

/// Time since the machine started, never set back.
pub const CLOCK_MONOTONIC: u32 = 1;
/// Wall clock: since 1970, may be set.
pub const CLOCK_REALTIME: u32 = 0;
/// CPU time of the whole process.
pub const CLOCK_PROCESS_CPUTIME_ID: u32 = 2;
/// CPU time of this thread.
pub const CLOCK_THREAD_CPUTIME_ID: u32 = 3;

/// The time of a clock in nanoseconds; 0 where the kernel refuses. Enters the kernel (some 100 ns).
#[inline]
#[must_use]
pub fn clock_nanoseconds(clock: u32) -> u64 {
    let mut time = Timespec::default();
    // SAFETY: the kernel writes one Timespec into `time`.
    let done = unsafe { syscall3(number::CLOCK_GETTIME, clock as usize, &raw mut time as usize, 0) };
    if done.is_err() {
        return 0;
    }
    (time.seconds as u64).wrapping_mul(1_000_000_000).wrapping_add(time.nanoseconds as u64)
}

/// The time from one of the kernel's own ticks to the next, in nanoseconds: the step of its coarse clock. 0 where it does
/// not say.
#[must_use]
pub fn tick_nanoseconds() -> u64 {
    const CLOCK_MONOTONIC_COARSE: usize = 6;
    let mut step = Timespec::default();
    // SAFETY: the kernel writes one Timespec into `step`.
    let done = unsafe { syscall3(number::CLOCK_GETRES, CLOCK_MONOTONIC_COARSE, &raw mut step as usize, 0) };
    if done.is_err() {
        return 0;
    }
    (step.seconds as u64).wrapping_mul(1_000_000_000).wrapping_add(step.nanoseconds as u64)
}

/// Sleeps while `word` holds `expected`, at most `timeout` nanoseconds. May wake for no reason: look again.
///
/// [`Errno::EAGAIN`]: the word held something else. [`Errno::ETIMEDOUT`], [`Errno::EINTR`]: as they say.
/// Private to this process: words in shared files need other means.
#[inline]
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout: Option<u64>) -> Result<()> {
    futex_sleep(word, FUTEX_WAIT_PRIVATE, expected, timeout.map(Timespec::of).as_ref(), 0)
}

/// Wakes at most `count` threads that sleep in [`futex_wait`] on `word`; says how many.
#[inline]
pub fn futex_wake(word: &AtomicU32, count: u32) -> Result<usize> {
    // SAFETY: the kernel uses only the word's address.
    unsafe { syscall3(number::FUTEX, core::ptr::from_ref(word) as usize, FUTEX_WAKE_PRIVATE, count as usize) }
}

/// Sleeps while `word` holds `expected`, until a time of the monotonic clock, among those who share a bit of `rooms`.
///
/// As [`futex_wait`] but for the time, which is a moment, not a length.
#[inline]
pub fn futex_wait_until(word: &AtomicU32, expected: u32, deadline: Option<u64>, rooms: u32) -> Result<()> {
    futex_sleep(word, FUTEX_WAIT_BITSET_PRIVATE, expected, deadline.map(Timespec::of).as_ref(), rooms)
}

/// As [`futex_wait_until`], with a moment of the wall clock where `is_wall_clock`. The kernel refuses
/// a time whose nanoseconds are not 0 to 999,999,999 ([`Errno::EINVAL`]).
#[inline]
pub fn futex_wait_by(
    word: &AtomicU32,
    expected: u32,
    deadline: Option<&Timespec>,
    is_wall_clock: bool,
    rooms: u32,
) -> Result<()> {
    const FUTEX_CLOCK_REALTIME: usize = 256;
    let clock = if is_wall_clock { FUTEX_CLOCK_REALTIME } else { 0 };
    futex_sleep(word, FUTEX_WAIT_BITSET_PRIVATE | clock, expected, deadline, rooms)
}

#[inline]
fn futex_sleep(
    word: &AtomicU32,
    operation: usize,
    expected: u32,
    time: Option<&Timespec>,
    rooms: u32,
) -> Result<()> {
    let word = core::ptr::from_ref(word) as usize;
    let time = time.map_or(core::ptr::null(), core::ptr::from_ref) as usize;
    // SAFETY: the kernel reads the word, which outlives the call, and the time, which is borrowed.
    unsafe { syscall6(number::FUTEX, word, operation, expected as usize, time, 0, rooms as usize)? };
    Ok(())
}

/// Wakes at most `count` of those who sleep on the word at this address in one of `rooms`; says how many. Nothing is
/// read there: the word may be gone.
#[inline]
pub fn futex_wake_at(word: *const AtomicU32, count: u32, rooms: u32) -> Result<usize> {
    // SAFETY: the kernel uses only the address.
    unsafe {
        syscall6(
            number::FUTEX,
            word as usize,
            FUTEX_WAKE_BITSET_PRIVATE,
            count as usize,
            0,
            0,
            rooms as usize,
        )
    }
}

/// How many processors this thread may run on; 0 where the kernel does not say.
#[must_use]
pub fn processors() -> u32 {
    let mut set = [0_u64; 64];
    // SAFETY: the kernel writes at most so many bytes, and says how many.
    let bytes =
        unsafe { syscall3(number::SCHED_GETAFFINITY, 0, size_of_val(&set), set.as_mut_ptr() as usize) }
            .unwrap_or(0);
    set.iter().take(bytes / 8).map(|word| word.count_ones()).sum()
}

const FUTEX_WAIT_BITSET_PRIVATE: usize = 9 | 128;
const FUTEX_WAKE_BITSET_PRIVATE: usize = 10 | 128;
const FUTEX_WAIT_PRIVATE: usize = 128;
const FUTEX_WAKE_PRIVATE: usize = 1 | 128;

/// Lets another thread run first.
#[inline]
pub fn sched_yield() {
    // SAFETY: no arguments. It never fails on Linux.
    let _ = unsafe { syscall3(number::SCHED_YIELD, 0, 0, 0) };
}

/// The process; asked of the kernel each time, so true after fork, vfork and clone.
#[inline]
#[must_use]
pub fn getpid() -> i32 {
    // SAFETY: no arguments. It never fails.
    unsafe { syscall3(number::GETPID, 0, 0, 0) }.map_or(0, |pid| pid as i32)
}

/// The thread, as the kernel numbers it.
#[inline]
#[must_use]
pub fn gettid() -> i32 {
    // SAFETY: no arguments. It never fails.
    unsafe { syscall3(number::GETTID, 0, 0, 0) }.map_or(0, |tid| tid as i32)
}

/// The real user of this process.
#[inline]
#[must_use]
pub fn getuid() -> u32 {
    // SAFETY: no arguments. It never fails.
    unsafe { syscall3(number::GETUID, 0, 0, 0) }.map_or(u32::MAX, |uid| uid as u32)
}

/// The user whose rights this process has.
#[inline]
#[must_use]
pub fn geteuid() -> u32 {
    // SAFETY: no arguments. It never fails.
    unsafe { syscall3(number::GETEUID, 0, 0, 0) }.map_or(u32::MAX, |uid| uid as u32)
}

/// Fills `buffer` with random bytes without waiting for entropy; says how many came.
#[inline]
pub fn getrandom(buffer: &mut [u8]) -> Result<usize> {
    const GRND_NONBLOCK: usize = 1;
    // SAFETY: the kernel writes only within `buffer`, which is exclusively borrowed.
    unsafe { syscall3(number::GETRANDOM, buffer.as_mut_ptr() as usize, buffer.len(), GRND_NONBLOCK) }
}

/// Ends the whole process now: no destructors, no buffers written.
#[inline]
pub fn exit_group(code: i32) -> ! {
    loop {
        // SAFETY: it does not come back, so nothing is left that could be used.
        let _ = unsafe { syscall3(number::EXIT_GROUP, code as usize, 0, 0) };
    }
}

/// Settings of this process or thread (`PR_*`).
///
/// # Safety
/// What the arguments mean depends on `operation`; pointers among them must be valid for it.
#[inline]
pub unsafe fn prctl(operation: u32, a: usize, b: usize, c: usize, d: usize) -> Result<usize> {
    // SAFETY: the caller's promise.
    unsafe { syscall6(number::PRCTL, operation as usize, a, b, c, d, 0) }
}

/// Gives a name to private anonymous memory, seen in `/proc/PID/maps` as `[anon:NAME]`; older kernels refuse.
///
/// `name` has at most 79 printable characters, without `\`, `` ` ``, `$`, `[` and `]`.
#[inline]
pub fn name_mapping(address: *mut u8, length: usize, name: &CStr) -> Result<()> {
    const PR_SET_VMA: u32 = 0x53_56_4d_41;
    const PR_SET_VMA_ANON_NAME: usize = 0;
    // SAFETY: the kernel reads the C string and labels mappings; their content and rights stay.
    unsafe {
        prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, address as usize, length, name.as_ptr() as usize)?;
    }
    Ok(())
}

/// Sends a signal to a process (or with a negative number, to a group); signal 0 only asks whether it is there.
#[inline]
pub fn kill(pid: i32, signal: i32) -> Result<()> {
    // SAFETY: no memory of this process is involved.
    unsafe { syscall3(number::KILL, pid as isize as usize, signal as usize, 0)? };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::Ordering;

    #[test]
    fn refusals_carry_the_reason() {
        assert_eq!(open(c"/no/such/file", O_RDONLY, 0), Err(Errno::ENOENT));
        assert_eq!(close(-1), Err(Errno::EBADF));
        assert_eq!(kill(i32::MAX, 0), Err(Errno::ESRCH));
    }

    #[test]
    fn memory_comes_moves_and_goes() {
        let page = map_anonymous(4096).expect("a page");
        // SAFETY: `page` is 4096 bytes of our own; after the move only `moved` is used.
        unsafe {
            page.write(7);
            name_mapping(page, 4096, c"underbar test").ok();
            let moved = mremap(page, 4096, 1 << 20, MREMAP_MAYMOVE).expect("room");
            assert_eq!(moved.read(), 7);
            madvise(moved, 1 << 20, MADV_DONTNEED).expect("advice");
            assert_eq!(moved.read(), 0);
            munmap(moved, 1 << 20).expect("given back");
        }
    }

    #[test]
    fn a_file_in_memory_is_written_and_read() {
        let fd = memfd_create(c"test", false).expect("memfd");
        fallocate(fd, 0, 0, 8192).expect("blocks");
        ftruncate(fd, 5).expect("length");
        assert_eq!(write(fd, b"hello"), Ok(5));
        let mut buffer = [0; 8];
        assert_eq!(pread(fd, &mut buffer, 1), Ok(4));
        assert_eq!(&buffer[..4], b"ello");
        close(fd).expect("closed");
    }

    #[test]
    fn futex_sees_a_changed_word_and_a_timeout() {
        let word = AtomicU32::new(1);
        assert_eq!(futex_wait(&word, 0, None), Err(Errno::EAGAIN));
        assert_eq!(futex_wait(&word, 1, Some(1)), Err(Errno::ETIMEDOUT));
        assert_eq!(futex_wake(&word, 1), Ok(0));
        assert_eq!(word.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn clocks_run_forward() {
        let before = clock_nanoseconds(CLOCK_MONOTONIC);
        sched_yield();
        assert!(before > 0 && clock_nanoseconds(CLOCK_MONOTONIC) >= before);
        assert_eq!(clock_nanoseconds(9999), 0);
    }

    #[test]
    fn identity_agrees_with_the_standard_library() {
        assert_eq!(getpid() as u32, std::process::id());
        assert!(gettid() > 0);
        let mut bytes = [0; 16];
        assert_eq!(getrandom(&mut bytes), Ok(16));
    }
}
