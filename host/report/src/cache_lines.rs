//! Caches of print and work files in the summary: what they spared, what was left alone, and what could not be written.
//!
//! ```text
//!   caches    20,000 calls of 3 files became 26 (--report bus: each buffer, and the sizes that would do)
//!   caches    2 files stayed plain, mostly: opened for appending
//!   caches    no file that WORKFILE names was read or written
//!   caches    NOT WRITTEN: 133 B of /tmp/totals; the program was told (error 28)
//! ```
//!
//! Not here: each buffer ([`crate::bus`]).

use std::collections::BTreeMap;

use crate::model::Report;
use crate::page::{Line, clean, labelled};
use crate::units::{bytes, count, counted};

/// The lines; none where no option names a file.
pub(crate) fn lines(report: &Report) -> Vec<Line> {
    let buffers = || report.processes.iter().flat_map(|process| &process.buffers);
    let sum = |of: fn(&crate::buffers::Buffer) -> u64| buffers().map(of).fold(0_u64, u64::saturating_add);
    let files = sum(|buffer| buffer.files);
    let mut lines = Vec::new();
    if files > 0 {
        let text = format!(
            "{} of {} became {} (--report bus: each buffer, and the sizes that would do)",
            counted(sum(|buffer| buffer.calls), "call", "calls"),
            counted(files, "file", "files"),
            count(sum(|buffer| buffer.passed_on))
        );
        lines.push(labelled("caches", text));
    }
    let mut plain: BTreeMap<&str, u64> = BTreeMap::new();
    for (reason, files) in buffers().flat_map(|buffer| &buffer.plain) {
        let sum = plain.entry(reason).or_default();
        *sum = sum.saturating_add(*files);
    }
    if let Some((reason, most)) =
        plain.iter().max_by_key(|(reason, files)| (**files, std::cmp::Reverse(**reason)))
    {
        let all = plain.values().fold(0_u64, |sum, files| sum.saturating_add(*files));
        let others = if all > *most { ", mostly" } else { "" };
        let text = format!("{} stayed plain{others}: {}", counted(all, "file", "files"), clean(reason));
        lines.push(labelled("caches", text));
    }
    for buffer in buffers().filter(|buffer| buffer.not_written > 0) {
        let (lost, error) = (bytes(buffer.not_written), buffer.error);
        let text =
            format!("NOT WRITTEN: {lost} of {}; the program was told (error {error})", clean(&buffer.file));
        lines.push(labelled("caches", text));
    }
    if lines.is_empty() && names_files(report) {
        lines.push(labelled("caches", "no file that WORKFILE names was read or written".to_owned()));
    }
    lines
}

/// Whether WORKFILE has a pattern.
fn names_files(report: &Report) -> bool {
    report
        .sub_options("WORKFILE")
        .and_then(|values| values.first().copied())
        .is_some_and(|pattern| !pattern.trim_matches(['\'', '"', ' ']).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn what_was_spared_and_what_was_not() {
        let mut report = sample::getfree();
        let text = |report: &Report| lines(report).iter().map(Line::text).collect::<String>();
        assert_eq!(text(&report), "");
        report.options.in_force[0].option = "WORKFILE(,300,200)".to_owned();
        assert_eq!(text(&report), "");
        // A pattern that is mistyped is seen.
        report.options.in_force[0].option = "WORKFILE(*.otu,300,200)".to_owned();
        assert_eq!(text(&report), "  caches    no file that WORKFILE names was read or written\n");
        report.processes[0].buffers = sample::buffers();
        assert_eq!(
            text(&report),
            "  caches    18,100 calls of 3 files became 8,012 (--report bus: each buffer, and the sizes that would do)\n  \
             caches    2 files stayed plain: opened for appending\n  \
             caches    NOT WRITTEN: 133 B of /tmp/wcacheo; the program was told (error 28)\n"
        );
    }
}
