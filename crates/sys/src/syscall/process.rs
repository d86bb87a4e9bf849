//! Calls about this process and its threads: identity, processors, settings, random bytes, signals and the end.

use super::{Result, number, syscall3, syscall6};

/// The process; the kernel is asked each time, so the number is right after fork, vfork and clone.
#[inline]
#[must_use]
pub fn getpid() -> i32 {
    // SAFETY: no arguments. It never fails.
    unsafe { syscall3(number::GETPID, 0, 0, 0) }.map_or(0, |pid| pid as i32)
}

/// The thread, by the kernel's number.
#[inline]
#[must_use]
pub fn gettid() -> i32 {
    // SAFETY: no arguments. It never fails.
    unsafe { syscall3(number::GETTID, 0, 0, 0) }.map_or(0, |tid| tid as i32)
}

/// The user whose rights this process has.
#[inline]
#[must_use]
pub fn geteuid() -> u32 {
    // SAFETY: no arguments. It never fails.
    unsafe { syscall3(number::GETEUID, 0, 0, 0) }.map_or(u32::MAX, |uid| uid as u32)
}

/// How many processors this thread may run on; 0 if the kernel does not tell.
#[must_use]
pub fn processors() -> u32 {
    let mut set = [0_u64; 64];
    // SAFETY: the kernel writes at most so many bytes, and returns how many.
    let bytes =
        unsafe { syscall3(number::SCHED_GETAFFINITY, 0, size_of_val(&set), set.as_mut_ptr() as usize) }
            .unwrap_or(0);
    set.iter().take(bytes / 8).map(|word| word.count_ones()).sum()
}

/// The processors on which this thread may run: bit 0 of the first word is processor 0.
///
/// # Errors
/// EINVAL if the kernel's sets are larger; or its reason.
pub fn affinity(set: &mut [u64]) -> Result<()> {
    // SAFETY: the kernel writes at most so many bytes.
    unsafe { syscall3(number::SCHED_GETAFFINITY, 0, size_of_val(set), set.as_mut_ptr() as usize) }.map(|_| ())
}

/// Changes them.
///
/// # Errors
/// EINVAL if this process may use none of them; or the kernel's reason.
pub fn set_affinity(set: &[u64]) -> Result<()> {
    // SAFETY: the kernel reads so many bytes.
    unsafe { syscall3(number::SCHED_SETAFFINITY, 0, size_of_val(set), set.as_ptr() as usize) }.map(|_| ())
}

/// The kernel's counts of this process; all 0 if it does not tell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// The peak of its resident memory in bytes, or that of its parent when it was made for an exec (`vfork`).
    pub peak_resident: u64,
    /// Page faults served without I/O, including those of earlier programs in this process.
    pub minor_faults: u64,
}

/// One call, where `/proc` takes three, one of them a read that would count in the program's account.
#[must_use]
pub fn usage() -> Usage {
    usage_of(0)
}

/// The same of all children that were waited for, and of theirs.
#[must_use]
pub fn usage_of_children() -> Usage {
    usage_of(usize::MAX)
}

fn usage_of(whom: usize) -> Usage {
    /// `struct rusage` of x86-64, and in it, the peak in KiB and the faults.
    const WORDS: usize = 18;
    const PEAK: usize = 4;
    const MINOR_FAULTS: usize = 8;
    let mut usage = [0_u64; WORDS];
    // SAFETY: the kernel writes one struct rusage.
    let done = unsafe { syscall3(number::GETRUSAGE, whom, usage.as_mut_ptr() as usize, 0) };
    if done.is_err() {
        return Usage::default();
    }
    Usage { peak_resident: usage[PEAK].saturating_mul(1024), minor_faults: usage[MINOR_FAULTS] }
}

/// Lets another thread run first.
#[inline]
pub fn sched_yield() {
    // SAFETY: no arguments. It never fails on Linux.
    let _ = unsafe { syscall3(number::SCHED_YIELD, 0, 0, 0) };
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

/// Fills `buffer` with random bytes without waiting for entropy; returns how many.
#[inline]
pub fn getrandom(buffer: &mut [u8]) -> Result<usize> {
    const GRND_NONBLOCK: usize = 1;
    // SAFETY: the kernel writes only within `buffer`, which is exclusively borrowed.
    unsafe { syscall3(number::GETRANDOM, buffer.as_mut_ptr() as usize, buffer.len(), GRND_NONBLOCK) }
}

/// Sends a signal to a process (or with a negative number, to a group); signal 0 only checks whether it exists.
#[inline]
pub fn kill(pid: i32, signal: i32) -> Result<()> {
    // SAFETY: no memory of this process is involved.
    unsafe { syscall3(number::KILL, pid as isize as usize, signal as usize, 0)? };
    Ok(())
}

/// Ends the whole process now: no destructors, no buffers written. If the kernel refuses that (seccomp), ends at least the
/// calling thread.
#[inline]
pub fn exit_group(code: i32) -> ! {
    loop {
        // SAFETY: neither call returns, so nothing is used afterwards.
        unsafe {
            let _ = syscall3(number::EXIT_GROUP, code as usize, 0, 0);
            let _ = syscall3(number::EXIT, code as usize, 0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_agrees_with_the_standard_library() {
        assert_eq!(getpid() as u32, std::process::id());
        assert!(gettid() > 0);
        let mut bytes = [0; 16];
        assert_eq!(getrandom(&mut bytes), Ok(16));
    }

    #[test]
    fn the_peak_is_at_least_what_was_touched() {
        let _turn = crate::process_wide();
        let before = usage();
        let touched = std::vec![1_u8; 32 << 20];
        let least = before.peak_resident.max(std::hint::black_box(&touched).len() as u64);
        assert!(usage().peak_resident >= least && usage().minor_faults > before.minor_faults);
    }
}
