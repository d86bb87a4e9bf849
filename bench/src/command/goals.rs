//! The goals of the command: each printed as held or missed, with the measured values.

use super::Run;
use super::arms::CHILDREN;
use crate::goal::Goal;
use underbar_verdict::interval::Span;
use underbar_verdict::ratios::difference;

/// The limit of a run's additional time, in microseconds.
const START: f64 = 2_000.0;
/// The limit of each followed child.
const CHILD: f64 = 300.0;
/// The limit of a sampled program's ratio to the unsampled one.
const SAMPLED: f64 = 1.01;

/// All goals whose arms could be run.
pub fn all(run: &Run) -> Vec<Goal> {
    [start(run), child(run), sampled(run)].into_iter().flatten().collect()
}

fn start(run: &Run) -> Option<Goal> {
    let plain = run.find("true")?;
    let more = run.samples.more(run.find("run")?, plain);
    let line = |name: &str, words: &str| {
        Some(format!("{} for {words}", milliseconds(run.samples.more(run.find(name)?, plain))))
    };
    let others = [line("quiet", "run -q"), line("timeout", "timeout, which keeps no accounts")];
    Some(Goal {
        wanted: "run -- true adds at most 2 ms".to_owned(),
        held: more.value <= START,
        found: std::iter::once(milliseconds(more)).chain(others.into_iter().flatten()).collect(),
    })
}

fn child(run: &Run) -> Option<Goal> {
    let each = of_child(run)?;
    Some(Goal {
        wanted: "each followed child takes at most 0.3 ms more".to_owned(),
        held: each.value <= CHILD,
        found: vec![milliseconds(each)],
    })
}

/// The additional time of a followed child, in microseconds:
/// the additional time of the shell with all of them, less that with none.
fn of_child(run: &Run) -> Option<Span> {
    let [followed, alone, plain, shell] =
        ["children-followed", "shell-followed", "children", "shell"].map(|name| run.find(name));
    let (followed, alone) = (run.samples.values(followed?), run.samples.values(alone?));
    let (plain, shell) = (run.samples.values(plain?), run.samples.values(shell?));
    let each: Vec<f64> = (0..run.request.rounds)
        .map(|round| ((followed[round] - alone[round]) - (plain[round] - shell[round])) / CHILDREN as f64)
        .collect();
    Some(difference(&each))
}

fn sampled(run: &Run) -> Option<Goal> {
    let plain = run.find("work")?;
    let ours = run.samples.against(run.find("profile")?, plain).ratio();
    let line = |name: &str, words: &str| {
        Some(format!("{} {words}", run.samples.against(run.find(name)?, plain).ratio()))
    };
    let others = [
        line("unread", "sampled by the kernel alone, nobody reading: the interrupts of this machine"),
        line("perf", "perf record"),
    ];
    Some(Goal {
        wanted: "a profile at 1 kHz costs the program under 1 % of its CPU time".to_owned(),
        held: ours.value < SAMPLED,
        found: std::iter::once(ours.to_string()).chain(others.into_iter().flatten()).collect(),
    })
}

/// `1.234 [1.200, 1.260] ms`.
fn milliseconds(difference: Span) -> String {
    let Span { value, low, high } = difference;
    if high.is_infinite() {
        return format!("{:.3} [no interval] ms", value / 1e3);
    }
    format!("{:.3} [{:.3}, {:.3}] ms", value / 1e3, low / 1e3, high / 1e3)
}

#[cfg(test)]
mod tests {
    use super::all;
    use crate::command::tests::run;

    #[test]
    fn goals_are_held_and_missed() {
        let held = |slow: f64| {
            let run = run(|name| match name {
                "run" => 1_000.0 + 1_900.0 * slow,
                "children-followed" => 130_000.0 * slow,
                "profile" => 1_005.0 * slow,
                "children" => 101_000.0,
                "timeout" => 1_500.0,
                _ => 1_000.0,
            });
            all(&run).iter().map(|goal| goal.held).collect::<Vec<bool>>()
        };
        assert_eq!(held(1.0), [true; 3]);
        assert_eq!(held(1.1), [false; 3]);
    }
}
