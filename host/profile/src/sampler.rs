//! Opens the kernel's rings, one for each processor, and empties them into a tally.
//!
//! Invariant: every sample is either in the tally or counted as lost.
//! Cost: the kernel's timer interrupt for each sample, in the program; five rounds a second here.

use std::fs;

use underbar_sys::perf::{Ring, Sampling};
use underbar_sys::syscall::Errno;

use crate::order::Order;
use crate::record::Reader;
use crate::tally::Tally;

/// Samples a second of CPU time: a prime, so as not to coincide with what programs do each millisecond.
pub const DEFAULT_RATE: u32 = 997;
/// More would make the kernel throttle, and the program slow.
pub const MOST_RATE: u32 = 20_000;

/// Pages of a ring; fewer if less memory may be locked.
const PAGES: usize = 128;

/// The reason why nothing can be sampled here. The machine's settings are the cause, except for the last.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// Set by the administrator.
    #[error(
        "the kernel lets only the superuser sample (kernel.perf_event_paranoid is {0}); \
         `sysctl kernel.perf_event_paranoid=2` allows it for one's own programs, in user mode"
    )]
    Paranoid(i64),
    /// A filter, as in containers.
    #[error(
        "a filter of system calls forbids perf_event_open, as that of a container does; \
         start the container with a profile that allows it, or profile outside of it"
    )]
    Filtered,
    /// The user, or another profile of theirs: rings are locked memory.
    #[error(
        "no ring could be mapped: the memory that may be locked is used up, perhaps by another profile \
         (kernel.perf_event_mlock_kb, ulimit -l), or a security module forbids it"
    )]
    Locked,
    /// The kernel.
    #[error("this kernel has no performance events (perf_event_open: {0})")]
    Absent(Errno),
    /// Another reason of the kernel.
    #[error("the kernel refuses to sample (perf_event_open: {0})")]
    Kernel(Errno),
    /// The machine: nothing shows its processors.
    #[error("/sys/devices/system/cpu/online does not list the processors")]
    Processors,
}

/// Rings that receive samples.
pub struct Sampler {
    rings: Vec<(Ring, Reader)>,
    order: Order,
    tally: Tally,
    buffer: Vec<u8>,
}

impl Sampler {
    /// From now on, the programs that this thread's children execute are sampled: this many times in a second of CPU time of
    /// each thread.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn begin(rate: u32) -> Result<Sampler, Refused> {
        let period_ns = 1_000_000_000 / u64::from(rate.clamp(1, MOST_RATE));
        let mut sampling = Sampling { period_ns, with_build_ids: true, pages: PAGES };
        let mut rings = Vec::new();
        let mut reason = Errno::ENODEV;
        for processor in processors(&fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default())
        {
            match open(processor, &mut sampling) {
                Ok(ring) => rings.push((ring, Reader::default())),
                // It is off by now.
                Err(Errno::ENODEV) => {}
                Err(other) => {
                    rings.clear();
                    reason = other;
                    break;
                }
            }
        }
        if rings.is_empty() {
            return Err(refused(reason));
        }
        let buffer = vec![0; 64 << 10];
        Ok(Sampler { rings, order: Order::default(), tally: Tally::default(), buffer })
    }

    /// Empties the rings. Called several times a second.
    pub fn look(&mut self) {
        for (ring, reader) in &mut self.rings {
            // At most the size of the ring, so that a program that fills it faster than we empty it does not keep us here.
            for _ in 0..=PAGES * 4096 / self.buffer.len() {
                let length = ring.take(&mut self.buffer);
                if length == 0 {
                    break;
                }
                reader.read(&self.buffer[..length], |timed| self.order.add(timed));
            }
        }
        self.order.round(|record| self.tally.add(record));
    }

    /// The program has ended: returns all samples.
    #[must_use]
    pub fn end(mut self) -> Tally {
        self.look();
        self.order.end(|record| self.tally.add(record));
        self.tally.lost += self.rings.iter().map(|(_, reader)| reader.wrong).sum::<u64>();
        self.tally
    }
}

/// A ring, in the form that this kernel and this user can have.
fn open(processor: u32, sampling: &mut Sampling) -> Result<Ring, Errno> {
    loop {
        match Ring::open(processor, *sampling) {
            Err(Errno::EINVAL) if sampling.with_build_ids => sampling.with_build_ids = false,
            Err(Errno::EPERM | Errno::ENOMEM) if sampling.pages > 1 => sampling.pages /= 2,
            result => return result,
        }
    }
}

fn refused(reason: Errno) -> Refused {
    let filtered = || {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        status.lines().any(|line| line.starts_with("Seccomp:") && !line.ends_with('0'))
    };
    match reason {
        Errno::EACCES | Errno::EPERM => match paranoid() {
            Some(level) if level > 2 => Refused::Paranoid(level),
            _ if filtered() => Refused::Filtered,
            _ if reason == Errno::EPERM => Refused::Locked,
            _ => Refused::Kernel(reason),
        },
        Errno::ENOMEM => Refused::Locked,
        Errno::ENOSYS if filtered() => Refused::Filtered,
        Errno::ENOSYS | Errno::ENOENT => Refused::Absent(reason),
        Errno::ENODEV => Refused::Processors,
        reason => Refused::Kernel(reason),
    }
}

/// The kernel's setting; None if it has none.
#[must_use]
pub fn paranoid() -> Option<i64> {
    fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
}

/// The numbers of a list such as `0-3,5`.
fn processors(list: &str) -> Vec<u32> {
    /// More than the maximum of Linux.
    const MOST: u32 = 1 << 16;
    let ranges = list.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?.min(MOST))
    });
    ranges.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_read() {
        assert_eq!(processors("0-3,5\n"), [0, 1, 2, 3, 5]);
        assert_eq!(processors("0"), [0]);
        assert!(processors("").is_empty());
        assert_eq!(processors("x,2-1,7"), [7]);
        assert_eq!(processors("5-4294967295").len(), (1 << 16) - 4);
    }

    #[test]
    fn reasons_say_who_could_change_it() {
        assert!(matches!(refused(Errno::ENOENT), Refused::Absent(_)));
        assert!(matches!(refused(Errno::EIO), Refused::Kernel(_)));
        let text = Refused::Paranoid(4).to_string();
        assert!(text.contains("perf_event_paranoid is 4") && text.contains("sysctl"), "{text}");
    }
}
