//! The part of the machine that other programs used during the rounds: without it, their influence is unknown.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::fs::read_to_string;
use std::time::Instant;

/// Time so far, in seconds: of all programs on all processors, and of the processes started here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Busy {
    at: Instant,
    all: f64,
    ours: f64,
}

impl Busy {
    /// The current values.
    pub fn now() -> Self {
        let of = |who| {
            getrusage(who).map_or(0, |usage| {
                usage.user_time().num_microseconds() + usage.system_time().num_microseconds()
            })
        };
        let ours = of(UsageWho::RUSAGE_CHILDREN) + of(UsageWho::RUSAGE_SELF);
        let all = parse(&read_to_string("/proc/stat").unwrap_or_default());
        Self { at: Instant::now(), all, ours: ours as f64 / 1e6 }
    }

    /// The part of all processors' time that other programs have used since these values, 0 to 1.
    pub fn others(&self, processors: usize) -> f64 {
        self.others_until(&Self::now(), processors)
    }

    fn others_until(&self, now: &Self, processors: usize) -> f64 {
        let others = (now.all - self.all) - (now.ours - self.ours);
        (others / ((now.at - self.at).as_secs_f64().max(1e-3) * processors as f64)).clamp(0.0, 1.0)
    }
}

/// User, nice and system time of the kernel's first line, which counts hundredths of a second; and interrupts.
fn parse(stat: &str) -> f64 {
    let Some(line) = stat.lines().find_map(|line| line.strip_prefix("cpu ")) else { return 0.0 };
    let ticks: Vec<f64> = line.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
    // user, nice, system, idle, waiting, interrupts, soft interrupts, stolen
    let busy = [0, 1, 2, 5, 6, 7].iter().filter_map(|place| ticks.get(*place));
    busy.sum::<f64>() / 100.0
}

#[cfg(test)]
mod tests {
    use super::{Busy, parse};
    use std::time::{Duration, Instant};

    #[test]
    fn what_is_not_ours_is_others() {
        assert!((parse("cpu  100 200 300 9999 50 10 20 30 0 0\ncpu0 1\n") - 6.6).abs() < 1e-9);
        let before = Busy { at: Instant::now(), all: 10.0, ours: 1.0 };
        let after = Busy { at: before.at + Duration::from_secs(3), all: 16.0, ours: 4.0 };
        assert!((before.others_until(&after, 2) - 0.5).abs() < 1e-9);
        assert!(Busy::now().all > 0.0);
    }
}
