//! The report on a terminal.
//!
//! ```text
//! 100 columns and more   bytes [interval]  share [interval]  site
//! 60 to 99               bytes [interval]  share [interval]      and the site in the next line
//! below                  bytes  share [interval]                 and the site in the next line
//! ```
//!
//! Invariant: no line is longer than the page, at least 40 columns; nothing but names has other characters than ASCII, and on a page
//! without UTF-8 names have not either.
//! Not here: words of sites ([`crate::words`]).

use std::collections::HashSet;
use std::fmt::Write as _;

use underbar_report::units::{bytes, count, counted};

use crate::flame::Which;
use crate::heap_counts;
use crate::names::{CPYTHON, LACKS_FILE, Location};
use crate::report::{Estimate, Report, SiteRow};
use crate::site::STARTS;
use crate::walk::End;
use crate::words::{self, ascii, shortened, site_in};

/// Where the report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its width: at least 40 and at most 200 are used.
    pub columns: usize,
    /// Does it show characters beyond ASCII?
    pub has_utf8: bool,
}

impl Default for Page {
    fn default() -> Page {
        Page { columns: 100, has_utf8: true }
    }
}

/// The default number of sites in a table.
pub const DEFAULT_TOP: usize = 10;

/// Why there are no samples, if no note says it.
fn no_samples(report: &Report) -> &'static str {
    if report.facts.notes.is_empty() {
        "No samples: the program requested little, or its options exclude them (underbar explain SITES)."
    } else {
        "No samples."
    }
}

/// A table: its title, its figures, and what is written if it is empty.
type Table = (&'static str, Which, &'static str);

/// The tables, in their order.
pub const TABLES: [Table; 3] = [
    ("Most in use", Which::MostInUse, "nothing was sampled in use"),
    ("Requested most", Which::Requested, "no request was sampled"),
    ("Still in use at the end", Which::AtEnd, "nothing sampled was still in use"),
];

