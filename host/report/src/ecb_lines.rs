//! ECBs for people: a line of the summary, and a section of the view with every figure.
//!
//! ```text
//! ECBs      1,200 of 3 classes ended; most of SSL: 902 created; lists of the thread's own filled 96 % of the requests; 2 alive
//!
//! server, process 4711, ECBs of class SSL
//!   ECBs                 102 created, 100 ended; of these 95 had a buffer, 3 expanded their table of names
//!   AVL1 32              300 dispensed, 200 freed; by own lists 250, by shared ones 10, by new storage 40
//!   TRANSACTION PAY       30 ECBs, 6,000 buffers of 800 KiB dispensed, 5,500 freed; at most 1.34 MiB of one
//! ```
//!
//! Not here: the classes ([`crate::ecbs`]), and the layouts of z/TPF ([`crate::ztpf`]).

use underbar_ledger::classes::{ROWS, SHARING};

use crate::ecb_pairs::EcbPair;
use crate::ecbs::{EcbClass, EcbList};
use crate::model::{Process, Report};
use crate::page::{Line, Page, Tone, clean, labelled, paint};
use crate::units::{bytes, count, counted, share};

/// Classes with a row of their own.
const OWN: usize = ROWS - 1;

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
    // A shared row has the figures of several.
    let shared = all.iter().map(|class| class.sharing.saturating_sub(1)).max().unwrap_or(0);
    let classes = counted(names.len() as u64 + shared, "class", "classes");
    let mut text = format!("{} of {classes} ended", count(ended));
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
        lines.extend(traces(process));
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
                "{:>12} created, {} ended; of these {} had a buffer, {} expanded their table of names",
                count(class.created),
                count(ended),
                count(class.with_buffer),
                count(class.expanded_tags)
            ),
        ),
        row(
            "storage",
            format!(
                "{:>12} preallocated, {} needed more; {} with frames, {}; at most {} of one that ended",
                bytes(class.area),
                counted(class.exceeded(), "ECB", "ECBs"),
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
    if class.sharing > 0 {
        let more = if class.sharing >= SHARING as u64 { " or more" } else { "" };
        lines.push(row(
            "classes",
            format!(
                "{:>12}{more} have their figures in this row: only the first {OWN} have one of their own",
                count(class.sharing)
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
    lines.extend(class.pairs.iter().map(|pair| row(&label_of(pair), of_pair(pair))));
    lines.push(row("requests by size", format!("{:>12} in {}", count(class.requests.all()), sampled(class))));
    lines
}

/// The requests of each thread of a process, with a heading each.
fn traces(process: &Process) -> Vec<Line> {
    let mut lines = Vec::new();
    if process.ecb_threads_without_trace > 0 {
        let text = format!(
            "{}, process {}: {} had no trace table, as all {} were in use",
            clean(process.name()),
            process.process,
            counted(process.ecb_threads_without_trace, "thread", "threads"),
            underbar_ledger::traces::TABLES
        );
        lines.push(Line(vec![(Tone::Label, text)]));
    }
    for trace in &process.ecb_traces {
        let head = format!(
            "{}, process {}, thread {}: the last {} of {} requests in ECBs, the newest first",
            clean(process.name()),
            process.process,
            trace.thread,
            count(trace.last.len() as u64),
            count(trace.requests)
        );
        lines.push(Line(vec![(Tone::Label, head)]));
        for request in &trace.last {
            let caller = request.caller.as_ref().map_or_else(
                || "not known".to_owned(),
                |at| format!("{}+{:#x}", clean(&at.module), at.offset),
            );
            let text = format!(
                "{:>12} bytes at {:#x} in ECB {}, called by {caller}",
                count(request.bytes),
                request.address,
                request.ecb
            );
            lines.push(Line(vec![
                (Tone::Label, format!("  {:<24}", request.kind.word())),
                (Tone::Plain, text),
            ]));
        }
    }
    lines
}

/// A pair in words, or the ECBs whose pairs have no row.
fn label_of(pair: &EcbPair) -> String {
    match (&pair.name, &pair.value) {
        (Some(name), Some(value)) => format!("{} {}", clean(name), clean(value)),
        _ => "other pairs".to_owned(),
    }
}

fn of_pair(pair: &EcbPair) -> String {
    format!(
        "{:>12}, {} of {} dispensed, {} freed; at most {} of one",
        counted(pair.ecbs, "ECB", "ECBs"),
        counted(pair.got(), "buffer", "buffers"),
        bytes(pair.bytes),
        count(pair.freed()),
        bytes(pair.high_water)
    ) + &late(pair.late)
}

/// ECBs of a pair whose earlier visits are missing, in words.
fn late(ecbs: u64) -> String {
    if ecbs == 0 {
        return String::new();
    }
    format!("; {} not counted from the beginning", counted(ecbs, "ECB", "ECBs"))
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
    use crate::ecb_trace::{EcbRequest, EcbTrace, RequestKind};
    use crate::fault::Caller;
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
            "102 created, 100 ended; of these 95 had a buffer, 3 expanded",
            "32 KiB preallocated, 4 ECBs needed more; 4 with frames, 5 frames; at most 1.34 MiB",
            "below 2 GiB                       70 dispensed, 14 freed; 7 ECBs had some, at most 40 KiB",
            "AVL2 64                        9,600 dispensed, 9,000 freed; by own lists 8,900, by shared ones 200, by new storage 500",
            "1,002 in 10 ECBs, sampled: one in 10",
            "TRANSACTION PAY              30 ECBs, 6,000 buffers of 800 KiB dispensed, 5,500 freed; at most 1.34 MiB of one",
            "other pairs                  10 ECBs, 70 buffers of 4.38 KiB dispensed, 0 freed; at most",
        ] {
            assert!(shown.contains(part), "{part}\n{shown}");
        }
    }

    #[test]
    fn requests_are_shown_the_newest_first_and_read_again() {
        let mut process = sample::getfree().processes.remove(0);
        assert!(traces(&process).is_empty());
        let request = |kind, bytes, caller| EcbRequest {
            kind,
            address: 0x7f00_1000,
            bytes,
            ecb: 4_294_967_299,
            caller,
        };
        let caller = Caller { module: "server".to_owned(), offset: 0x12a4 };
        process.ecb_traces = vec![EcbTrace {
            thread: 4712,
            requests: 1_204,
            last: vec![request(RequestKind::Freed, 128, Some(caller)), request(RequestKind::Got, 100, None)],
        }];
        let text = text(traces(&process));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(
            lines[0].ends_with("thread 4712: the last 2 of 1,204 requests in ECBs, the newest first"),
            "{text}"
        );
        assert!(
            lines[1].contains("freed")
                && lines[1].contains("128 bytes at 0x7f001000 in ECB 4294967299, called by server+0x12a4")
        );
        assert!(lines[2].ends_with("called by not known"), "{text}");
        let json = serde_json::to_value(&process.ecb_traces).expect("plain");
        assert_eq!(json[0]["last"][0]["kind"], "freed");
        assert_eq!(
            serde_json::from_value::<Vec<EcbTrace>>(json).expect("what was written"),
            process.ecb_traces
        );
    }

    #[test]
    fn classes_that_share_a_row_are_counted() {
        let mut report = report();
        report.processes[0].ecbs[1] = EcbClass { name: "(others)".to_owned(), sharing: 7, ..sample::ecbs() };
        let shown = text(sections(&report));
        assert!(
            shown.contains("classes                            7 have their figures in this row"),
            "{shown}"
        );
        let line = text(vec![line(&report).expect("classes")]);
        assert!(line.contains("of 8 classes ended"), "{line}");
        report.processes[0].ecbs[1].sharing = 64;
        assert!(text(sections(&report)).contains("64 or more have"));
    }
}
