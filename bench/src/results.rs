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
//! [`print()`] shows a text, and writes it with its files below `bench/runs`.
//!
//! Not here: the columns of a benchmark, and its goals.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value, json};
use underbar_verdict::ratios::LogRatios;

use crate::goal::Goal;
use crate::host::Host;
use crate::{Error, build};

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
    /// By arm, its log ratios to the first one of its group; None for that one.
    pub to_first: Vec<Option<LogRatios>>,
}

/// The log ratios of each arm to the first one of its group: `groups` by arm, `against` an arm and the first one.
pub fn to_first<G: PartialEq>(
    groups: &[G],
    against: impl Fn(usize, usize) -> LogRatios,
) -> Vec<Option<LogRatios>> {
    let first = |place: usize| groups.iter().position(|group| *group == groups[place]).unwrap_or(place);
    let arms = (0..groups.len()).map(|place| (place, first(place)));
    arms.map(|(place, first)| (first != place).then(|| against(place, first))).collect()
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
        let ratio =
            self.to_first[place].as_ref().map_or_else(String::new, |ratios| ratios.ratio().to_string());
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
            .zip(&self.to_first)
            .map(|(arm, to_first)| {
                with(json!({ "to_first": to_first.as_ref().map_or(Value::Null, interval) }), arm)
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
}

/// Prints a text. Where it is recorded, writes it with the samples and the summary: `NAME.txt`, `NAME.csv`, `NAME.json`.
///
/// # Errors
/// [`Error::System`] if a file cannot be written.
pub fn print(
    host: &Host,
    recorded_in: Option<&Path>,
    name: &str,
    text: String,
    csv: impl FnOnce() -> String,
    json: impl FnOnce() -> String,
) -> Result<(), Error> {
    print!("{text}");
    let Some(workspace) = recorded_in else { return Ok(()) };
    let [txt, csv_name, json_name] = ["txt", "csv", "json"].map(|kind| format!("{name}.{kind}"));
    record(host, &[(&txt, text), (&csv_name, csv()), (&json_name, json())], workspace)
}

/// Writes a run's files into `bench/runs/DATE-KIND`, and prints the path.
pub(crate) fn record(host: &Host, files: &[(&str, String)], workspace: &Path) -> Result<(), Error> {
    let date = build::output("date", &["-u", "+%F"])?;
    let folder = workspace.join("bench/runs").join(format!("{date}-{}", host.kind()));
    std::fs::create_dir_all(&folder)
        .map_err(|error| Error::system("creating a folder for the run", &error))?;
    for (name, content) in files {
        std::fs::write(folder.join(name), content).map_err(|error| Error::system(name, &error))?;
    }
    println!("written to {}", folder.strip_prefix(workspace).unwrap_or(&folder).display());
    Ok(())
}

/// A ratio and its interval; an infinite end is null.
pub(crate) fn interval(mean: &LogRatios) -> serde_json::Value {
    let ratio = mean.ratio();
    let finite =
        |value: f64| if value.is_finite() { serde_json::json!(value) } else { serde_json::Value::Null };
    serde_json::json!({ "value": finite(ratio.value), "low": finite(ratio.low), "high": finite(ratio.high) })
}

/// Both objects in one.
fn with(one: Value, other: Value) -> Value {
    let all = [one, other].into_iter().filter_map(|value| match value {
        Value::Object(map) => Some(map),
        _ => None,
    });
    Value::Object(all.flatten().collect::<Map<String, Value>>())
}
