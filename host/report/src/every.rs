//! Every figure of a report in one view, each by its key.
//!
//! ```text
//! underbar: ./getfree --seed 7: exit 0
//! The run
//!   steps.elapsed_ns              1,450,000,000 1.45 s    Elapsed time
//! getfree, 1 process
//!   coverage  99 % of 877 MiB anonymous memory is in this heap      and every other owner
//!   heap.gets                            50,002           Successful Get Heap requests
//!   0         heap.purges, heap.purged_bytes
//!   unknown   stack.main
//! getfree, request sizes: 50,002 requests, exact
//!   sizes.up_to_64                        4,500 8 %       up to 64 B
//!   none      on Linux: libstack, threadheap, ...
//! ```
//!
//! Invariant: each step figure, each figure of the tree and each counter of each program occurs once: in a row, or by its key
//! among those that are 0 or not known (`lock.*`: all of lock). Of requests by size, rows that are 0 are left out. Figures
//! without a counterpart on Linux are on one line.
//! Not here: the documented layout ([`crate::le`]), and locks one by one ([`crate::lock`]).

use underbar_ledger::table::KEYS;
use underbar_ledger::{Key, Unit};

use crate::absent::ABSENT;
use crate::figures::{Figures, split};
use crate::model::Report;
use crate::page::{Line, Page, Tone, clean, labelled, paint};
use crate::program::Program;
use crate::request_sizes::{Counted, section};
use crate::sizes::Sizes;
use crate::steps::STEPS;
use crate::summary;
use crate::tree::TREE;
use crate::units;
use crate::{ecb_lines, heap_sizes, heaps, memory, over_time_lines, pool_lines, switch_lines};

/// Columns for a key, the width of the longest.
const KEY: usize = 26;

/// The view as text.
#[must_use]
pub fn render(report: &Report, page: Page<'_>) -> String {
    let mut lines = vec![summary::title(report, page), heading("The run")];
    let steps = report.steps.as_ref();
    table(&mut lines, STEPS.iter().map(|step| (step.key, step.label, step.unit, steps.and_then(step.get))));
    table(&mut lines, TREE.iter().map(|of| (of.key, of.label, Unit::Count, Some((of.get)(&report.tree)))));
    lines.extend(over_time_lines::section(report, page));
    options(&mut lines, report);
    let programs = report.programs();
    for program in &programs {
        lines.push(heading(&format!("{}, {}", clean(&program.name), summary::runs(program))));
        owners(&mut lines, program, page);
        counters(&mut lines, &program.counters, |_| true);
        lines.extend(not_asked_for(report, &program.name));
        requests(&mut lines, &program.name, (program.sizes.as_ref(), program.unfinished), page);
    }
    for (words, figures, ranges) in heaps::sections(report) {
        lines.push(heading(&words));
        rows(&mut lines, crate::heap::keys().map(|key| (key, figures.known(key))));
        lines.extend(ranges.into_iter().flat_map(|ranges| heap_sizes::lines(ranges, page)));
    }
    lines.extend(pool_lines::sections(report));
    lines.extend(ecb_lines::sections(report));
    lines.extend(switch_lines::sections(report));
    if programs.len() != 1 {
        lines.push(heading("All programs together"));
        counters(&mut lines, &report.tree.counters, |_| true);
        let unfinished = programs.iter().any(|program| program.unfinished);
        requests(&mut lines, "All programs together", (report.tree.sizes.as_ref(), unfinished), page);
    }
    lines.push(labelled("none", format!("on Linux: {}", absent())));
    paint(&lines, page, usize::MAX)
}

fn heading(words: &str) -> Line {
    Line(vec![(Tone::Label, words.to_owned())])
}

/// The options in force, each with the place where it was set.
fn options(lines: &mut Vec<Line>, report: &Report) {
    for (at, option) in report.options.in_force.iter().enumerate() {
        let label = if at == 0 { "options" } else { "" };
        lines.push(labelled(label, format!("{}, {}", clean(&option.option), clean(&option.where_set))));
    }
}

fn owners(lines: &mut Vec<Line>, program: &Program, page: Page<'_>) {
    lines.extend(memory::all(program, page));
}

fn counters(lines: &mut Vec<Line>, figures: &Figures, is_shown: impl Fn(Key) -> bool) {
    let shown = KEYS.into_iter().filter(|key| is_shown(*key));
    rows(lines, shown.map(|key| (key, figures.known(key))));
}

fn requests(lines: &mut Vec<Line>, name: &str, (sizes, unfinished): (Option<&Sizes>, bool), page: Page<'_>) {
    let counted = sizes.map(|sizes| Counted { sizes, unfinished });
    lines.extend(counted.into_iter().flat_map(|counted| section(&clean(name), counted, page)));
}

fn rows(lines: &mut Vec<Line>, figures: impl Iterator<Item = (Key, Option<u64>)>) {
    table(
        lines,
        figures.map(|(key, figure)| {
            let entry = key.entry();
            (entry.key, entry.label, entry.unit, figure)
        }),
    );
}

