//! The summary of a sort, in words and as JSON, and its progress line.
//!
//! Invariant: words and JSON have the same figures.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;
use underbar_records::{Figures, Plan};
use underbar_report::units::count;

/// The figures of a sort that has ended.
pub struct Summary<'a> {
    figures: &'a Figures,
    memory: usize,
    verb: &'static str,
    elapsed: Duration,
}

impl<'a> Summary<'a> {
    /// Of these figures.
    pub fn new(figures: &'a Figures, plan: &Plan, elapsed: Duration) -> Summary<'a> {
        use underbar_records::statement::Verb;
        let verb = match plan.statements.verb {
            Verb::Sort => "sorted",
            Verb::Merge => "merged",
            Verb::Copy => "copied",
        };
        Summary { figures, memory: plan.memory, verb, elapsed }
    }

    /// The lines.
    pub fn text(&self) -> String {
        let Figures { records, bytes, taken, written, written_bytes, runs, work, reads, writes, times } =
            self.figures;
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{} {} records, {} bytes, in {:.2} s",
            self.verb,
            count(*records),
            count(*bytes),
            self.elapsed.as_secs_f64()
        );
        if taken != records || written != records {
            let _ = writeln!(
                text,
                "  taken     {} records; written {}, {} bytes",
                count(*taken),
                count(*written),
                count(*written_bytes)
            );
        }
        if *runs > 0 {
            let _ = writeln!(
                text,
                "  runs      {} sorted, {} written to the work file: {} bytes; memory {} KiB",
                count(*runs),
                count(work.runs),
                count(work.bytes),
                count(self.memory as u64 >> 10)
            );
        }
        let seconds = |time: Duration| format!("{:.2}", time.as_secs_f64());
        let _ = writeln!(
            text,
            "  seconds   read {}, sort {}, spill {}, merge {}, write {}; stages overlap",
            seconds(times.read),
            seconds(times.sort),
            seconds(times.spill),
            seconds(times.merge),
            seconds(times.write)
        );
        let _ = writeln!(
            text,
            "  switches  {} calls moved records: {} reads, {} writes, {} of the work file; one by one: {}",
            count(self.figures.calls()),
            count(*reads),
            count(*writes),
            count(work.reads + work.writes),
            count(records + written)
        );
        text
    }

    /// One object.
    pub fn json(&self) -> String {
        let Figures { records, bytes, taken, written, written_bytes, runs, work, reads, writes, times } =
            self.figures;
        let document = json!({
            "schema": "underbar.sort/1",
            "verb": self.verb,
            "records": { "read": records, "taken": taken, "written": written },
            "bytes": { "read": bytes, "written": written_bytes },
            "memory": self.memory,
            "runs": runs,
            "work_file": { "runs": work.runs, "bytes": work.bytes },
            "calls": {
                "read": reads, "write": writes, "work_read": work.reads, "work_write": work.writes,
                "all": self.figures.calls(), "one_by_one": records + written,
            },
            "seconds": {
                "elapsed": self.elapsed.as_secs_f64(),
                "read": times.read.as_secs_f64(), "sort": times.sort.as_secs_f64(),
                "spill": times.spill.as_secs_f64(), "merge": times.merge.as_secs_f64(),
                "write": times.write.as_secs_f64(),
            },
        });
        format!("{document}\n")
    }
}

/// The line on the terminal.
pub fn progress(figures: &Figures, all: Option<u64>) -> String {
    if figures.written > 0 && figures.runs > 0 {
        return format!("{} of {} records written", count(figures.written), count(figures.taken));
    }
    let percent = all.filter(|all| *all > 0).map(|all| format!(", {} %", figures.bytes * 100 / all));
    format!("{} records read{}", count(figures.records), percent.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_that_of_the_stage() {
        let mut figures = Figures { records: 5_000, bytes: 50, ..Figures::default() };
        assert_eq!(progress(&figures, Some(200)), "5,000 records read, 25 %");
        assert_eq!(progress(&figures, None), "5,000 records read");
        (figures.runs, figures.taken, figures.written) = (3, 5_000, 10);
        assert_eq!(progress(&figures, Some(200)), "10 of 5,000 records written");
    }
}
