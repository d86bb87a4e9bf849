//! The kernel's own small library, which is mapped into every program and is not a file.
//!
//! Invariant: read through `/proc/self`, from a mapping that stays as long as this process.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// The kernel's name for it, in `/proc/PID/maps` and in its records.
pub const NAME: &str = "[vdso]";

/// More bytes than it has on any kernel.
const MOST_BYTES: u64 = 1 << 20;

/// Its bytes; None if there is none, or the kernel does not allow reading them.
pub fn bytes() -> Option<Vec<u8>> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with(NAME))?;
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    let length = end.checked_sub(start).filter(|length| *length <= MOST_BYTES)?;
    let mut bytes = vec![0; usize::try_from(length).ok()?];
    File::open("/proc/self/mem").ok()?.read_exact_at(&mut bytes, start).ok()?;
    Some(bytes)
}
