//! Multi-fetch, as `underbar demo multifetch` measures it: with a server of its own, the same client with and without.

use crate::Error;
use crate::measure::beside;
use serde_json::Value;
use std::process::{Command, Stdio};

/// Rounds of the demo: the fewest with an interval.
const RUNS: &str = "6";

/// What the demo found.
#[derive(Debug)]
pub struct Fetches {
    /// Its checks: name, whether it passed, and its words.
    pub checks: Vec<(String, bool, String)>,
}

/// Runs the demo; None without PostgreSQL, libpq or a compiler: then standard error says what is missing.
///
/// # Errors
/// [`Error::Missing`] without the command, [`Error::System`] when it could not be started.
pub fn run(quick: bool) -> Result<Option<Fetches>, Error> {
    let words = ["demo", "multifetch", "--json", "--quiet", "--runs", if quick { "1" } else { RUNS }];
    let done = Command::new(beside("underbar")?)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::system("starting the demo", &error))?;
    let found = parse(&String::from_utf8_lossy(&done.stdout));
    if found.is_none() {
        eprintln!("multi-fetch is left out: {}", String::from_utf8_lossy(&done.stderr).trim_end());
    }
    Ok(found)
}

fn parse(text: &str) -> Option<Fetches> {
    let demo: Value = serde_json::from_str(text).ok()?;
    let checks = demo["checks"].as_array()?.iter().filter_map(|check| {
        let word = |name: &str| Some(check[name].as_str()?.to_owned());
        Some((word("name")?, check["result"] == "pass", word("text")?))
    });
    Some(Fetches { checks: checks.collect() })
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn checks_of_the_demo_are_read() {
        let found = parse(
            r#"{"checks":[{"name":"time_at_8","result":"pass","text":"0.14"},{"name":"x","result":"fail","text":"y"}]}"#,
        );
        let found = found.expect("checks").checks;
        assert_eq!((found[0].1, found[1].1, found[0].2.as_str()), (true, false, "0.14"));
        assert!(parse("").is_none());
    }
}
