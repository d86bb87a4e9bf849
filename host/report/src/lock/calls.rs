//! Names of the system calls in which a thread can stay for long.
//!
//! Numbers are those of the architecture that underbar was built for; a report is made on the machine that ran the program.
//! Invariant: a number without a name here is printed as a number.

macro_rules! calls {
    ($($name:ident $x86_64:literal $aarch64:literal,)*) => {
        #[cfg(target_arch = "x86_64")]
        const CALLS: &[(u32, &str)] = &[$(($x86_64, stringify!($name))),*];
        #[cfg(target_arch = "aarch64")]
        const CALLS: &[(u32, &str)] = &[$(($aarch64, stringify!($name))),*];
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        const CALLS: &[(u32, &str)] = &[];
    };
}

calls! {
    read 0 63, write 1 64, close 3 57, lseek 8 62, mmap 9 222, mprotect 10 226, munmap 11 215, brk 12 214,
    ioctl 16 29, pread64 17 67, pwrite64 18 68, readv 19 65, writev 20 66, mremap 25 216, msync 26 227,
    madvise 28 233, nanosleep 35 101, sendfile 40 71, connect 42 203, sendto 44 206, recvfrom 45 207,
    sendmsg 46 211, recvmsg 47 212, clone 56 220, execve 59 221, wait4 61 260, fcntl 72 25, flock 73 32,
    fsync 74 82, fdatasync 75 83, truncate 76 45, ftruncate 77 46, getdents64 217 61, sched_yield 24 124,
    ptrace 101 117, setsockopt 54 208, rt_sigtimedwait 128 137, futex 202 98, clock_nanosleep 230 115,
    waitid 247 95, openat 257 56, mkdirat 258 34, unlinkat 263 35, newfstatat 262 79, renameat2 316 276,
    pselect6 270 72, ppoll 271 73, epoll_pwait 281 22, splice 275 76, sync_file_range 277 84, fallocate 285 47,
    accept4 288 242, preadv 295 69, pwritev 296 70, recvmmsg 299 243, syncfs 306 267, sendmmsg 307 269,
    process_vm_readv 310 270, getrandom 318 278, copy_file_range 326 285, preadv2 327 286, pwritev2 328 287,
    statx 332 291, io_uring_enter 426 426, clone3 435 435, openat2 437 437, membarrier 324 283,
}

/// The name of a system call; `call 450` for a number without a name.
#[must_use]
pub fn name(number: u32) -> String {
    let known = CALLS.iter().find(|(known, _)| *known == number).map(|(_, name)| (*name).to_owned());
    known.unwrap_or_else(|| old(number).map_or_else(|| format!("call {number}"), str::to_owned))
}

/// Calls that exist on x86-64 only.
fn old(number: u32) -> Option<&'static str> {
    const OLD: [(u32, &str); 9] = [
        (2, "open"),
        (4, "stat"),
        (7, "poll"),
        (23, "select"),
        (34, "pause"),
        (43, "accept"),
        (82, "rename"),
        (87, "unlink"),
        (232, "epoll_wait"),
    ];
    let found = OLD.iter().find(|(known, _)| *known == number).map(|(_, name)| *name);
    found.filter(|_| cfg!(target_arch = "x86_64"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_name_and_names_one_number() {
        for (at, (number, called)) in CALLS.iter().enumerate() {
            assert!(CALLS[..at].iter().all(|(other, name)| other != number && name != called), "{called}");
            assert!(!old(*number).is_some_and(|_| cfg!(target_arch = "x86_64")), "{called}");
            assert_eq!(name(*number), *called);
        }
        assert_eq!(name(u32::MAX), "call 4294967295");
        #[cfg(target_arch = "x86_64")]
        assert_eq!([name(1), name(202), name(74), name(232)], ["write", "futex", "fsync", "epoll_wait"]);
    }
}