/// The report, with the `top` sites in each table.
#[must_use]
pub fn render(report: &Report, page: Page, top: usize) -> String {
    let columns = page.columns.clamp(40, 200);
    let mut lines = head(report, columns);
    // The callers of a site are shown once.
    let mut met = HashSet::new();
    for (title, which, empty) in TABLES {
        lines.push(String::new());
        let title = format!("{title}: {}", whole(report, which, empty));
        lines.extend(wrapped(&title, columns));
        table(report, which, (columns, top), &mut met, &mut lines);
    }
    let mut text = String::new();
    for line in lines {
        let line = if page.has_utf8 { line } else { ascii(&line) };
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// The line for the report of a run, of at most this many characters. On a narrow terminal the site has a second line. None without
/// samples.
#[must_use]
pub fn summary_line(report: &Report, columns: usize) -> Option<String> {
    const LABEL: &str = "most in use: ";
    /// Fewer characters would hide which site it is.
    const LEAST: usize = 24;
    if report.samples == 0 {
        let text = format!("{LABEL}unknown. {}", no_samples(report));
        return Some(wrapped(&text, columns).join("\n"));
    }
    let site = report.sites.first()?;
    let estimate = &site.figures.most_in_use;
    let share = share(estimate);
    let room = columns.saturating_sub(LABEL.len() + ", ".len() + share.chars().count());
    (estimate.samples > 0).then(|| {
        if room < LEAST {
            format!("{LABEL}{share}\n  {}", words::site_in(site, columns.saturating_sub(2)))
        } else {
            format!("{LABEL}{}, {share}", words::site_in(site, room))
        }
    })
}

fn head(report: &Report, columns: usize) -> Vec<String> {
    let program = underbar_shown::line(underbar_profile::text::file_name(&report.facts.program)).into_owned();
    let mut texts = notes(report);
    texts[0].insert_str(0, &format!("underbar heap: {program}: "));
    texts.iter().flat_map(|text| wrapped(text, columns)).collect()
}

/// Sentences about all sites: how many samples there are first, and what the figures lack.
#[must_use]
pub fn notes(report: &Report) -> Vec<String> {
    let Report { facts, samples, lost, processes, .. } = report;
    let mut texts = vec![format!(
        "{} in {}{}",
        counted(*samples, "sample", "samples"),
        counted(*processes, "process", "processes"),
        distance(report),
    )];
    if *samples > 0 {
        let counts = if report.heap.most_in_use_bytes.is_some() {
            " The heap's own counts are rounded up to its cells."
        } else {
            ""
        };
        texts.push(format!("Estimates with intervals of 95 %.{counts}"));
    } else {
        texts.push(no_samples(report).to_owned());
    }
    if *lost > 0 {
        let percent = *lost as f64 * 100.0 / lost.saturating_add(*samples) as f64;
        texts.push(format!(
            "{} were lost, {percent:.1} % of all: the figures are too low by about as much.",
            counted(*lost, "sample", "samples"),
        ));
    }
    let early: Vec<String> = End::ALL
        .into_iter()
        .filter(|end| *end != End::Whole)
        .filter_map(|end| {
            let number = report.walks.get(end.key()).copied().filter(|number| *number > 0)?;
            Some(format!("{} {}", count(number), end.words()))
        })
        .collect();
    if !early.is_empty() {
        texts.push(format!("Stacks that end early: {}.", early.join("; ")));
    }
    texts.extend(longer_copies(report));
    texts.extend(report.heap.not_seen());
    let any_has = |note| report.locations.iter().any(|location| location.note.as_deref() == Some(note));
    if any_has(LACKS_FILE) {
        texts.push(
            "Inlined functions are unknown where a line has another function's name: .dwo files are missing, or of another build."
                .to_owned(),
        );
    }
    let has_note = any_has(CPYTHON);
    let has_python = report.locations.iter().any(Location::is_python);
    if has_note && !has_python {
        texts
            .push("Functions of Python are unknown: python3 -X perf (3.12 and later) names them.".to_owned());
    }
    if (has_note || has_python) && report.heap.much_outside().is_some() {
        texts.push(
            "Python keeps its small objects outside: PYTHONMALLOC=malloc brings them into this heap."
                .to_owned(),
        );
    }
    texts.extend(facts.notes.iter().map(|note| underbar_shown::line(note).into_owned()));
    texts
}

/// How to follow the stacks that are deeper than what was copied of them.
fn longer_copies(report: &Report) -> Option<String> {
    let cut = report.walks.get(End::Cut.key()).copied().unwrap_or(0);
    if cut == 0 || report.longest_copy_bytes >= LONGEST_COPY {
        return None;
    }
    let now = bytes(report.longest_copy_bytes);
    Some(format!("To follow those deeper than the copied {now}: --opts 'SITES(ON,,64K)'."))
}

/// The most bytes of a stack that SITES copies.
const LONGEST_COPY: u64 = 64 << 10;

/// Behind a comma; nothing without samples, since the distance is theirs.
fn distance(report: &Report) -> String {
    let (least, largest) = (report.mean_bytes_least, report.mean_bytes_largest);
    if report.samples == 0 {
        return String::new();
    }
    if least == largest {
        format!(", one for each {} on average", bytes(least))
    } else {
        format!(", one for each {} to {} on average", bytes(least), bytes(largest))
    }
}

/// The sites with samples, the largest first, and their places in the report.
#[must_use]
pub fn largest(report: &Report, which: Which) -> Vec<(usize, &SiteRow)> {
    let mut rows: Vec<(usize, &SiteRow)> =
        report.sites.iter().enumerate().filter(|(_, site)| which.of(&site.figures).samples > 0).collect();
    rows.sort_by_key(|(_, site)| std::cmp::Reverse(which.of(&site.figures).bytes));
    rows
}

fn table(
    report: &Report,
    which: Which,
    (columns, top): (usize, usize),
    met: &mut HashSet<usize>,
    lines: &mut Vec<String>,
) {
    let rows = largest(report, which);
    for (number, site) in rows.iter().take(top) {
        let estimate = which.of(&site.figures);
        let figures = figures(estimate, columns);
        if columns >= 100 {
            let room = columns - figures.chars().count() - 2;
            lines.push(format!("{figures}  {}", site_in(site, room)));
        } else {
            lines.push(figures);
            lines.push(format!("    {}", site_in(site, columns - 4)));
        }
        if met.insert(*number)
            && let Some(callers) = callers(report, *number, which, columns - 6)
        {
            lines.push(format!("      {callers}"));
        }
    }
    if rows.len() > top {
        let rest: f64 = rows[top..].iter().map(|(_, site)| which.of(&site.figures).percent).sum();
        let more = counted((rows.len() - top) as u64, "more site", "more sites");
        lines.push(format!("  and {more} with {rest:.0} %"));
    }
}

fn figures(estimate: &Estimate, columns: usize) -> String {
    if columns < 60 {
        return format!("{:>10}  {}", bytes(estimate.bytes), share(estimate));
    }
    let interval = interval(estimate);
    format!("{:>10} {interval:<22}  {:<16}", bytes(estimate.bytes), share(estimate))
}

/// The estimate of a whole table with its interval, and what the heap counted itself; `empty` without samples.
#[must_use]
pub fn whole(report: &Report, which: Which, empty: &str) -> String {
    let total = which.of(&report.total);
    let estimate = if total.samples == 0 { empty.to_owned() } else { with_interval(total) };
    let counts = &report.heap;
    let (least, most) = match which {
        Which::MostInUse => (counts.most_in_use_bytes, counts.most_in_use_bytes),
        Which::Requested => (counts.requested_bytes_least, counts.requested_bytes_most),
        Which::AtEnd => (counts.in_use_at_end_bytes, counts.in_use_at_end_bytes),
    };
    match heap_counts::words(least, most) {
        Some(counted) => format!("{estimate}; {counted}"),
        None => estimate,
    }
}

/// An estimate with its interval: `51.6 MiB [42.1 MiB, 62.6 MiB]`.
#[must_use]
pub fn with_interval(estimate: &Estimate) -> String {
    format!("{} {}", bytes(estimate.bytes), interval(estimate))
}

fn interval(estimate: &Estimate) -> String {
    format!("[{}, {}]", bytes(estimate.bytes_low), bytes(estimate.bytes_high))
}

/// A share: `61 % [57, 65]`.
fn share(estimate: &Estimate) -> String {
    let Estimate { percent, percent_low, percent_high, .. } = estimate;
    format!("{percent:.0} % [{percent_low:.0}, {percent_high:.0}]")
}

/// The callers of a site in its largest stack, up to main, or as many as fit.
#[must_use]
pub fn callers(report: &Report, site: usize, which: Which, room: usize) -> Option<String> {
    let stacks = report.stacks.iter().filter(|stack| stack.site == site);
    let stack = stacks.max_by_key(|stack| which.of(&stack.figures).bytes)?;
    let wanted = report.sites.get(site)?;
    let all = stack.locations.iter().filter_map(|at| report.locations.get(*at)).flat_map(|location| {
        let unnamed = location.functions.is_empty().then_some((location, None));
        location.functions.iter().map(move |function| (location, Some(function))).chain(unnamed)
    });
    let mut behind = all.skip_while(|(location, function)| match function {
        Some(function) => {
            (&function.function, &function.file, function.line)
                != (&wanted.function, &wanted.file, wanted.line)
        }
        None => wanted.address != Some(location.address) || wanted.module != location.module,
    });
    behind.next()?;
    if wanted.function.as_deref() == Some("main") {
        return None;
    }
    // Between functions of Python is their interpreter.
    let of_python = wanted.module.is_empty() && wanted.file.is_some();
    let behind = behind.filter(|(location, _)| !of_python || location.is_python());
    let mut text = String::new();
    let mut last = String::new();
    for (location, function) in behind {
        let name =
            function.map_or_else(|| words::place(location), |function| words::function(location, function));
        let name = words::without_arguments(&name);
        // Nothing but the start of the program is behind a `main` without a name.
        if name.starts_with(STARTS) {
            break;
        }
        // A recursion is one word.
        if name != last {
            let begin = if text.is_empty() { "called by " } else { ", " };
            let length = text.chars().count() + begin.len() + name.chars().count();
            if length + 5 > room {
                let more = if text.is_empty() {
                    shortened(&format!("{begin}{name}"), room)
                } else {
                    ", ...".to_owned()
                };
                text += &more;
                break;
            }
            // Writing to a string cannot fail.
            let _ = write!(text, "{begin}{name}");
        }
        if name == "main" {
            break;
        }
        last = name.to_owned();
    }
    (!text.is_empty()).then_some(text)
}

/// A text in lines of at most this many characters.
#[must_use]
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(shortened(word, columns)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Function;
    use crate::report::Figures;
    use crate::report::tests::example;

    #[test]
    fn the_report_has_three_tables() {
        let text = render(&example(), Page::default(), 3);
        let expected = "\
underbar heap: prog: 120 samples in 2 processes, one for each 512 KiB on average
Estimates with intervals of 95 %. The heap's own counts are rounded up to its cells.
2 samples were lost, 1.6 % of all: the figures are too low by about as much.
Stacks that end early: 3 deeper than the copied piece of stack; 1 in code without unwind tables.
To follow those deeper than the copied 16 KiB: --opts 'SITES(ON,,64K)'.

Most in use: 1000 KiB [900 KiB, 1.07 MiB]; the heap counted 1 MiB
   610 KiB [549 KiB, 671 KiB]      61 % [57, 65]     parse_record at reader.c:212
      called by read_all, main
   200 KiB [180 KiB, 220 KiB]      20 % [16, 24]     load in job.py
   150 KiB [135 KiB, 165 KiB]      15 % [11, 19]     stripped: libx.so+0x1234
  and 1 more site with 4 %

Requested most: 1.95 MiB [1.76 MiB, 2.15 MiB]
  1.19 MiB [1.07 MiB, 1.31 MiB]    61 % [57, 65]     parse_record at reader.c:212
   400 KiB [360 KiB, 440 KiB]      20 % [16, 24]     load in job.py
";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.contains("\nStill in use at the end: nothing sampled was still in use\n"), "{text}");
    }

    #[test]
    fn python_whose_objects_are_outside_has_a_hint() {
        let hint = "PYTHONMALLOC=malloc";
        let mut report = example();
        assert!(!render(&report, Page::default(), 3).contains(hint));
        report.heap.outside_bytes = Some(8 << 20);
        report.heap.memory_bytes = Some(10 << 20);
        assert!(render(&report, Page::default(), 3).contains(hint), "job.py is Python");
        report
            .locations
            .retain(|location| !location.functions.iter().any(|one| one.function.as_deref() == Some("load")));
        (report.sites, report.stacks) = (Vec::new(), Vec::new());
        assert!(!render(&report, Page::default(), 3).contains(hint));
    }

    #[test]
    fn no_line_is_longer_than_the_page_and_nothing_steers_it() {
        let mut report = example();
        report.sites[1].function = Some("ä".repeat(3_000));
        report.facts.program = format!("/opt/{}\u{1b}[2J", "x".repeat(300));
        for columns in [0, 40, 41, 59, 60, 79, 80, 99, 100, 133, 200, 1_000] {
            for has_utf8 in [false, true] {
                let text = render(&report, Page { columns, has_utf8 }, 10);
                let longest = text.lines().map(|line| line.chars().count()).max().expect("lines");
                assert!(longest <= columns.clamp(40, 200), "{columns}: {longest}\n{text}");
                assert!(has_utf8 || text.is_ascii(), "{text}");
                let is_plain = |character: char| character == '\n' || !underbar_shown::is_hostile(character);
                assert!(text.chars().all(is_plain), "{text}");
                assert!(text.contains("61 % [57, 65]") && text.contains("212"), "{text}");
            }
        }
    }

    #[test]
    fn callers_end_at_main_and_have_places_where_they_have_no_names() {
        let mut report = example();
        let start = Location {
            module: "/usr/lib/libc.so.6".to_owned(),
            address: 1,
            note: None,
            functions: vec![Function {
                function: Some("__libc_start_call_main".to_owned()),
                ..Function::default()
            }],
        };
        let bare = Location { address: 0x2345, ..report.locations[4].clone() };
        report.locations.extend([start, bare]);
        let (start, bare, lib) = (6, 7, 4);
        // A site without a name, below functions without names.
        report.stacks[2].locations = vec![lib, bare, start];
        let text = render(&report, Page::default(), 3);
        assert!(text.contains("libx.so+0x1234\n      called by libx.so+0x2345\n"), "{text}");
        // A site in main.
        report.stacks[1].locations = vec![1, start];
        report.sites[1].function = Some("main".to_owned());
        report.sites[1].file.clone_from(&report.locations[1].functions[0].file);
        report.sites[1].line = report.locations[1].functions[0].line;
        let text = render(&report, Page::default(), 3);
        assert!(text.contains("main at main.c:9\n") && !text.contains(STARTS), "{text}");
    }

    #[test]
    fn the_summary_is_one_line() {
        let narrow = summary_line(&example(), 55);
        assert_eq!(narrow.as_deref(), Some("most in use: parse_...rd at reader.c:212, 61 % [57, 65]"));
        let narrow = summary_line(&example(), 40);
        assert_eq!(narrow.as_deref(), Some("most in use: 61 % [57, 65]\n  parse_record at reader.c:212"));
        let line = summary_line(&example(), 100);
        assert_eq!(line.as_deref(), Some("most in use: parse_record at reader.c:212, 61 % [57, 65]"));
        let mut empty = example();
        empty.sites.clear();
        empty.samples = 0;
        let line = summary_line(&empty, 200);
        assert!(line.is_some_and(|line| line.starts_with("most in use: unknown. No samples: the program ")));
        empty.total = Figures::default();
        empty.heap.most_in_use_bytes = None;
        let text = render(&empty, Page::default(), 10);
        assert!(text.starts_with("underbar heap: prog: 0 samples in 2 processes\n"), "{text}");
        assert!(
            text.contains("No samples") && text.contains("Most in use: nothing was sampled in use"),
            "{text}"
        );
    }
}
