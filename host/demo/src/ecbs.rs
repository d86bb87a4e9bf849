//! The driver of the demos on ECBs: a program of C (`programs/ecb.c`), compiled here, since its work is requests to malloc.
//!
//! Not here: the demos (`requests`, `locate`, `pj47265`).

use std::collections::BTreeMap;
use std::path::PathBuf;

use underbar_verdict::interval::{Interval, TooFewPairs};

use super::measure::{Arm, Machine, Problem, Server};
use super::workshop::{NEEDS_C, Workshop};

const SOURCE: &str = include_str!("programs/ecb.c");

/// What a run says of itself.
pub type Said = BTreeMap<String, u64>;

/// Compiles the driver with the user's compiler.
pub fn compiled(workshop: &Workshop) -> Result<PathBuf, Problem> {
    workshop.compiled("ecb", SOURCE, &[], NEEDS_C)
}

/// The driver under underbar.
pub fn arm(name: &str, options: &str, words: &[&str]) -> Arm {
    Arm {
        name: name.to_owned(),
        server: Server::Underbar(options.to_owned()),
        program: words.iter().map(ToString::to_string).collect(),
    }
}

/// Fails if this library has no ECBs.
pub fn must_have_ecbs(machine: &Machine) -> Result<(), Problem> {
    let probe = arm("ECBs", "", &["entries", "--times", "1"]);
    machine.once(&probe).map(|_| ()).map_err(|_| Problem::Missing("this library has no ECBs".to_owned()))
}

/// A time for each of so many.
pub fn each(said: &Said, all: &str) -> Option<f64> {
    Some(*said.get("cpu_ns")? as f64 / (*said.get(all)?).max(1) as f64)
}

/// A ratio as the change in percent with its interval, where the interval decides it.
pub fn percent(ratio: Result<Interval, TooFewPairs>) -> String {
    let change = |ratio: f64| (ratio - 1.0) * 100.0;
    match ratio {
        Err(few) => format!("no interval: {few}"),
        Ok(interval) if !interval.is_above_one() && !interval.is_below_one() => {
            format!("not decidable here: {:+.1} % to {:+.1} %", change(interval.low), change(interval.high))
        }
        Ok(interval) => format!(
            "{:+.1} % ({:+.1} % to {:+.1} %)",
            change(interval.ratio),
            change(interval.low),
            change(interval.high)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_where_the_interval_decides_it() {
        let interval = |ratio, low, high| Ok(Interval { ratio, low, high, confidence: 0.95, pairs: 8 });
        assert_eq!(percent(interval(1.25, 1.125, 1.5)), "+25.0 % (+12.5 % to +50.0 %)");
        assert_eq!(percent(interval(0.75, 0.5, 0.875)), "-25.0 % (-50.0 % to -12.5 %)");
        assert_eq!(percent(interval(1.0, 0.9375, 1.125)), "not decidable here: -6.2 % to +12.5 %");
        assert!(percent(Err(TooFewPairs { have: 2, need: 6 })).starts_with("no interval"));
    }

    #[test]
    fn a_time_is_for_each() {
        let said: Said = [("cpu_ns".to_owned(), 300), ("ops".to_owned(), 100)].into();
        assert_eq!((each(&said, "ops"), each(&said, "locates")), (Some(3.0), None));
    }
}
