//! Thread storage, CPU limit and timers in the summary: what THSIZE, MT and TIMER did.
//!
//! ```text
//!   thsize    64M reserved, 42.1 MiB of it reached, all buffers in it
//!   CPU limit 60 s for each of 2 program starts
//!   timers    2,061 settings, 2,000 without the kernel; 23 signals, 1 early wake
//! ```
//!
//! Not here: the counting (`runtime`), and the rule for the size (`model::thread_storage`).

use underbar_ledger::Key;
use underbar_model::thread_storage::ThreadStorage;

use crate::model::Report;
use crate::page::{Line, labelled};
use crate::units::{bytes, count, counted, size};

/// The reservation of THSIZE, if there is one: of the process with the largest.
#[must_use]
pub fn thread_storage(report: &Report) -> Option<ThreadStorage> {
    let of = |key| report.tree.counters.get(key);
    let storage = ThreadStorage {
        size: of(Key::ThreadStorageSize),
        reached: of(Key::ThreadStorageReached),
        segments_peak: of(Key::HeapSegmentBytesPeak),
        outside: of(Key::ThreadStorageOutside),
    };
    (storage.size > 0).then_some(storage)
}

/// A line for each of the three that was in force.
pub(crate) fn lines(report: &Report) -> Vec<Line> {
    let of = |key| report.tree.counters.get(key);
    let mut lines = Vec::new();
    if let Some(storage) = thread_storage(report) {
        let outside = match storage.outside {
            0 => "all buffers in it".to_owned(),
            more => format!("{} besides it", counted(more, "segment", "segments")),
        };
        let mut text =
            format!("{} reserved, {} of it reached, {outside}", size(storage.size), bytes(storage.reached));
        if storage.is_worth_a_change() {
            text += &format!("; THSIZE({}) would hold them", size(storage.suggested()));
        }
        lines.push(labelled("thsize", text));
    }
    let seconds = of(Key::CpuLimit);
    if seconds > 0 {
        let starts = counted(of(Key::CpuLimitStarts), "program start", "program starts");
        let kernel = match of(Key::CpuLimitByKernel) {
            0 => String::new(),
            processes => format!(", kept by the kernel for {}", counted(processes, "process", "processes")),
        };
        lines.push(labelled("CPU limit", format!("{} s for each of {starts}{kernel}", count(seconds))));
    }
    let set = of(Key::TimerSet);
    if set > 0 {
        let text = format!(
            "{}, {} without the kernel; {}, {}",
            counted(set, "setting", "settings"),
            count(of(Key::TimerSwallowed)),
            counted(of(Key::TimerSent), "signal", "signals"),
            counted(of(Key::TimerEarly), "early wake", "early wakes"),
        );
        lines.push(labelled("timers", text));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn text(counters: &[(Key, u64)]) -> String {
        lines(&sample::with(counters)).iter().map(Line::text).collect()
    }

    #[test]
    fn one_line_for_each_option_in_force() {
        const MIB: u64 = 1 << 20;
        assert_eq!(text(&[]), "");
        assert_eq!(
            text(&[(Key::ThreadStorageSize, 64 * MIB), (Key::ThreadStorageReached, 42 * MIB)]),
            "  thsize    64M reserved, 42 MiB of it reached, all buffers in it\n"
        );
        assert_eq!(
            text(&[
                (Key::ThreadStorageSize, 8 * MIB),
                (Key::ThreadStorageReached, 8 * MIB),
                (Key::ThreadStorageOutside, 9),
                (Key::HeapSegmentBytesPeak, 45 * MIB),
            ]),
            "  thsize    8M reserved, 8 MiB of it reached, 9 segments besides it; THSIZE(45M) would hold them\n"
        );
        assert_eq!(
            text(&[(Key::CpuLimit, 60), (Key::CpuLimitStarts, 2)]),
            "  CPU limit 60 s for each of 2 program starts\n"
        );
        assert_eq!(
            text(&[(Key::CpuLimit, 60), (Key::CpuLimitStarts, 1), (Key::CpuLimitByKernel, 1)]),
            "  CPU limit 60 s for each of 1 program start, kept by the kernel for 1 process\n"
        );
        assert_eq!(
            text(&[
                (Key::TimerSet, 2_061),
                (Key::TimerSwallowed, 2_000),
                (Key::TimerSent, 23),
                (Key::TimerEarly, 1)
            ]),
            "  timers    2,061 settings, 2,000 without the kernel; 23 signals, 1 early wake\n"
        );
    }
}
