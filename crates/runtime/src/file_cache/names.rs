//! The functions before which caches of files are emptied, and what each of them is about.
//!
//! Invariant: the tables are constants without addresses, so that nothing is relocated when a process starts.
//! Not here: functions that take the place of others (`calls`), and what is done (`before`).

use core::ffi::CStr;

/// What a function is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum About {
    /// The process ends.
    End,
    /// A child that shares this process's memory until it executes a program.
    ChildInside,
    /// A child that shares all descriptors.
    Child,
    /// A child that executes a program at once.
    Spawn,
    /// A program takes this process's place.
    Exec,
    /// All files are synchronised.
    SyncAll,
    /// Something is written by ways of the C library that are not seen otherwise.
    WriteInside,
    /// A path is named.
    Path,
    /// A path is named whose file becomes shorter or longer.
    Truncate,
    /// A path is opened; it is the first argument.
    Open,
    /// A path is opened; it is the second argument.
    OpenAt,
    /// A stream gets another file: path, mode, stream.
    Reopen,
    /// A descriptor is made.
    Descriptor,
    /// The descriptor's file is looked at.
    Look,
    /// The same, by the second argument.
    LookSecond,
    /// The descriptor's file is changed.
    Change,
    /// The descriptor is read.
    Read,
    /// The descriptor is duplicated.
    Duplicate,
    /// The same, onto the second argument.
    DuplicateTo,
    /// fcntl.
    Control,
    /// ioctl.
    DeviceControl,
    /// The descriptor's file is locked.
    Lock,
    /// The fifth argument is mapped.
    Map,
    /// The kernel copies between the first and the second argument.
    Copy,
    /// The kernel copies between the first and the third argument.
    CopyThird,
    /// Requests that go on behind the program's back.
    Asynchronous,
    /// A message that may have descriptors: the second argument.
    Message,
    /// Several such messages.
    Messages,
    /// The process waits for others.
    Wait,
    /// Descriptors from the first argument to the second are closed.
    CloseRange,
    /// Descriptors from the first argument on are closed.
    CloseFrom,
    /// A limit is set: its number is the first argument.
    Limit,
    /// A limit is set or asked for: its number is the second argument.
    LimitOf,
    /// A system call of the program's own.
    SystemCall,
}

use About::{
    Asynchronous, Change, Child, ChildInside, CloseFrom, CloseRange, Control, Copy as Copies, CopyThird,
    Descriptor, DeviceControl, Duplicate, DuplicateTo, End, Exec, Limit, LimitOf, Lock, Look, LookSecond,
    Map, Message, Messages, Open, OpenAt, Path, Read, Reopen, Spawn, SyncAll, SystemCall, Truncate, Wait,
    WriteInside,
};

const TABLE: &[(About, &str)] = &[
    (End, "_exit _Exit quick_exit abort __assert_fail __assert_perror_fail"),
    (ChildInside, "vfork"),
    (Child, "_Fork clone"),
    (Spawn, "posix_spawn posix_spawnp popen"),
    (Exec, "execve execv execvp execvpe fexecve execveat execl execlp execle"),
    (SyncAll, "sync syncfs"),
    (WriteInside, "perror psignal psiginfo daemon"),
    (
        Path,
        "stat stat64 lstat lstat64 fstatat fstatat64 statx __xstat __xstat64 __lxstat __lxstat64 __fxstatat __fxstatat64 \
         rename renameat renameat2 unlink unlinkat remove link linkat utime utimes utimensat lutimes",
    ),
    (Truncate, "truncate truncate64"),
    (Open, "open open64 creat creat64 __open_2 __open64_2 fopen fopen64"),
    (OpenAt, "openat openat64 __openat_2 __openat64_2"),
    (Reopen, "freopen freopen64"),
    (
        Descriptor,
        "socket socketpair accept accept4 pipe pipe2 epoll_create epoll_create1 eventfd signalfd timerfd_create \
         memfd_create inotify_init inotify_init1 mkstemp mkstemp64 mkostemp mkostemp64 opendir shm_open recvmsg",
    ),
    (Look, "fstat fstat64 pread pread64 preadv preadv64 preadv2 preadv64v2 __pread_chk __pread64_chk"),
    (LookSecond, "__fxstat __fxstat64"),
    (
        Change,
        "ftruncate ftruncate64 fallocate fallocate64 posix_fallocate posix_fallocate64 posix_fadvise posix_fadvise64 \
         sync_file_range futimes futimens pwrite pwrite64 pwritev pwritev64 pwritev2 pwritev64v2 dprintf vdprintf \
         __dprintf_chk __vdprintf_chk",
    ),
    (Read, "readv"),
    (Duplicate, "dup"),
    (DuplicateTo, "dup2 dup3"),
    (Control, "fcntl fcntl64"),
    (DeviceControl, "ioctl"),
    (Lock, "flock lockf lockf64"),
    (Map, "mmap mmap64"),
    (Copies, "sendfile sendfile64 tee"),
    (CopyThird, "copy_file_range splice"),
    (Asynchronous, "aio_read aio_read64 aio_write aio_write64 aio_fsync aio_fsync64 lio_listio lio_listio64"),
    (Message, "sendmsg"),
    (Messages, "sendmmsg"),
    (Wait, "poll ppoll __poll_chk __ppoll_chk select pselect epoll_wait epoll_pwait epoll_pwait2"),
    (CloseRange, "close_range"),
    (CloseFrom, "closefrom"),
    (Limit, "setrlimit setrlimit64"),
    (LimitOf, "prlimit prlimit64"),
    (SystemCall, "syscall"),
];

