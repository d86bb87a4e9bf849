//! The goals: held or missed, with the measured values.

use super::Run;
use super::arms::{LINES, RECORDS};
use crate::goal::Goal;

/// The most that counting may add to a call, in nanoseconds, and to a start, in microseconds.
const CALL: f64 = 5.0;
const START: f64 = 300.0;
/// The limit of a program whose files no option names, to plain.
const UNNAMED: f64 = 1.01;
/// The most kernel calls with a cache.
const WRITES: u64 = 11;
const READS: u64 = 5;

/// All goals whose arms could be run.
pub fn all(run: &Run) -> Vec<Goal> {
    let mut goals: Vec<Goal> = [
        call(run),
        start(run),
        unnamed(run),
        cached(run, &["endl-cache", "fflush-cache", "puts-cache"], LINES, WRITES, "writes"),
        cached(run, &["read-cache"], RECORDS, READS, "reads"),
    ]
    .into_iter()
    .flatten()
    .collect();
    for (name, wanted) in [
        ("fetches_at_8", "multi-fetch 8: at most 12,510 messages for 100,000 rows"),
        ("time_at_8", "multi-fetch 8: at least 5 times less time"),
        ("time_at_100", "multi-fetch 100: at least 15 times less time"),
    ] {
        let checks = run.fetches.iter().flat_map(|fetches| &fetches.checks);
        goals.extend(checks.filter(|(of, ..)| of == name).map(|(_, held, text)| Goal {
            wanted: wanted.to_owned(),
            held: *held,
            found: vec![text.clone()],
        }));
    }
    goals
}

fn call(run: &Run) -> Option<Goal> {
    let plain = run.find("call")?;
    let more = run.samples.more(run.find("call-counted")?, plain);
    let others = ["call-underbar", "call-darshan", "call-strace"].into_iter().filter_map(|name| {
        let arm = run.find(name)?;
        Some(format!("{:+.1} ns for {}", run.samples.more(arm, plain).value, run.arms[arm].about))
    });
    Some(Goal {
        wanted: "counting takes at most 5 ns a call".to_owned(),
        held: more.value <= CALL,
        found: std::iter::once(format!("{:+.1} ns ({:+.1} to {:+.1})", more.value, more.low, more.high))
            .chain(others)
            .collect(),
    })
}

fn start(run: &Run) -> Option<Goal> {
    let more = run.samples.more(run.find("start-counted")?, run.find("start")?);
    let [value, low, high] = [more.value, more.low, more.high].map(|microseconds| microseconds / 1e3);
    Some(Goal {
        wanted: "a start under SWITCHES(ON) takes at most 0.3 ms more".to_owned(),
        held: more.value <= START,
        found: vec![format!("{value:+.3} ms ({low:+.3} to {high:+.3})")],
    })
}

fn unnamed(run: &Run) -> Option<Goal> {
    let plain = run.find("unnamed")?;
    let arms: Vec<usize> =
        ["unnamed-underbar", "unnamed-cache"].iter().filter_map(|name| run.find(name)).collect();
    let ratio = |arm: usize| run.samples.against(arm, plain).ratio();
    Some(Goal {
        wanted: "a program whose files no option names: within 1 % of plain".to_owned(),
        held: arms.iter().all(|arm| ratio(*arm).value <= UNNAMED),
        found: arms.iter().map(|arm| format!("{} {}", ratio(*arm), run.arms[*arm].about)).collect(),
    })
}

/// With a cache, so many units take at most so many calls of the kernel. None if there is no such arm.
fn cached(run: &Run, names: &[&str], units: u64, most: u64, calls: &str) -> Option<Goal> {
    let arms: Vec<usize> = names.iter().filter_map(|name| run.find(name)).collect();
    let found: Vec<(usize, u64)> =
        arms.into_iter().filter_map(|arm| Some((arm, (*run.kernel_calls.get(arm)?)?))).collect();
    (!found.is_empty()).then(|| Goal {
        wanted: format!("{units} units with a cache: at most {most} {calls}"),
        held: found.iter().all(|(_, found)| *found <= most),
        found: found.iter().map(|(arm, found)| format!("{found}: {}", run.arms[*arm].about)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::all;
    use crate::switches::fetches::Fetches;
    use crate::switches::tests::run;

    #[test]
    fn goals_are_held_and_missed() {
        let held = |more: f64, calls: u64| {
            let mut run = run(
                |name| match name {
                    "call-counted" => 200.0 + more,
                    "start-counted" => 200.0 + 60.0 * more,
                    "unnamed-underbar" => 200.0 + 0.4 * more,
                    _ => 200.0,
                },
                |_| calls,
            );
            let check = |name: &str| (name.to_owned(), more < 5.1, String::new());
            run.fetches =
                Some(Fetches { checks: ["fetches_at_8", "all_rows", "time_at_100"].map(check).to_vec() });
            all(&run).iter().map(|goal| goal.held).collect::<Vec<bool>>()
        };
        assert_eq!(held(4.9, 5), [true; 7]);
        assert_eq!(held(5.2, 12), [false; 7]);
    }
}
