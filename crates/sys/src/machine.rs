//! The limits of this process, by a system call: no file of `/proc` has to be opened and read.
//!
//! Invariant: a limit that the kernel does not give is an error; None is no limit.
//! Not here: the machine's own figures and control groups (`host/runner`).

use crate::syscall::{Result, number, syscall3, syscall6};

/// A resource with a limit (`ulimit`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// CPU time of the process: seconds (`-t`). Beyond it, the kernel sends SIGXCPU, each second.
    Cpu = 0,
    /// The length of a file that is written: bytes (`-f`). Beyond it, the kernel sends a signal that ends most programs.
    File = 1,
    /// Memory of its own that can be written: bytes (`-d`).
    Data = 2,
    /// The stack of the main thread, and of a thread that asks for no size: bytes (`-s`).
    Stack = 3,
    /// Address space: bytes (`-v`).
    AddressSpace = 9,
}

/// The soft limit of this process; None if there is none.
pub fn limit(resource: Resource) -> Result<Option<u64>> {
    const INFINITY: u64 = u64::MAX;
    let mut limits = [INFINITY; 2];
    // SAFETY: the kernel writes two words.
    unsafe { syscall3(number::GETRLIMIT, resource as usize, limits.as_mut_ptr() as usize, 0)? };
    Ok(Some(limits[0]).filter(|soft| *soft != INFINITY))
}

/// Whether this process may make a file of that many bytes. If not, the kernel would send SIGXFSZ, which ends it.
pub fn is_file_allowed(bytes: usize) -> bool {
    limit(Resource::File).is_ok_and(|longest| longest.is_none_or(|longest| longest >= bytes as u64))
}

/// Sets the soft limit of this process.
///
/// # Errors
/// `EINVAL`: the hard limit is lower.
pub fn set_soft_limit(resource: Resource, limit: u64) -> Result<()> {
    let mut limits = [u64::MAX; 2];
    // SAFETY: the kernel writes two words, and reads them.
    unsafe {
        syscall3(number::GETRLIMIT, resource as usize, limits.as_mut_ptr() as usize, 0)?;
        limits[0] = limit;
        // Not setrlimit, which a service may have forbidden itself: systemd's @resources has it.
        syscall6(number::PRLIMIT64, 0, resource as usize, limits.as_ptr() as usize, 0, 0, 0)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_limits_are_those_in_the_file() {
        let number = |text: &str, name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).expect(name);
            line.split_whitespace().next().and_then(|word| word.parse::<u64>().ok())
        };
        let limits = fs::read_to_string("/proc/self/limits").expect("there");
        assert_eq!(limit(Resource::File), Ok(number(&limits, "Max file size")));
        assert_eq!(limit(Resource::Stack), Ok(number(&limits, "Max stack size")));
        assert_eq!(limit(Resource::AddressSpace), Ok(number(&limits, "Max address space")));
    }
}
