//! What the results of benchmarks have in common: a head, groups of rows that are compared with their first, goals, and the summary.
//!
//! ```text
//! underbar bench sort: 10 rounds, the host
//! Others used 3 % of the processors meanwhile.
//!   an arm          1.0
//!   another one     2.0  2.0 [1.9, 2.1]
//! Goals
//! ```
//!
//! Not here: the columns of a benchmark, and its goals.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use underbar_verdict::ratios::LogRatios;

use crate::goal::Goal;
use crate::heap::table::interval;
use crate::host::Host;

/// A run, whatever it measures.
pub struct Results<'a> {
    /// The name of the benchmark.
    pub bench: &'a str,
    /// Where it ran.
    pub host: &'a Host,
    /// How many rounds there were.
    pub rounds: usize,
    /// The seed of their order.
    pub seed: u64,
    /// Part of all processors' time that other programs used meanwhile, 0 to 1.
    pub others: f64,
    /// The place of the first arm of an arm's group.
    pub first: &'a dyn Fn(usize) -> usize,
    /// Log ratios of an arm to another.
    pub against: &'a dyn Fn(usize, usize) -> LogRatios,
}

impl Results<'_> {
    /// The head of the text; `what` is a line about what was measured, with its end, or empty.
    #[must_use]
    pub fn head(&self, what: &str) -> String {
        format!(
            "underbar bench {}: {} rounds, {}\n{what}Others used {:.0} % of the processors meanwhile.\n",
            self.bench,
            self.rounds,
            self.host,
            self.others * 100.0
        )
    }

    /// A row of the text: its columns, and the ratio to the first row of its group.
    #[must_use]
    pub fn row(&self, place: usize, columns: &str) -> String {
        let ratio = self.to_first(place).map(|ratios| ratios.ratio().to_string()).unwrap_or_default();
        format!("{}\n", format!("  {columns}  {ratio}").trim_end())
    }

    /// The goals, below the rows.
    #[must_use]
    pub fn goals(goals: &[Goal]) -> String {
        goals.iter().fold("\nGoals\n".to_owned(), |mut out, goal| {
            let _ = write!(out, "{goal}");
            out
        })
    }

    /// The summary: `more` about the run, and the arms, each of which gets its ratio to the first one of its group.
    #[must_use]
    pub fn summary(&self, more: Value, arms: Vec<Value>, goals: &[Goal]) -> String {
        let arms: Vec<Value> = arms
            .into_iter()
            .enumerate()
            .map(|(place, arm)| {
                let ratio = self.to_first(place).as_ref().map_or(Value::Null, interval);
                with(json!({ "to_first": ratio }), arm)
            })
            .collect();
        let goals: Vec<Value> = goals.iter().map(Goal::json).collect();
        let document = json!({
            "schema": format!("underbar.bench.{}/1", self.bench),
            "host": self.host.json(),
            "rounds": self.rounds, "seed": self.seed, "others_used": self.others,
            "arms": arms, "goals": goals,
        });
        format!("{:#}\n", with(document, more))
    }

    /// None for the first one of a group.
    fn to_first(&self, place: usize) -> Option<LogRatios> {
        let first = (self.first)(place);
        (first != place).then(|| (self.against)(place, first))
    }
}

/// Both objects in one.
fn with(one: Value, other: Value) -> Value {
    let all = [one, other].into_iter().filter_map(|value| match value {
        Value::Object(map) => Some(map),
        _ => None,
    });
    Value::Object(all.flatten().collect::<Map<String, Value>>())
}
