//! ECBs for people: a line of the summary, and a section of the view with every figure.
//!
//! ```text
//! ECBs      1,200 of 3 classes ended; most of SSL: 902 created; lists of the thread's own filled 96 % of the requests; 2 alive
//!
//! server, process 4711, ECBs of class SSL
//!   ECBs                 102 created, 100 ended, 95 with a buffer, 3 expanded their table of names
//!   AVL1 32              300 dispensed, 200 freed; by own lists 250, by shared ones 10, by new storage 40
//! ```
//!
//! Not here: the classes ([`crate::ecbs`]), and the layouts of z/TPF ([`crate::ztpf`]).

use crate::ecb_trace;
use crate::ecbs::{EcbClass, EcbList};
use crate::model::Report;
use crate::page::{Line, Page, Tone, clean, labelled, paint};
use crate::units::{bytes, count, counted, share};

/// The line of the summary: the classes of all processes, and the one whose ECBs are most.
pub(crate) fn line(report: &Report) -> Option<Line> {
    let all: Vec<&EcbClass> = report.processes.iter().flat_map(|process| &process.ecbs).collect();
    let most = all.iter().max_by_key(|class| (class.created, class.ended))?;
    let ended = all.iter().fold(0_u64, |sum, class| sum.saturating_add(class.ended));
    let mut names: Vec<&str> = all.iter().map(|class| class.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let sum =
        |of: fn(&EcbList) -> u64| most.lists.iter().fold(0_u64, |sum, list| sum.saturating_add(of(list)));
    let mut text = format!("{} of {} ended", count(ended), counted(names.len() as u64, "class", "classes"));
    if names.len() > 1 {
        text += &format!("; most of {}: {} created", clean(&most.name), count(most.created));
    }
    if sum(|list| list.got) > 0 {
        let own = share(sum(EcbList::own), sum(|list| list.got));
        text += &format!("; lists of the thread's own filled {own} of the requests");
    }
    let alive =
        all.iter().fold(0_u64, |sum, class| sum.saturating_add(class.created.saturating_sub(class.ended)));
    if alive > 0 {
        text += &format!("; {} alive, counted when they end", count(alive));
    }
    Some(labelled("ECBs", text))
}

/// The classes of each process, and the last requests of its threads.
#[must_use]
pub fn render(report: &Report, page: Page<'_>) -> String {
    let mut lines = sections(report);
    if lines.is_empty() {
        lines.push(Line(vec![(Tone::Plain, "No process created an ECB.".to_owned())]));
    }
    paint(&lines, page, usize::MAX)
}

/// The classes of each process that has some, with a heading each, and the last requests of its threads.
pub(crate) fn sections(report: &Report) -> Vec<Line> {
    let mut lines = Vec::new();
    for process in &report.processes {
        for class in &process.ecbs {
            let who = format!("{}, process {}", clean(process.name()), process.process);
            let head = format!("{who}, ECBs of class {}", clean(&class.name));
            lines.push(Line(vec![(Tone::Label, head)]));
            lines.extend(of_class(class));
        }
        lines.extend(ecb_trace::sections(process));
    }
    lines
}

fn of_class(class: &EcbClass) -> Vec<Line> {
    let row =
        |label: &str, text: String| Line(vec![(Tone::Label, format!("  {label:<24}")), (Tone::Plain, text)]);
    let ended = class.ended;
    let mut lines = vec![
        row(
            "ECBs",
            format!(
                "{:>12} created, {} ended, {} with a buffer, {} expanded their table of names",
                count(class.created),
                count(ended),
                count(class.with_buffer),
                count(class.expanded_tags)
            ),
        ),
        row(
            "storage",
            format!(
                "{:>12} preallocated, {} needed more; {} with frames, {}; at most {}",
                bytes(class.area),
                counted(class.uses.beyond(class.area), "ECB", "ECBs"),
                count(class.with_frame),
                counted(class.frames, "frame", "frames"),
                bytes(class.high_water)
            ),
        ),
    ];
    if class.with_low > 0 || class.low_got > 0 {
        lines.push(row(
            "below 2 GiB",
            format!(
                "{:>12} dispensed, {} freed; {} had some, at most {}",
                count(class.low_got),
                count(class.low_freed),
                counted(class.with_low, "ECB", "ECBs"),
                bytes(class.low_high_water)
            ),
        ));
    }
    for list in &class.lists {
        let label = match list.list {
            Some(number) => {
                let size = usize::try_from(number - 1).ok().and_then(|at| class.sizes.get(at));
                let Some(size) = size else { continue };
                format!("AVL{number} {size}")
            }
            None => "other sizes".to_owned(),
        };
        lines.push(row(
            &label,
            format!(
                "{:>12} dispensed, {} freed; by own lists {}, by shared ones {}, by new storage {}",
                count(list.got),
                count(list.freed),
                count(list.own()),
                count(list.shared),
                count(list.carved)
            ),
        ));
    }
    lines.push(row("requests by size", format!("{:>12} in {}", count(class.requests.all()), sampled(class))));
    lines
}

/// The ECBs whose requests were counted one by one, in words.
pub(crate) fn sampled(class: &EcbClass) -> String {
    let ecbs = counted(class.counted, "ECB", "ECBs");
    match class.counted_one_in {
        0 | 1 => format!("{ecbs}, all of them"),
        one_in => format!("{ecbs}, sampled: one in {one_in}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn report() -> Report {
        let mut report = sample::getfree();
        report.processes[0].ecbs =
            vec![sample::ecbs_with_low(), EcbClass { name: "HTTP".to_owned(), ended: 3, ..sample::ecbs() }];
        report
    }

    fn text(lines: Vec<Line>) -> String {
        paint(&lines, Page { kept: None, pictures: false, ..Page::of_terminal(Some(200), false) }, usize::MAX)
    }

    #[test]
    fn the_summary_has_the_largest_class() {
        let line = line(&report()).expect("classes");
        let expect = "  ECBs      103 of 2 classes ended; most of SSL: 102 created; lists of the thread's own filled 91 % of \
                      the requests; 101 alive, counted when they end\n";
        assert_eq!(text(vec![line]), expect);
        assert!(super::line(&sample::getfree()).is_none());
        assert!(render(&sample::getfree(), Page::of_terminal(Some(200), false)).starts_with("No process"));
    }

    #[test]
    fn a_section_has_every_figure() {
        let shown = text(sections(&report()));
        for part in [
            "ECBs of class SSL",
            "102 created, 100 ended, 95 with a buffer, 3 expanded",
            "32 KiB preallocated, 4 ECBs needed more; 4 with frames, 5 frames; at most 1.34 MiB",
            "below 2 GiB                       70 dispensed, 14 freed; 7 ECBs had some, at most 40 KiB",
            "AVL2 64                        9,600 dispensed, 9,000 freed; by own lists 8,900, by shared ones 200, by new storage 500",
            "1,002 in 10 ECBs, sampled: one in 10",
        ] {
            assert!(shown.contains(part), "{part}\n{shown}");
        }
    }
}
