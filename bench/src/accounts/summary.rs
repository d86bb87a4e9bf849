//! The conclusions from the figures: ratios of with to without, and the goals.
//!
//! A goal is held or missed by the figure as it is printed. If a figure has an interval and the goal is within
//! it, the result says so, too: the run could not decide.
//!
//! Invariant: a goal appears if its figures were measured, whether it was held or not; bad results are not
//! left out.

use super::{Both, Counted, Run, WITH, WITHOUT};
use crate::heap::table::{cpu_ms, values};
use crate::workloads;
use serde_json::{Value, json};
use underbar_verdict::ratios::{LogRatios, Ratio, geometric_mean, paired};

/// The most instructions that may be added to a pair of malloc and free.
const MOST_PER_PAIR: f64 = 2.0;
/// The limit of the geometric mean over all workloads, with accounts to without.
const MOST_ON_AVERAGE: f64 = 1.02;
/// The limit of the ratio of any workload.
const MOST_AT_WORST: f64 = 1.05;

/// A figure, and its limit.
#[derive(Debug, Clone)]
pub struct Goal {
    what: String,
    figure: f64,
    /// The interval of a repetition; None for a count.
    interval: Option<Ratio>,
    most: f64,
}

impl Goal {
    /// By the figure as printed: 2.0004 is 2.000.
    fn held(&self) -> bool {
        (self.figure * 1e3).round() <= (self.most * 1e3).round()
    }

    /// Whether the interval is on one side of the goal.
    fn is_certain(&self) -> bool {
        self.interval.is_none_or(|ratio| ratio.high <= self.most || ratio.low > self.most)
    }

    /// For a person.
    pub fn line(&self) -> String {
        let word = if self.held() { "held" } else { "missed" };
        let figure = match self.interval {
            Some(ratio) => ratio.to_string(),
            None => format!("{:.3}", self.figure),
        };
        let doubt = if self.is_certain() { "" } else { ", which is within the interval" };
        format!("  {word:<7} {:<54} {figure}, at most {:.2}{doubt}", self.what, self.most)
    }

    /// For programs.
    pub fn json(&self) -> Value {
        json!({
            "what": self.what, "figure": self.figure, "most": self.most,
            "held": self.held(), "certain": self.is_certain(),
        })
    }
}