/// A row for each figure. Figures that are 0 and figures that are not known are on lines of their own.
fn table(
    lines: &mut Vec<Line>,
    figures: impl Iterator<Item = (&'static str, &'static str, Unit, Option<u64>)>,
) {
    let (mut zero, mut unknown) = (Vec::new(), Vec::new());
    for (key, label, unit, figure) in figures {
        let Some(figure) = figure else {
            unknown.push(key);
            continue;
        };
        if figure == 0 {
            zero.push(key);
            continue;
        }
        let exact = units::count(figure);
        let words = units::figure(unit, figure);
        let words = if words == exact { String::new() } else { words };
        lines.push(Line(vec![
            (Tone::Label, format!("  {key:<KEY$}")),
            (Tone::Plain, format!("{exact:>16} {words:<9} {label}")),
        ]));
    }
    for (label, keys) in [("0", zero), ("unknown", unknown)] {
        if !keys.is_empty() {
            lines.push(labelled(label, whole_areas(&keys).join(", ")));
        }
    }
}

/// The keys, with `lock.*` in place of all counters of an area.
fn whole_areas(keys: &[&'static str]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for key in keys {
        let area = split(key).0;
        let mut of_area = KEYS.into_iter().map(|key| key.entry().key).filter(|key| split(key).0 == area);
        let is_whole = of_area.clone().count() > 2 && of_area.all(|key| keys.contains(&key));
        let name = if is_whole { format!("{area}.*") } else { (*key).to_owned() };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The areas of the storage report for which no process of a program asked.
fn not_asked_for(report: &Report, name: &str) -> Option<Line> {
    let of_program = || report.processes.iter().filter(|process| process.name() == name);
    let first = of_program().next()?;
    let is_none = |area: &&String| of_program().all(|process| process.none.contains(area));
    let areas: Vec<&str> = first.none.iter().filter(is_none).map(String::as_str).collect();
    (!areas.is_empty())
        .then(|| labelled("none", format!("no program asked for: {}", clean(&areas.join(", ")))))
}

/// The areas without any counterpart on Linux, and single figures of other areas.
fn absent() -> String {
    let mut names: Vec<&str> = Vec::new();
    for absent in ABSENT.iter().filter(|absent| !absent.is_of_a_heap()) {
        let area = split(absent.key).0;
        let is_whole = KEYS.into_iter().all(|key| split(key.entry().key).0 != area);
        let name = if is_whole { area } else { absent.key };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn view(report: &Report) -> String {
        render(report, Page::of_terminal(None, false))
    }

    #[test]
    fn every_figure_is_there_once() {
        let text = view(&sample::getfree());
        let words: Vec<&str> =
            text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()).collect();
        let keys = STEPS.iter().map(|step| step.key).chain(TREE.iter().map(|of| of.key));
        for key in keys.chain(KEYS.into_iter().map(|key| key.entry().key)) {
            let area = format!("{}.*", split(key).0);
            assert_eq!(
                words.iter().filter(|word| **word == key || **word == area).count(),
                1,
                "{key}: {text}"
            );
        }
        assert!(words.contains(&"lock.*") && words.contains(&"heap.purges"), "{text}");
        for part in [
            "\n  heap.gets                           50,002           Successful Get Heap requests\n",
            "\n  heap.used_peak                 819,229,056 781 MiB   Total heap storage used (sugg. initial size)\n",
            "\n  coverage  99 % of 877 MiB anonymous memory is in this heap\n",
            "\n  none      on Linux: libstack, belowheap",
        ] {
            assert!(text.contains(part), "{part}{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 100 && !line.ends_with("...")), "{text}");
    }

    #[test]
    fn what_linux_has_none_of_is_one_line() {
        let text = view(&sample::getfree());
        assert_eq!(text.matches("libstack").count(), 1, "{text}");
    }

    #[test]
    fn each_program_has_its_owners_and_all_together_come_last() {
        let text = view(&sample::tree());
        let places = [
            "\ncc1plus, 3 processes\n",
            "\n            [stack]",
            "\nas, 3 processes\n",
            "\nAll programs together\n",
        ]
        .map(|part| text.find(part).unwrap_or_else(|| panic!("{part}{text}")));
        assert!(places.is_sorted(), "{text}");
    }

    #[test]
    fn what_one_process_may_have_run_twice_is_no_number_of_processes() {
        let mut report = sample::tree();
        let compiler = report.processes.iter_mut().find(|process| process.processes == 3).expect("folded");
        compiler.counters.set(Key::ProcessContinued, 2);
        let text = view(&report);
        assert!(
            text.contains("\ncc1plus, 3 runs or forks\n") && text.contains("\nas, 3 processes\n"),
            "{text}"
        );
        let text = summary::render(&report, &[], false);
        assert!(
            text.contains("  of        cc1plus, 3 runs or forks, the most memory of 3 programs\n"),
            "{text}"
        );
        // Sections that are not folded are told apart by their process numbers.
        let compiler = report.processes.iter_mut().find(|process| process.processes == 3).expect("folded");
        compiler.state = crate::model::State::Ended;
        let text = summary::render(&report, &[], false);
        assert!(text.contains("  of        cc1plus, 3 processes, the most"), "{text}");
    }
}
