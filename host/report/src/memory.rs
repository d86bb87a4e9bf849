//! The owners of a program's memory: the part that is in this heap, and a short table of the other owners.
//!
//! ```text
//!   coverage  26 % of 300 MiB anonymous memory is in this heap
//!   memory    libjvm.so                          200 MiB        66 %
//!             other mappings                     22 MiB         7 %
//! ```
//!
//! Invariant: a row for each owner with a twentieth or more, three at most. If most memory is elsewhere, a row for each owner
//! with a hundredth or more, five at most, and one row for the rest. No row is cut.
//! Not here: how owners are found (`runtime::coverage`), and all of them ([`crate::every`]).

use underbar_ledger::Key;

use crate::model::Owner;
use crate::page::{Line, Page, Tone, clean, clip_middle, labelled, set_columns, warning};
use crate::program::Program;
use crate::units::{bytes, counted, share};

/// Smaller processes are not looked at.
const MEASURED_FROM: u64 = 4 << 20;

/// True if less than half of the program's anonymous memory is in this heap, as far as known.
#[must_use]
pub fn mostly_elsewhere(program: &Program) -> bool {
    let anonymous = program.counters.get(Key::CoverageAnonymous);
    program.counters.get(Key::CoverageHeap) < anonymous.div_ceil(2) && !has_grown_since(program)
}

/// Whether so much was got from the heap after the last look that its part is not known. A program that ends as usual is looked at once
/// more at its end.
fn has_grown_since(program: &Program) -> bool {
    let (used, seen) = (program.counters.get(Key::HeapUsedPeak), program.counters.get(Key::CoverageHeap));
    program.unfinished && used / 2 > seen
}

/// How much of the memory is in this heap, and the owners of most of the rest.
pub(crate) fn lines(program: &Program, page: Page<'_>) -> Vec<Line> {
    let (part, most) = if mostly_elsewhere(program) { (100, 5) } else { (20, 3) };
    table(program, page, (part, most))
}

/// The same with every owner.
pub(crate) fn all(program: &Program, page: Page<'_>) -> Vec<Line> {
    table(program, page, (u64::MAX, usize::MAX))
}