/// The conclusions from a run's figures.
pub struct Summary {
    /// One entry per workload: instructions with to without, start and end of the program subtracted.
    pub instructions: Vec<(&'static str, f64)>,
    /// One entry per workload: CPU time.
    pub times: Vec<(&'static str, LogRatios)>,
    pub goals: Vec<Goal>,
}

impl Summary {
    /// Makes it.
    pub fn of(run: &Run) -> Self {
        let instructions: Vec<(&'static str, f64)> =
            run.counted.iter().map(|counted| (counted.workload, ratio(counted, &run.start))).collect();
        let times: Vec<(&'static str, LogRatios)> = run
            .times
            .workloads
            .iter()
            .map(|workload| {
                let of = |place| values(&run.times, workload, place, cpu_ms);
                (*workload, paired(&of(WITH), &of(WITHOUT)))
            })
            .collect();
        let mut goals: Vec<Goal> = run
            .pairs
            .iter()
            .map(|pairs| Goal {
                what: format!("instructions added to a pair, {}", pairs.workload),
                figure: pairs.instructions.with - pairs.instructions.without,
                interval: None,
                most: MOST_PER_PAIR,
            })
            .collect();
        let mut summary = Self { instructions, times, goals: Vec::new() };
        let number = summary.times.len();
        let of_all = format!("geometric mean of {number} of {} workloads", workloads::TABLE.len());
        goals.push(Goal {
            what: format!("instructions net, {of_all}"),
            figure: summary.mean_instructions(),
            interval: None,
            most: MOST_ON_AVERAGE,
        });
        if let Some((workload, figure)) = summary.worst_instructions() {
            let what = format!("instructions net, worst workload: {workload}");
            goals.push(Goal { what, figure, interval: None, most: MOST_AT_WORST });
        }
        let mean = summary.mean_time().ratio();
        goals.push(Goal {
            what: format!("CPU time, {of_all}"),
            figure: mean.value,
            interval: Some(mean),
            most: MOST_ON_AVERAGE,
        });
        if let Some((workload, ratio)) = summary.worst_time() {
            goals.push(Goal {
                what: format!("CPU time, worst workload: {workload}"),
                figure: ratio.value,
                interval: Some(ratio),
                most: MOST_AT_WORST,
            });
        }
        summary.goals = goals;
        summary
    }

    /// Geometric mean of the instructions, net.
    pub fn mean_instructions(&self) -> f64 {
        mean(self.instructions.iter().map(|(_, net)| *net))
    }

    /// The workload to which most instructions were added, net.
    pub fn worst_instructions(&self) -> Option<(&'static str, f64)> {
        self.instructions.iter().copied().max_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// Geometric mean of the CPU times.
    pub fn mean_time(&self) -> LogRatios {
        let parts: Vec<LogRatios> = self.times.iter().map(|(_, ratio)| ratio.clone()).collect();
        geometric_mean(&parts)
    }

    /// The workload whose CPU time grew most.
    pub fn worst_time(&self) -> Option<(&'static str, Ratio)> {
        let ratios = self.times.iter().map(|(workload, mean)| (*workload, mean.ratio()));
        ratios.max_by(|one, other| one.1.value.total_cmp(&other.1.value))
    }
}

/// Nothing to subtract.
pub const NOTHING: Both<u64> = Both { with: 0, without: 0 };

/// Instructions with to without, those of a program that does nothing subtracted from both.
pub fn ratio(counted: &Counted, start: &Both<u64>) -> f64 {
    // At least one, since a logarithm is taken.
    let net = |count: u64, start: u64| count.saturating_sub(start).max(1) as f64;
    net(counted.instructions.with, start.with) / net(counted.instructions.without, start.without)
}

/// The geometric mean of ratios without an interval.
pub fn mean(ratios: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = ratios.len() as f64;
    (ratios.map(f64::ln).sum::<f64>() / count).exp()
}

#[cfg(test)]
pub mod tests {
    use super::{Goal, Summary};
    use crate::accounts::{Both, Counted, Pairs, Run, times};
    use crate::heap::{Record, Request};
    use crate::measure::Sample;
    use crate::{peers, workloads};
    use underbar_verdict::ratios::Ratio;

    /// Two workloads: the first takes this much more with accounts, the second a tenth less, in every round.
    pub fn run(loss: f64) -> Run {
        let request = Request { rounds: 6, seed: 1, ..Request::default() };
        let libraries = Both { with: peers::library("with", "/w"), without: peers::library("without", "/n") };
        let chosen: Vec<_> = ["lifo", "server"].iter().filter_map(|name| workloads::find(name)).collect();
        let mut times = times(request, &chosen, libraries, vec![("absent", "not installed".to_owned())]);
        for (workload, ratio) in [("lifo", loss), ("server", 0.9)] {
            for (round, without) in [100_000.0, 300_000.0].into_iter().cycle().take(6).enumerate() {
                for (allocator, time) in [without * ratio, without].into_iter().enumerate() {
                    let printed = String::new();
                    let sample =
                        Sample { user_us: time as u64, system_us: 0, peak_kib: 1, faults: 0, printed };
                    // Within a round the order is drawn: the one without first, here.
                    times.records.push(Record { round, place: 1 - allocator, workload, allocator, sample });
                }
            }
        }
        let counted = |workload, with| Counted {
            workload,
            steps: 7,
            instructions: Both { with: 1_000 + with, without: 900 + 10_000 },
        };
        let added = (loss - 1.0) * 100.0;
        Run {
            others: vec![("glibc".to_owned(), "2.36".to_owned()), ("other".to_owned(), "1".to_owned())],
            pairs: vec![Pairs {
                workload: "lifo",
                instructions: Both { with: 30.0 + added, without: 30.0 },
                others: vec![Some(91.5), None],
            }],
            start: Both { with: 1_000, without: 900 },
            counted: vec![counted("lifo", (10_000.0 * loss) as u64), counted("server", 9_000)],
            times,
        }
    }

    #[test]
    fn start_and_end_do_not_dilute_a_ratio_and_the_mean_is_geometric() {
        let summary = Summary::of(&run(1.25));
        let expected = [("lifo", 1.25), ("server", 0.9)];
        for ((name, ratio), (other, value)) in summary.instructions.iter().zip(expected) {
            assert!(*name == other && (ratio - value).abs() < 1e-12, "{name} {ratio}");
        }
        let mean = (1.25f64 * 0.9).sqrt();
        assert!((summary.mean_instructions() - mean).abs() < 1e-12);
        assert!((summary.mean_time().ratio().value - mean).abs() < 1e-9);
        assert_eq!(summary.worst_instructions().map(|worst| worst.0), Some("lifo"));
        assert_eq!(summary.worst_time().map(|worst| worst.0), Some("lifo"));
    }

    #[test]
    fn a_goal_within_the_interval_was_not_decided() {
        let goal = |value, low, high| Goal {
            what: "CPU time".to_owned(),
            figure: value,
            interval: Some(Ratio { value, low, high }),
            most: 1.02,
        };
        assert!(goal(1.01, 1.0, 1.03).held() && !goal(1.01, 1.0, 1.03).is_certain());
        assert!(goal(1.03, 1.0, 1.06).line().contains("at most 1.02, which is within the interval"));
        assert!(!goal(1.03, 1.0, 1.06).held());
        assert!(goal(1.0, 0.99, 1.01).is_certain() && goal(1.05, 1.04, 1.06).is_certain());
        assert!(
            goal(1.0, 0.0, f64::INFINITY).line().contains("within the interval"),
            "one round says nothing"
        );
        // As printed.
        assert!(goal(1.0204, 1.0, 1.0).held() && !goal(1.0206, 1.0, 1.0).held());
    }
}
