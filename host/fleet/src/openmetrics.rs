//! A report as an OpenMetrics text: for the textfile collector of a node exporter, or another reader of files.
//!
//! ```text
//! # TYPE underbar_heap_used_peak_bytes gauge
//! # UNIT underbar_heap_used_peak_bytes bytes
//! # HELP underbar_heap_used_peak_bytes The most bytes of cells ...
//! underbar_heap_used_peak_bytes{program="cc1plus"} 104857600
//! # EOF
//! ```
//!
//! All are gauges: a run's figures are what its report says, and the next run's begin anew. The text is also one of Prometheus'
//! older form, which has no UNIT and takes it as a comment. It has no time stamps, which textfile collectors refuse.
//! Invariant: names are unique, end with their unit, and depend on the tables only; foreign texts are in labels only, escaped.
//! Not here: how the file is written.

use std::fmt::Write as _;

use underbar_advise::advise;
use underbar_ledger::table::KEYS;
use underbar_ledger::{TABLE, Unit};
use underbar_report::Report;
use underbar_report::model::{End, file_name};
use underbar_report::steps::STEPS;
use underbar_report::tree::TREE;
use underbar_report::units::parse_size;
use underbar_shown::text;

/// The report as text.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut text = Text(String::with_capacity(32 << 10));
    let programs = report.programs();
    let run = [("program", file_name(&report.run.program))];
    let info = [run[0], ("underbar", &report.underbar), ("kernel", &report.host.kernel)];
    text.family("underbar_run_info", "", "The run that these figures are of.", [(&info[..], "1".to_owned())]);
    let begun = seconds(report.run.started_unix_ns);
    let what = "When the run began, in seconds since 1970.";
    text.family("underbar_run_started_timestamp_seconds", "seconds", what, [(&run[..], begun)]);
    let status = report.run.end.map(|end| match end {
        End::Exit(status) => status,
        End::Signal(signal) => 128 + signal,
    });
    let what = "Its exit status; 128 and the number of the signal that ended it.";
    text.family("underbar_run_exit_status", "", what, status.map(|status| (&run[..], status.to_string())));
    for step in &STEPS {
        let figure = report.steps.as_ref().and_then(step.get);
        text.figure(step.key, step.unit, step.meaning, figure.map(|figure| (&run[..], figure)));
    }
    for of in &TREE {
        text.figure(of.key, Unit::Count, of.meaning, [(&run[..], (of.get)(&report.tree))]);
    }
    let labels: Vec<_> = programs.iter().map(|program| [("program", program.name.as_str())]).collect();
    for (key, entry) in KEYS.into_iter().zip(&TABLE) {
        let figures = programs.iter().zip(&labels);
        let known = figures.filter_map(|(program, label)| Some((&label[..], program.counters.known(key)?)));
        text.figure(entry.key, entry.unit, entry.meaning, known);
    }
    text.suggestions(report);
    text.0 + "# EOF\n"
}

/// The name of a key's family: `heap.segment_bytes_peak` becomes `underbar_heap_segment_peak_bytes`.
#[must_use]
pub fn name(key: &str, unit: Unit) -> String {
    let plain = key.replace('.', "_");
    let (word, ending) = match unit {
        Unit::Bytes => ("bytes", "_bytes"),
        Unit::Nanoseconds => ("ns", "_seconds"),
        Unit::Count => return format!("underbar_{plain}"),
    };
    let words: Vec<&str> = plain.split('_').filter(|part| *part != word).collect();
    format!("underbar_{}{ending}", words.join("_"))
}

/// The text so far.
struct Text(String);

type Labels<'a> = &'a [(&'a str, &'a str)];

impl Text {
    /// A family whose figures are in the unit of a table.
    fn figure<'a>(
        &mut self,
        key: &str,
        unit: Unit,
        meaning: &str,
        figures: impl IntoIterator<Item = (Labels<'a>, u64)>,
    ) {
        let (word, is_time) = match unit {
            Unit::Bytes => ("bytes", false),
            Unit::Nanoseconds => ("seconds", true),
            Unit::Count => ("", false),
        };
        let shown = |figure: u64| if is_time { seconds(figure) } else { figure.to_string() };
        let figures = figures.into_iter().map(|(labels, figure)| (labels, shown(figure)));
        self.family(&name(key, unit), word, meaning, figures);
    }

