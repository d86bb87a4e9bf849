//! The goals: held or missed, with the measured values.

use super::Run;
use super::errors::{FIGURES, Row, summary};
use crate::goal::Goal;
use underbar_verdict::interval::Span;

/// The most that samples may cost: a ratio of CPU times, and of instructions.
const COST: f64 = 1.005;
/// The most memory that they may take, in MiB.
const MEMORY: f64 = 2.0;
/// The least part of intervals that hold the exact sum: they are of 95 %, and some rows have few samples.
const HELD: f64 = 0.9;
/// The sampled arm of the goals.
const OURS: &str = "underbar SITES";

/// All goals of what was measured.
pub fn all(run: &Run) -> Vec<Goal> {
    [cost(run), instructions(run), memory(run), intervals(run)].into_iter().flatten().collect()
}

/// The programs that miss a goal, or all in a few words.
fn lost(lost: Vec<String>, all: usize) -> Vec<String> {
    if lost.is_empty() { vec![format!("in all {all}")] } else { lost }
}

fn cost(run: &Run) -> Option<Goal> {
    let arm = run.find(OURS)?;
    let base = run.base(arm)?;
    let missed = (0..run.rows.len()).filter_map(|row| {
        let ratio = run.cost(row, arm, base).ratio();
        let is_open = if ratio.low <= COST { ", which may be within" } else { "" };
        (ratio.value > COST).then(|| format!("{} {ratio}{is_open}", run.rows[row].name))
    });
    let missed: Vec<String> = missed.collect();
    (!run.rows.is_empty()).then(|| Goal {
        wanted: "SITES(ON) costs at most 0.5 % of CPU in each program".to_owned(),
        held: missed.is_empty(),
        found: lost(missed, run.rows.len()),
    })
}

fn instructions(run: &Run) -> Option<Goal> {
    let missed = run
        .counted
        .iter()
        .filter(|counted| counted.between() > COST)
        .map(|counted| format!("{} {:.4}", counted.name, counted.between()));
    let missed: Vec<String> = missed.collect();
    (!run.counted.is_empty()).then(|| Goal {
        wanted: "lists without a sample cost at most 0.5 % of instructions in each workload".to_owned(),
        held: missed.is_empty(),
        found: lost(missed, run.counted.len()),
    })
}

fn memory(run: &Run) -> Option<Goal> {
    let arm = run.find(OURS)?;
    let base = run.base(arm)?;
    let missed = (0..run.rows.len()).filter_map(|row| {
        let more = run.more(row, arm, base);
        (more.value > MEMORY).then(|| format!("{} {}", run.rows[row].name, difference_of(more)))
    });
    let missed: Vec<String> = missed.collect();
    (!run.rows.is_empty()).then(|| Goal {
        wanted: "SITES(ON) takes at most 2 MiB more in each program".to_owned(),
        held: missed.is_empty(),
        found: lost(missed, run.rows.len()),
    })
}

fn intervals(run: &Run) -> Option<Goal> {
    let parts = FIGURES.iter().enumerate().filter_map(|(figure, (_, words))| {
        let of_figure = run.compared.iter().filter(|one| one.figure == figure);
        let rows: Vec<&Row> = of_figure.flat_map(|one| &one.rows).collect();
        let all = summary(rows.iter().copied());
        (all.estimates > 0).then(|| (all.held as f64 / all.estimates as f64, words, all))
    });
    let parts: Vec<_> = parts.collect();
    (!parts.is_empty()).then(|| Goal {
        wanted: "at least 90 % of the intervals of the largest sites hold the exact sum".to_owned(),
        held: parts.iter().all(|(share, ..)| *share >= HELD),
        found: parts
            .iter()
            .map(|(share, words, all)| {
                format!(
                    "{:.0} % of {}, {words}; median error {:.1} %",
                    share * 100.0,
                    all.estimates,
                    all.median * 100.0
                )
            })
            .collect(),
    })
}

/// `+0.51 [+0.48, +0.55]`.
pub fn difference_of(difference: Span) -> String {
    let Span { value, low, high } = difference;
    if high.is_infinite() {
        return format!("{value:+.2} [no interval]");
    }
    format!("{value:+.2} [{low:+.2}, {high:+.2}]")
}

#[cfg(test)]
mod tests {
    use super::super::count::Counted;
    use super::super::errors::tests::compared;
    use super::super::tests::run;
    use super::all;

    #[test]
    fn goals_are_held_and_missed() {
        let held = |cost: f64, more: f64, between: u64| {
            let mut run =
                run(|name| if name == "underbar SITES" { (cost, 10.0 + more) } else { (1.0, 10.0) });
            run.counted = vec![Counted { name: "lifo", without: 1000, between, with: 1100 }];
            all(&run).iter().map(|goal| goal.held).collect::<Vec<bool>>()
        };
        assert_eq!(held(1.004, 1.9, 1004), [true; 3]);
        assert_eq!(held(1.006, 2.1, 1006), [false; 3]);
    }

    #[test]
    fn intervals_that_miss_are_a_goal_that_is_missed() {
        let mut run = run(|_| (1.0, 10.0));
        run.compared = vec![compared()];
        let goals = all(&run);
        let last = goals.last().expect("a goal");
        assert!(!last.held && last.found[0].starts_with("33 % of 3, requested in all"), "{last}");
    }
}
