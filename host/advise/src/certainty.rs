//! The certainty of advice from listings, in words: it follows from the number of runs, and from doubts about their reports.
//!
//! Not here: advice from the accounts of a run, which are exact (`accounts`).

use underbar_model::Program;

/// The certainty of advice on a program; `run` is the word for one of its runs.
pub(crate) fn words(program: &Program, run: &str) -> String {
    let mut words = match program.runs {
        0 | 1 => format!("low: one {run} only; its peak need not be the largest"),
        runs @ 2..=9 => format!("medium: {runs} {run}s"),
        runs => format!("high: {runs} {run}s"),
    };
    words += &match program.doubts {
        0 => String::new(),
        1 => "; 1 doubt about the listing".to_owned(),
        doubts => format!("; {doubts} doubts about the listing"),
    };
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_runs_are_more_certain_and_doubts_are_named() {
        let check = |runs, doubts, expect: &str| {
            assert_eq!(words(&Program { name: "PAY".to_owned(), runs, doubts }, "run"), expect);
        };
        check(0, 0, "low: one run only; its peak need not be the largest");
        check(1, 1, "low: one run only; its peak need not be the largest; 1 doubt about the listing");
        check(9, 0, "medium: 9 runs");
        check(10, 2, "high: 10 runs; 2 doubts about the listing");
    }
}
