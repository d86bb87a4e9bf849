//! Class placement in the summary (ZIIP(CPUS)): the CPU time of each class.
//!
//! ```text
//!   class     2 threads placed: 812 ms CPU time, all others 310 ms
//!   class     1 thread not placed: the kernel refused the processors of ZIIP(CPUS)
//! ```
//!
//! Not here: the placing (`runtime::placement`).

use underbar_ledger::Key;

use crate::model::Report;
use crate::page::{Line, labelled};
use crate::units::{counted, nanoseconds};

/// None where no thread was to be placed.
pub(crate) fn lines(report: &Report) -> Vec<Line> {
    let of = |key| report.tree.counters.get(key);
    let mut lines = Vec::new();
    if of(Key::ClassThreads) > 0 {
        lines.push(labelled(
            "class",
            format!(
                "{} placed: {} CPU time, all others {}",
                counted(of(Key::ClassThreads), "thread", "threads"),
                nanoseconds(of(Key::ClassTime)),
                nanoseconds(of(Key::ClassOtherTime))
            ),
        ));
    }
    if of(Key::ClassRefused) > 0 {
        let threads = counted(of(Key::ClassRefused), "thread", "threads");
        lines.push(labelled(
            "class",
            format!("{threads} not placed: the kernel refused the processors of ZIIP(CPUS)"),
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn classes_have_their_times() {
        assert!(lines(&sample::getfree()).is_empty());
        let report = sample::with(&[
            (Key::ClassThreads, 2),
            (Key::ClassRefused, 1),
            (Key::ClassTime, 812_000_000),
            (Key::ClassOtherTime, 310_000_000),
        ]);
        let text: Vec<String> = lines(&report).iter().map(Line::text).collect();
        assert_eq!(
            text,
            [
                "  class     2 threads placed: 812 ms CPU time, all others 310 ms\n",
                "  class     1 thread not placed: the kernel refused the processors of ZIIP(CPUS)\n",
            ]
        );
    }
}
