//! The goals of ECBs: each printed as held or missed, with the measured values.

use super::Run;
use super::arenas::{BUMPALO, MALLOC, Way};
use super::calls::NOISE;
use super::rows::Figure;
use crate::goal::Goal;
use std::fmt::Write as _;
use underbar_verdict::ratios::Ratio;

/// All goals of what was measured.
pub fn all(run: &Run) -> Vec<Goal> {
    [
        ahead(run),
        bump(run),
        best(
            run,
            "handshake",
            0.9,
            "heap CPU of a TLS handshake: at most 0.9 of malloc under the best allocator",
        ),
        messages(run),
        nanoseconds(run),
        flat(run),
        no_calls(run),
        memory(run),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The goals as lines.
pub fn text(run: &Run) -> String {
    let all = all(run);
    if all.is_empty() {
        let has_ours = run.arms.iter().any(|arm| arm.way == Way::Ours);
        let why =
            if has_ours { "these rows have none" } else { "none can be judged without ECBs in the library" };
        return format!("\nGoals: {why}\n");
    }
    let mut out = String::from("\nGoals\n");
    for goal in all {
        let _ = write!(out, "{goal}");
    }
    out
}

/// The row, our arm, and a figure of it.
fn ours<'a>(run: &'a Run, key: &str, figure: usize) -> Option<(usize, usize, &'a Figure)> {
    let row = run.find(key)?;
    Some((row, run.ours(row)?, &run.rows[row].figures[figure]))
}

/// Ratios of ECBs to each rival, except bare bump allocators.
fn ratios(run: &Run, row: usize, ours: usize, figure: &Figure) -> Vec<(String, Ratio)> {
    let is_other = |arm: &usize| run.arms[*arm].is_rival() && !run.arms[*arm].name.starts_with(BUMPALO);
    let arms = run.arms_of(row).into_iter().filter(is_other);
    arms.map(|arm| (run.arms[arm].name.clone(), run.against(row, figure, ours, arm).ratio())).collect()
}

/// Ahead of every other one that ends a unit in one step: its whole interval.
fn ahead(run: &Run) -> Option<Goal> {
    let (row, ours, figure) = ours(run, "unit", 0)?;
    let lost: Vec<String> = ratios(run, row, ours, figure)
        .into_iter()
        .filter(|(name, ratio)| !name.starts_with(MALLOC) && ratio.high >= 1.0)
        .map(|(name, ratio)| format!("{ratio} of {name}"))
        .collect();
    let wanted =
        "create, 200 mixed requests, end: ahead of every other heap, arena, context and pool".to_owned();
    Some(Goal { wanted, held: lost.is_empty(), found: lost })
}

fn bump(run: &Run) -> Option<Goal> {
    let (row, ours, figure) = ours(run, "unit", 0)?;
    let bump = run.arms_of(row).into_iter().find(|arm| run.arms[*arm].name == BUMPALO)?;
    let ratio = run.against(row, figure, ours, bump).ratio();
    let wanted = "the same: at most 1.5 times a bare bump allocator".to_owned();
    Some(Goal { wanted, held: ratio.value <= 1.5, found: vec![format!("{ratio} of {BUMPALO}")] })
}

fn best(run: &Run, key: &str, most: f64, wanted: &str) -> Option<Goal> {
    let (row, ours, figure) = ours(run, key, 0)?;
    let others = ratios(run, row, ours, figure).into_iter().filter(|(name, _)| name.starts_with(MALLOC));
    // The best of the others is the one to which ours has the highest ratio.
    let (name, ratio) = others.max_by(|one, other| one.1.value.total_cmp(&other.1.value))?;
    Some(Goal {
        wanted: wanted.to_owned(),
        held: ratio.value <= most,
        found: vec![format!("{ratio} of {name}")],
    })
}

/// Not below any: no interval is on the wrong side.
fn messages(run: &Run) -> Option<Goal> {
    let (row, ours, figure) = ours(run, "tls", 1)?;
    let lost: Vec<String> = ratios(run, row, ours, figure)
        .into_iter()
        .filter(|(_, ratio)| ratio.low > 1.0)
        .map(|(name, ratio)| format!("{ratio} of the time of {name}"))
        .collect();
    let wanted = "TLS messages in a second: not below any other heap".to_owned();
    Some(Goal { wanted, held: lost.is_empty(), found: lost })
}

fn nanoseconds(run: &Run) -> Option<Goal> {
    let (row, ours, figure) = ours(run, "locate-1000", 0)?;
    let median = run.median(row, ours, figure);
    let wanted = "locate among 1,000 tags: at most 30 ns".to_owned();
    Some(Goal { wanted, held: median <= 30.0, found: vec![format!("{median:.1} ns")] })
}

fn flat(run: &Run) -> Option<Goal> {
    let (few, arm, figure) = ours(run, "locate-10", 0)?;
    let many = run.find("locate-100000")?;
    let (few, many) = (run.median(few, arm, figure), run.median(many, arm, figure));
    let wanted = "locate among 100,000 tags: at most 3 times the cost among 10".to_owned();
    let found = vec![format!("{:.1} times: {few:.1} ns, {many:.1} ns", many / few)];
    Some(Goal { wanted, held: many <= 3.0 * few, found })
}

fn no_calls(run: &Run) -> Option<Goal> {
    let (_, ours, _) = ours(run, "threads", 0)?;
    let (_, calls) = run.calls.as_ref().ok()?.iter().find(|(arm, _)| *arm == ours)?;
    let wanted = "four threads in one ECB: no kernel call for what their own lists serve".to_owned();
    let found = vec![format!("{} calls in {} turns of 100 requests", calls.calls, calls.turns)];
    Some(Goal { wanted, held: calls.calls <= NOISE, found })
}

fn memory(run: &Run) -> Option<Goal> {
    let (row, ours, figure) = ours(run, "live", 0)?;
    let median = run.median(row, ours, figure);
    let wanted = "100,000 ECBs of 4 KB: at most 1.25 times their requests in resident memory".to_owned();
    Some(Goal { wanted, held: median <= 1.25, found: vec![format!("{median:.3} times")] })
}

#[cfg(test)]
mod tests {
    use super::{all, text};
    use crate::ecb::calls::Calls;
    use crate::ecb::tests::run;

    fn held(times: [u64; 3], word: &str) -> bool {
        let mut run = run(times);
        run.calls = Ok(vec![(3, Calls { turns: 1_000, calls: 10 * times[2] })]);
        all(&run).iter().find(|goal| goal.wanted.contains(word)).expect("the goal").held
    }

    #[test]
    fn what_is_fast_and_small_holds_what_is_not_misses() {
        for word in ["ahead", "1.5 times", "0.9", "messages", "30 ns", "no kernel call", "1.25"] {
            assert!(held([20, 2, 3], word), "{word}");
            assert!(!held([20, 2, 40], word), "{word}");
        }
        // As fast is not ahead, and is not below.
        assert!(!held([20, 20, 20], "ahead") && held([20, 20, 20], "messages"));
        assert!(held([1, 1, 1], "3 times the cost"));
    }

    #[test]
    fn without_ecbs_no_goal_is_judged() {
        let mut run = run([20, 10, 5]);
        run.records.retain(|record| record.arm != 3);
        assert!(all(&run).is_empty() && text(&run).contains("these rows have none"));
        run.arms.truncate(3);
        assert!(text(&run).contains("none can be judged"));
    }
}
