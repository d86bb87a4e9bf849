//! The goals: held or missed, with the measured values.

use super::Run;
use crate::goal::Goal;

/// How many times faster than GNU sort: all in memory, and with a tenth of it.
const FASTER: f64 = 3.0;
const FASTER_SMALL: f64 = 2.0;
/// Kernel entries: so many, and so many for each MiB of the file.
const ENTRIES: u64 = 200;
const ENTRIES_OF_MIB: u64 = 4;

/// All goals.
pub fn all(run: &Run) -> Vec<Goal> {
    [
        faster(run, "ours", ["gnu-key", "gnu-line"], FASTER, "GNU sort, all in memory"),
        faster(
            run,
            "ours-small",
            ["gnu-key-small", "gnu-line-small"],
            FASTER_SMALL,
            "GNU sort, with a tenth of that memory",
        ),
        entries(run),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Against both ways to call GNU sort. The goal is that against the same key; whole lines are another order, which happens to be the
/// same for these records, and cheaper for GNU sort.
fn faster(run: &Run, ours: &str, gnu: [&str; 2], times: f64, words: &str) -> Option<Goal> {
    let ours = run.find(ours)?;
    let ratio = |name: &str| Some(run.against(run.find(name)?, ours).ratio());
    let [key, line] = [ratio(gnu[0])?, ratio(gnu[1])?];
    Some(Goal {
        wanted: format!("at least {times} times faster than {words}"),
        held: key.value >= times,
        found: vec![
            format!("{} than by the same key", key.times()),
            format!("{} than by whole lines", line.times()),
        ],
    })
}

fn entries(run: &Run) -> Option<Goal> {
    let place = run.find("ours")?;
    let found = run.entries[place]?;
    let limit = ENTRIES + run.request.bytes() * ENTRIES_OF_MIB / (1 << 20);
    let small = run.find("ours-small").and_then(|place| run.entries[place]);
    let small = small.map(|small| format!("{small} with a tenth of the memory"));
    Some(Goal {
        wanted: format!("at most {limit} kernel entries: 200, and 4 for each MiB"),
        held: found <= limit,
        found: std::iter::once(format!("{found} all in memory")).chain(small).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::all;
    use crate::sort::tests::run;

    #[test]
    fn goals_are_held_and_missed() {
        let held = |slow: f64, entries| {
            let run = run(
                |name| match name {
                    "ours" => slow,
                    "ours-small" => 1.5 * slow,
                    _ => 3.1,
                },
                |_| entries,
            );
            all(&run).iter().map(|goal| goal.held).collect::<Vec<bool>>()
        };
        assert_eq!(held(1.0, 581), [true; 3]);
        assert_eq!(held(1.1, 582), [false; 3]);
    }
}
