//! The result of a goal: held or missed, with the measured values.
//!
//! None of them fails a build: one run on a shared machine proves nothing.
//! Not here: the goals (`lock::goals`, `load::goals`); those of `accounts` are bounds on figures.

use serde_json::{Value, json};
use std::fmt;

/// The result of a goal.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// Its text.
    pub wanted: String,
    /// Whether it is held.
    pub held: bool,
    /// The measured values, one line each; for several cells, the lost ones.
    pub found: Vec<String>,
}

impl Goal {
    /// For the summary.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({ "wanted": self.wanted, "held": self.held, "found": self.found })
    }
}

/// As lines of the table, each with its end.
impl fmt::Display for Goal {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(to, "  {:<7} {}", if self.held { "held" } else { "MISSED" }, self.wanted)?;
        self.found.iter().try_for_each(|line| writeln!(to, "            {line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::Goal;

    #[test]
    fn what_was_found_stands_below_what_was_wanted() {
        let found = ["1.2", "1.3"].map(str::to_owned).to_vec();
        let goal = Goal { wanted: "less".to_owned(), held: false, found };
        assert_eq!(goal.to_string(), "  MISSED  less\n            1.2\n            1.3\n");
        assert_eq!(goal.json()["found"][1], "1.3");
        assert!(Goal { held: true, ..goal }.to_string().starts_with("  held    less\n"));
    }
}