/// How many functions there are.
pub(super) const FUNCTIONS: usize = {
    let (mut row, mut count) = (0, 0);
    while row < TABLE.len() {
        let names = TABLE[row].1.as_bytes();
        let mut at = 0;
        while at < names.len() {
            count += (names[at] != b' ' && (at == 0 || names[at - 1] == b' ')) as usize;
            at += 1;
        }
        row += 1;
    }
    count
};

const BYTES: usize = 2048;

struct Names {
    /// The names, each with a zero byte behind it.
    bytes: [u8; BYTES],
    begins: [u16; FUNCTIONS],
    about: [About; FUNCTIONS],
    hashes: [u32; FUNCTIONS],
}

const fn names() -> Names {
    let mut all = Names {
        bytes: [0; BYTES],
        begins: [0; FUNCTIONS],
        about: [End; FUNCTIONS],
        hashes: [5381; FUNCTIONS],
    };
    let (mut row, mut number, mut used) = (0, 0, 0);
    while row < TABLE.len() {
        let names = TABLE[row].1.as_bytes();
        let mut at = 0;
        while at < names.len() {
            if names[at] == b' ' {
                at += 1;
                continue;
            }
            all.begins[number] = used as u16;
            all.about[number] = TABLE[row].0;
            while at < names.len() && names[at] != b' ' {
                all.bytes[used] = names[at];
                all.hashes[number] = all.hashes[number].wrapping_mul(33).wrapping_add(names[at] as u32);
                used += 1;
                at += 1;
            }
            used += 1;
            number += 1;
        }
        row += 1;
    }
    all
}

static NAMES: Names = names();

/// The name of a function.
pub(super) fn name(number: usize) -> Option<&'static CStr> {
    let begin = *NAMES.begins.get(number)?;
    CStr::from_bytes_until_nul(NAMES.bytes.get(usize::from(begin)..)?).ok()
}

/// The hash of its name, as in GNU's tables.
pub(super) fn hash(number: usize) -> Option<u32> {
    NAMES.hashes.get(number).copied()
}

/// What it is about.
pub(super) fn about(number: usize) -> Option<About> {
    NAMES.about.get(number).copied()
}

/// The hash of a name, as in GNU's tables.
pub(super) const fn hash_of(name: &CStr) -> u32 {
    let bytes = name.to_bytes();
    let (mut hash, mut at) = (5381_u32, 0);
    while at < bytes.len() {
        hash = hash.wrapping_mul(33).wrapping_add(bytes[at] as u32);
        at += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_a_name_of_its_own() {
        let all: std::vec::Vec<_> = (0..FUNCTIONS).map(|number| name(number).expect("a name")).collect();
        let mut sorted = all.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), FUNCTIONS);
        assert_eq!((all[0], about(0)), (c"_exit", Some(End)));
        assert_eq!((all[FUNCTIONS - 1], about(FUNCTIONS - 1)), (c"syscall", Some(SystemCall)));
        for (number, name) in all.iter().enumerate() {
            assert!(!name.is_empty());
            assert_eq!(hash(number), Some(hash_of(name)));
        }
    }
}