/// A row for each owner with at least 1/`part` of the memory, `most` rows at most.
fn table(program: &Program, page: Page<'_>, (part, most): (u64, usize)) -> Vec<Line> {
    let anonymous = program.counters.get(Key::CoverageAnonymous);
    if anonymous == 0 {
        let heap = program.counters.get(Key::HeapUsedPeak);
        let why = match program.unfinished && heap >= MEASURED_FROM {
            true => format!("not measured since the heap grew to {}", bytes(heap)),
            false => "not measured (under 4 MiB of anonymous memory)".to_owned(),
        };
        return vec![labelled("coverage", why)];
    }
    let heap = program.counters.get(Key::CoverageHeap).min(anonymous);
    let mut text =
        format!("{} of {} anonymous memory is in this heap", share(heap, anonymous), bytes(anonymous));
    if has_grown_since(program) {
        let used = bytes(program.counters.get(Key::HeapUsedPeak));
        let before = format!("{} of {} were in it", share(heap, anonymous), bytes(anonymous));
        text = format!("not measured since the heap grew to {used}; before, {before}");
    }
    let is_elsewhere = mostly_elsewhere(program);
    let mut lines = vec![if is_elsewhere { warning("coverage", text) } else { labelled("coverage", text) }];
    let is_shown = |owner: &&Owner| owner.bytes > 0 && owner.bytes >= anonymous / part;
    let shown: Vec<&Owner> = program.owners.iter().filter(is_shown).take(most).collect();
    let mut row = |name: &str, owned: u64| {
        let label = if lines.len() == 1 { "memory" } else { "" };
        // On a very narrow page the name is short, and the figure next to it.
        let (width, figure) = match set_columns(page) {
            0 => (11, 9),
            width => (width, 14),
        };
        let name = clip_middle(name, width);
        lines.push(Line(vec![
            (Tone::Label, format!("  {label:<10}")),
            (Tone::Plain, format!("{name:<width$} {:<figure$} {}", bytes(owned), share(owned, anonymous))),
        ]));
    };
    for owner in &shown {
        row(&clean(&owner.name), owner.bytes);
    }
    let others = program.owners.iter().filter(|owner| owner.bytes > 0).skip(shown.len());
    let (number, left) =
        others.fold((0_u64, 0_u64), |(number, sum), owner| (number + 1, sum.saturating_add(owner.bytes)));
    if is_elsewhere && left >= anonymous / 100 && number > 0 {
        row(&counted(number, "other owner", "other owners"), left);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::paint;
    use crate::sample;

    fn page(columns: usize) -> Page<'static> {
        Page { columns, ..Page::of_terminal(None, false) }
    }

    fn check(program: &Program, columns: usize, expected: &str) {
        assert_eq!(paint(&lines(program, page(columns)), page(columns), 20), expected);
    }

    #[test]
    fn owners_are_a_table_in_which_nothing_is_cut() {
        let mut program = sample::low_coverage().programs().swap_remove(0);
        program.owners[0].name = "libQt5WebEngineCore.so.5.15.13-with-a-name-that-is-long".to_owned();
        let owner =
            |name: &str, mib: u64| Owner { name: name.to_owned(), bytes: mib << 20, peak_bytes: mib << 20 };
        program.owners.extend((0..6).map(|n| owner(&format!("libother{n}.so"), 9 - n)));
        check(
            &program,
            100,
            "\
\x20 coverage  3 % of 800 MiB anonymous memory is in this heap
  memory    libQt5We...ith-a-name-that-is-long 700 MiB        87 %
            libother0.so                       9 MiB          1 %
            libother1.so                       8 MiB          1 %
            4 other owners                     22 MiB         2 %
",
        );
        let text = paint(&lines(&program, page(60)), page(60), 20);
        assert!(text.lines().all(|line| line.chars().count() <= 60 && !line.ends_with("...")), "{text}");
    }

    #[test]
    fn what_was_not_measured_has_its_reason() {
        let mut program = sample::low_coverage().programs().swap_remove(0);
        program.counters.forget_coverage();
        program.counters.set(Key::HeapUsedPeak, 202 << 20);
        check(&program, 100, "  coverage  not measured (under 4 MiB of anonymous memory)\n");
        program.unfinished = true;
        check(&program, 100, "  coverage  not measured since the heap grew to 202 MiB\n");
        program.counters.set(Key::HeapUsedPeak, 1 << 20);
        check(&program, 100, "  coverage  not measured (under 4 MiB of anonymous memory)\n");
    }

    /// A program that was killed: the last look is from before its heap grew.
    #[test]
    fn a_look_that_is_too_old_says_so_and_gives_no_verdict() {
        let mut program = sample::low_coverage().programs().swap_remove(0);
        assert!(mostly_elsewhere(&program));
        program.owners.clear();
        program.counters.set(Key::HeapUsedPeak, 50 << 20);
        assert!(mostly_elsewhere(&program), "looked at when it ended");
        program.unfinished = true;
        assert!(!mostly_elsewhere(&program));
        check(
            &program,
            100,
            "  coverage  not measured since the heap grew to 50 MiB; before, 3 % of 800 MiB were in it\n",
        );
        program.counters.set(Key::HeapUsedPeak, 30 << 20);
        assert!(mostly_elsewhere(&program), "not much more");
    }

    #[test]
    fn a_few_rows_where_most_is_in_the_heap() {
        let program = sample::tree().programs().swap_remove(0);
        check(
            &program,
            100,
            "\
\x20 coverage  74 % of 300 MiB anonymous memory is in this heap
  memory    libgmp.so.10                       40 MiB         13 %
",
        );
    }
}
