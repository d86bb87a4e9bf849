//! The goals of loading: each printed as held or missed, with the measured values.

use super::Run;
use super::rows::{MEMBERS, SMALL, Stored};
use crate::goal::Goal;
use std::fmt::Write as _;
use underbar_loading::{Role, TABLE, Way};
use underbar_store::library::Organisation;

/// All goals.
pub fn all(run: &Run) -> Vec<Goal> {
    let tiny = |way, times, wanted| faster(run, "tiny", way, times, wanted);
    [
        tiny(
            "shared",
            10.0,
            "tiny program, shared image from VLF: at least 10 times faster than dlopen, dlclose",
        ),
        tiny("fresh", 3.0, "tiny program, fresh data each time, from VLF: at least 3 times faster"),
        tiny("nothing", 3.0, "tiny program, fresh data each time, nothing kept: at least 3 times faster"),
        untouched(run),
        faster(
            run,
            "relocated",
            "fresh",
            20.0,
            "4 MB with 65,544 relocations, fresh from VLF: at least 20 times faster",
        ),
        faster(
            run,
            "relocated",
            "shared",
            20.0,
            "4 MB with 65,544 relocations, shared from VLF: at least 20 times faster",
        ),
        within(run, "touched_64k", 8.0, "64 KB, each page written, fresh from VLF: at most 8 us"),
        within(run, "touched_256k", 30.0, "256 KB, each page written, fresh from VLF: at most 30 us"),
        within(run, "touched_4m", 900.0, "4 MB, each page written, fresh from VLF: at most 900 us"),
        flat(run, "PDSE with LLA: flat within 10 % up to 100,000 members", Organisation::Pdse, false),
        flat(run, "PDSE without LLA: flat within 10 % up to 100,000 members", Organisation::Pdse, true),
        flat(run, "PDS with LLA: flat within 10 % up to 100,000 members", Organisation::Pds, false),
        linear(run),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The goals as lines.
pub fn text(run: &Run) -> String {
    let mut out = String::from("\nGoals\n");
    for goal in all(run) {
        let _ = write!(out, "{goal}");
    }
    out
}

/// The factor to `dlopen`.
fn faster(run: &Run, program: &str, way: &str, times: f64, wanted: &str) -> Option<Goal> {
    let ours = run.find(program, Some(SMALL), way)?;
    let ratio = run.samples.against(run.base(ours)?, ours).ratio();
    Some(Goal { wanted: wanted.to_owned(), held: ratio.value >= times, found: vec![ratio.times()] })
}

/// The limit in microseconds.
fn within(run: &Run, program: &str, most: f64, wanted: &str) -> Option<Goal> {
    let median = run.samples.median(run.find(program, Some(SMALL), "fresh")?);
    Some(Goal { wanted: wanted.to_owned(), held: median <= most, found: vec![format!("{median:.1} us")] })
}

fn untouched(run: &Run) -> Option<Goal> {
    let ours = run.find("plain", Some(SMALL), "nothing")?;
    let ratio = run.samples.against(ours, run.base(ours)?).ratio();
    Some(Goal {
        wanted: "4 MB from a PDSE, untouched: no slower than dlopen".to_owned(),
        held: ratio.low <= 1.0,
        found: vec![ratio.to_string()],
    })
}

fn ways(is_searched: bool) -> impl Iterator<Item = &'static Way> {
    TABLE.iter().filter(move |way| way.role == Role::Ours && way.name.ends_with("searched") == is_searched)
}

/// For each way, many members against two.
fn flat(run: &Run, wanted: &str, organisation: Organisation, is_searched: bool) -> Option<Goal> {
    let (mut held, mut found) = (true, Vec::new());
    for way in ways(is_searched) {
        let row = |members| run.find("tiny", Some(Stored { organisation, members }), way.name);
        let few = row(MEMBERS[0])?;
        for members in &MEMBERS[1..] {
            let ratio = run.samples.against(row(*members)?, few).ratio();
            held &= ratio.value <= 1.1;
            found.push(format!("{}, {members} members: {ratio} of {}", way.about, MEMBERS[0]));
        }
    }
    Some(Goal { wanted: wanted.to_owned(), held, found })
}

/// A search in sequence: time for each member that it passes, beyond what a library of two takes.
fn linear(run: &Run) -> Option<Goal> {
    let organisation = Organisation::Pds;
    let (mut held, mut found) = (true, Vec::new());
    for way in ways(true) {
        let median = |members| {
            run.find("tiny", Some(Stored { organisation, members }), way.name)
                .map(|row| run.samples.median(row))
        };
        let [few, some, many] = MEMBERS;
        let each = |members: usize, time: f64, least: f64| (time - least) * 1e3 / members as f64;
        let least = median(few)?;
        let (of_some, of_many) = (each(some, median(some)?, least), each(many, median(many)?, least));
        // Linear: the time per member is the same, to a factor of two, from the smaller to the larger library.
        held &= of_some > 0.0 && (0.5..=2.0).contains(&(of_many / of_some));
        found.push(format!("{}: {of_some:.2} ns a member at {some}, {of_many:.2} at {many}", way.about));
    }
    Some(Goal { wanted: "PDS without LLA: linear in its members".to_owned(), held, found })
}

#[cfg(test)]
mod tests {
    use super::all;
    use crate::load::rows::Row;
    use crate::load::tests::run;

    fn held(time: fn(&Row) -> f64, word: &str) -> bool {
        all(&run(time)).iter().find(|goal| goal.wanted.contains(word)).expect("the goal").held
    }

    #[test]
    fn what_is_fast_holds_what_is_slow_misses() {
        let fast = |row: &Row| if row.library.is_some() { 1.0 } else { 30.0 };
        for word in ["shared image", "fresh data", "untouched", "fresh from VLF", "PDSE without"] {
            assert!(held(fast, word), "{word}");
        }
        for word in ["shared image", "fresh data", "fresh from VLF"] {
            assert!(!held(|_| 1.0, word), "{word}");
        }
        assert!(!held(|row| if row.library.is_some() { 2.0 } else { 1.0 }, "untouched"));
    }

    #[test]
    fn a_search_in_sequence_is_linear_and_nothing_else_is() {
        let linear = |row: &Row| 1.0 + row.library.map_or(0.0, |library| library.members as f64 / 100.0);
        assert!(held(linear, "linear") && !held(linear, "PDS with LLA"));
        assert!(!held(|_| 1.0, "linear") && held(|_| 1.0, "PDS with LLA"));
    }
}