    /// A family, if it has figures.
    fn family<'a>(
        &mut self,
        name: &str,
        unit: &str,
        meaning: &str,
        figures: impl IntoIterator<Item = (Labels<'a>, String)>,
    ) {
        let mut figures = figures.into_iter().peekable();
        if figures.peek().is_none() {
            return;
        }
        let text = &mut self.0;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# TYPE {name} gauge");
        if !unit.is_empty() {
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(text, "# HELP {name} {}", help(meaning));
        for (labels, figure) in figures {
            let labels: Vec<String> =
                labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
            let _ = writeln!(text, "{name}{{{}}} {figure}", labels.join(","));
        }
    }

    /// The suggested values that are numbers.
    fn suggestions(&mut self, report: &Report) {
        let suggestions = advise(report);
        let mut values: Vec<([(&str, String); 4], u64)> = Vec::new();
        for advice in suggestions.iter().filter(|advice| advice.acts) {
            let Some(setting) = &advice.option else { continue };
            for (at, text) in setting.sub_options.iter().enumerate() {
                let Some(value) = text.as_deref().and_then(parse_size) else { continue };
                let labels = [
                    ("program", advice.target.clone()),
                    ("rule", advice.rule.to_owned()),
                    ("option", setting.option.to_owned()),
                    ("parameter", (at + 1).to_string()),
                ];
                // Rules for classes suggest the same option several times; a series may be there once.
                if !values.iter().any(|(known, _)| *known == labels) {
                    values.push((labels, value));
                }
            }
        }
        let labels: Vec<_> = values
            .iter()
            .map(|(labels, _)| labels.each_ref().map(|(label, value)| (*label, value.as_str())))
            .collect();
        let figures = values.iter().zip(&labels).map(|((_, value), labels)| (&labels[..], value.to_string()));
        let what = "A sub-option that is suggested, as a number: bytes for sizes.";
        self.family("underbar_suggested_value", "", what, figures);
    }
}

/// Nanoseconds as seconds, exactly.
fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// Control characters become text first: the format knows no other escapes than these three.
fn escaped(value: &str) -> String {
    text(value).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The older form has no escape for a quote in help, and the newer one demands it: so there is none.
fn help(meaning: &str) -> String {
    meaning.replace('\\', "\\\\").replace('"', "'").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use underbar_report::sample;

    #[test]
    fn names_are_unique_and_end_with_their_unit() {
        let of_steps = STEPS.iter().map(|step| name(step.key, step.unit));
        let of_tree = TREE.iter().map(|of| name(of.key, Unit::Count));
        let mut names: Vec<String> =
            of_steps.chain(of_tree).chain(TABLE.iter().map(|entry| name(entry.key, entry.unit))).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
        for (key, unit, expect) in [
            ("heap.used_peak", Unit::Bytes, "underbar_heap_used_peak_bytes"),
            ("heap.segment_bytes_total", Unit::Bytes, "underbar_heap_segment_total_bytes"),
            ("lock.wait_max_ns", Unit::Nanoseconds, "underbar_lock_wait_max_seconds"),
            ("heap.gets", Unit::Count, "underbar_heap_gets"),
        ] {
            assert_eq!(name(key, unit), expect);
        }
    }

    #[test]
    fn the_text_has_the_form_of_the_standard() {
        let mut report = sample::tree();
        let hostile = "/bin/a\"b\\c\nd{x=\"1\"} 5\u{1b}";
        report.processes[0].program = hostile.to_owned();
        report.run.program = hostile.to_owned();
        let text = render(&report);
        assert!(text.ends_with("\n# EOF\n") && text.matches("# EOF").count() == 1);
        assert!(
            text.contains(
                "underbar_run_info{program=\"a\\\"b\\\\c\\nd{x=\\\"1\\\"} 5\\\\x1b\",underbar=\"0.1.0\""
            ),
            "{text}"
        );
        assert!(text.contains("\nunderbar_steps_elapsed_seconds{program="), "{text}");
        // A family is in one piece: a header, then its samples, and no series twice.
        let (mut family, mut seen) = ("", Vec::new());
        for line in text.lines().filter(|line| *line != "# EOF") {
            if let Some(header) = line.strip_prefix("# ") {
                let mut words = header.split(' ');
                let (kind, name) = (words.next(), words.next().expect("a name"));
                if kind == Some("TYPE") {
                    assert!(!seen.contains(&name), "{name}");
                    seen.push(name);
                    family = name;
                }
                assert_eq!(name, family);
                continue;
            }
            let (series, figure) = line.rsplit_once(' ').expect("a sample");
            assert!(series.starts_with(&format!("{family}{{")) && series.ends_with('}'), "{line}");
            assert!(figure.parse::<f64>().is_ok(), "{line}");
            assert!(!seen.contains(&series), "{line}");
            seen.push(series);
        }
    }

    #[test]
    fn times_are_exact_and_unknown_figures_are_left_out() {
        assert_eq!(seconds(1_234_567_890), "1.234567890");
        assert_eq!(seconds(u64::MAX), "18446744073.709551615");
        let mut report = sample::getfree();
        report.steps = None;
        report.run.end = None;
        let text = render(&report);
        assert!(!text.contains("underbar_steps_") && !text.contains("exit_status"));
    }
}
