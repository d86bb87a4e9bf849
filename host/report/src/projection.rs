//! How much CPU time could move to another class of processors, under ZIIP(ELIGIBLE): before which component's switches it is, and how long
//! it lasts at a time.
//!
//! Not here: how it is measured (`runtime::switch::project`), lines for people ([`crate::switch_lines`]).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use underbar_ledger::switch_reset::Figure;
use underbar_ledger::switches::below;
use underbar_ledger::{Key, SlotView};

/// How much CPU time could move to another class of processors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Projection {
    /// CPU time before switches of eligible components, in nanoseconds.
    pub eligible_ns: u64,
    /// CPU time before switches of others.
    pub ineligible_ns: u64,
    /// Runs of eligible components, each of which a switch of another one ended.
    pub runs: u64,
    /// Half of the runs are shorter than this; null without runs. The next limit of a class, at most a quarter too long.
    pub half_below_ns: Option<u64>,
    /// 99 of 100 runs are shorter than this.
    pub most_below_ns: Option<u64>,
}

impl Projection {
    pub(crate) fn of_slot(slot: &SlotView<'_>) -> Option<Self> {
        let [eligible_ns, ineligible_ns, runs] =
            [Key::SwitchEligible, Key::SwitchIneligible, Key::SwitchRuns].map(|key| slot.get(key));
        let noted = [Figure::Eligible, Figure::Ineligible, Figure::Runs];
        let noted = noted.map(|figure| slot.noted_figure(figure).unwrap_or(0));
        let [eligible_ns, ineligible_ns, runs] = [
            eligible_ns.saturating_sub(noted[0]),
            ineligible_ns.saturating_sub(noted[1]),
            runs.saturating_sub(noted[2]),
        ];
        let classes: Vec<u64> = slot.runs_since_reset().collect();
        (eligible_ns + ineligible_ns > 0).then(|| Self {
            eligible_ns,
            ineligible_ns,
            runs,
            half_below_ns: percentile(&classes, 50),
            most_below_ns: percentile(&classes, 99),
        })
    }
}

/// The length below which so many of a hundred runs are.
fn percentile(classes: &[u64], percent: u64) -> Option<u64> {
    let all = classes.iter().fold(0_u64, |sum, count| sum.saturating_add(*count));
    let mut left = u128::from(all) * u128::from(percent);
    let class = classes.iter().position(|&count| {
        let is_there = left <= u128::from(count) * 100;
        left = left.saturating_sub(u128::from(count) * 100);
        is_there
    })?;
    (all > 0).then(|| below(class))
}

/// The schema.
pub(crate) fn schema() -> Value {
    let number = |words: &str| json!({"type": "integer", "minimum": 0, "description": words});
    json!({"type": ["object", "null"],
        "description": "CPU time that could move to another class of processors, under ZIIP(ELIGIBLE); null without it.",
        "properties": {
            "eligible_ns": number("CPU time before switches of eligible components: the time before a switch is of the component that makes it."),
            "ineligible_ns": number("CPU time before switches of other components."),
            "runs": number("Runs of eligible components, each of which a switch of another one ended."),
            "half_below_ns": {"type": ["integer", "null"], "minimum": 0,
                "description": "Half of the runs are shorter; the limit of a class, at most a quarter too long. Null without runs."},
            "most_below_ns": {"type": ["integer", "null"], "minimum": 0, "description": "99 of 100 runs are shorter; likewise."},
        },
        "required": ["eligible_ns", "ineligible_ns", "runs", "half_below_ns", "most_below_ns"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_limits_of_classes() {
        assert_eq!(percentile(&[0, 0], 50), None);
        assert_eq!(
            [1, 50, 51, 99, 100].map(|percent| percentile(&[50, 0, 49, 1], percent)),
            [0, 0, 2, 2, 3].map(|class| Some(below(class)))
        );
    }
}
