//! The kernel scheduler's data about the calling thread and the whole process.

use std::fs::{File, read_to_string};
use std::os::unix::fs::FileExt;
use underbar_sys::syscall;

/// CPU time of a process, all its threads together (CLOCK_PROCESS_CPUTIME_ID): exact, unlike ticks.
const PROCESS_CPU: u32 = 2;

/// CPU time of this process so far, in nanoseconds.
#[must_use]
pub fn process_cpu() -> u64 {
    syscall::clock_nanoseconds(PROCESS_CPU)
}

/// A thread's own account; all of it since the thread began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    /// Nanoseconds during which it could run, and another thread ran.
    pub runnable_ns: u64,
    /// Voluntary switches, mostly to sleep.
    pub slept: u64,
    /// Involuntary switches.
    pub preempted: u64,
}

impl Account {
    /// The calling thread's; zeros if the kernel keeps none.
    #[must_use]
    pub fn now() -> Self {
        let read = |path| read_to_string(path).unwrap_or_default();
        Self::parse(&read("/proc/thread-self/schedstat"), &read("/proc/thread-self/status"))
    }

    fn parse(schedstat: &str, status: &str) -> Self {
        let number = |label: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(label));
            line.and_then(|figure| figure.trim().parse().ok()).unwrap_or(0)
        };
        Self {
            runnable_ns: runnable(schedstat),
            slept: number("voluntary_ctxt_switches:"),
            preempted: number("nonvoluntary_ctxt_switches:"),
        }
    }

    /// The difference to an earlier one.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            runnable_ns: self.runnable_ns.saturating_sub(before.runnable_ns),
            slept: self.slept.saturating_sub(before.slept),
            preempted: self.preempted.saturating_sub(before.preempted),
        }
    }
}

/// The second of three numbers: time on a processor, time waiting for one, number of runs.
fn runnable(schedstat: &str) -> u64 {
    schedstat.split_ascii_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// The time during which the calling thread could run while another did. It is read often, so the file stays open.
#[derive(Debug)]
pub struct Runnable(Option<File>);

impl Runnable {
    /// For the calling thread only.
    #[must_use]
    pub fn of_this_thread() -> Self {
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    /// Nanoseconds since the thread began; 0 if the kernel keeps no account. A read takes about a microsecond.
    #[must_use]
    pub fn nanoseconds(&self) -> u64 {
        let mut text = [0; 64];
        let read = self.0.as_ref().and_then(|file| file.read_at(&mut text, 0).ok()).unwrap_or(0);
        runnable(std::str::from_utf8(&text[..read]).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::{Account, Runnable};

    #[test]
    fn the_open_file_says_what_the_account_says() {
        let file = Runnable::of_this_thread();
        assert_eq!(file.0.is_some(), std::path::Path::new("/proc/thread-self/schedstat").exists());
        let (before, now, after) = (Account::now(), file.nanoseconds(), Account::now());
        assert!((before.runnable_ns..=after.runnable_ns).contains(&now));
    }

    #[test]
    fn the_kernels_text_is_read() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        let account = Account::parse("100 20 3\n", status);
        assert_eq!(account, Account { runnable_ns: 20, slept: 150, preempted: 545 });
        assert_eq!(account.since(Account { runnable_ns: 5, slept: 50, preempted: 45 }).preempted, 500);
        assert_eq!(Account::parse("", ""), Account::default());
    }
}
