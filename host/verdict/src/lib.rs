//! Did it help? Figures of paired runs in, a verdict out.
//!
//! This crate knows no resource, no process and no clock. It makes a plan, keeps the book of the
//! caller's measurements, and decides whether one arm was better than another: a ratio with its interval, and a
//! decision. The reading order:
//!
//! ```text
//! plan -> sample -> pairs -> interval -> compare -> verdict -> confirm
//! arms,   the book  two runs  ratio and   two arms,  plain,     the winner on
//! rounds, of runs   of one    95 %        rules      default,   fresh runs
//! order             round                            tuned                       (render: as text, as JSON)
//!   \-> epochs: the same alternately inside one running program
//! groups: runs of two sides that are not paired
//! ```
//!
//! # The method
//!
//! Every round runs each arm once, in an order drawn by lot and balanced over the rounds; the number of
//! rounds is fixed before the first. From each round comes one log ratio per two arms. The estimate is the
//! Hodges-Lehmann estimate (Hodges and Lehmann 1963), the interval the one that belongs to Wilcoxon's
//! signed-rank test (Wilcoxon 1945), with the statistic's exact distribution. A gain counts if the interval
//! is below 1 and the estimate is at most 0.99.
//!
//! **Why it holds.** Suppose that the candidate costs the reference's figure times a constant. Take the
//! constant out, and a round is two figures of pure noise, which the lot has dealt to the arms: the sign of
//! their difference is a coin. Signs that are coins are all that the signed ranks need. So the interval rests
//! on the lot, not on a law of the noise: outliers, drift, and runs that resemble the run before are all
//! allowed (randomisation as the basis of inference: Fisher 1935). One thing is approximate: a balanced order
//! makes the coins lean against each other a little (two of n by 1/(n-1)). Against drift that is a benefit;
//! what it does otherwise, the simulations measure.
//!
//! **What the simulations show** (`tests/simulation.rs`; log-normal noise, heavy outliers, drift,
//! autocorrelation, bursts). Equal arms: of 10,000 comparisons of 15 pairs at most 2.5 % are kept, give or
//! take the chance of the count. The 95 % interval of 6, 8, 15 and 30 pairs covers the truth as often as it
//! says, within that same chance. A gain of 5 %, where single runs scatter by 3 %, is found by 15 pairs in
//! 98.7 % of experiments, a gain of 3 % in 72 %; by 8 pairs in 78 % and 34 %. Where one run in ten meets a
//! heavy neighbour, 15 pairs find the 5 % in 72 % (Student's t: 54 %).
//!
//! **Several questions at once.** One primary measure decides. Secondary measures are reported with
//! Bonferroni's correction, so that their intervals hold together. Tuned must beat plain and default both,
//! which needs no correction (Berger 1982). The winner of a search owes something to luck, so it is run again
//! and judged on the fresh runs alone.
//!
//! # Limits
//!
//! - Fewer than six pairs have no 95 % interval without a law of the noise: no verdict.
//! - A run must not affect the next one. No order corrects for a candidate that fills a cache from which
//!   the following run gains.
//! - The ratio is that of a typical round (a pseudo-median), not of sums over a day: a candidate that is a
//!   little faster in most rounds and ruinous in a few can be kept. Where the gain is no constant but skewed
//!   from round to round, nothing is promised.
//! - "No gain" means that none was shown. Only values outside the interval are ruled out.
//! - A verdict is about this program, this input and this machine.
//!
//! # Example
//!
//! ```
//! use underbar_verdict::compare::{Outcome, Question};
//! use underbar_verdict::plan::{Arm, Plan};
//! use underbar_verdict::render::CompareVerdict;
//! use underbar_verdict::sample::{Measure, Runs, Sample};
//!
//! let plan = Plan::new(&[Arm::A, Arm::B], 15, 7)?;
//! let mut runs = Runs::new(plan);
//! while let Some(order) = runs.next_order() {
//!     // A real caller runs the program here, once for each arm of the order.
//!     let measured = order.iter().map(|&arm| Sample {
//!         cpu_ns: if arm == Arm::B { 900_000_000 } else { 1_000_000_000 },
//!         elapsed_ns: 1_000_000_000,
//!         peak_rss_bytes: 10 << 20,
//!         faults: 2_000,
//!         ended_well: true,
//!         output: Some(0x5eed),
//!     });
//!     let samples: Vec<Sample> = measured.collect();
//!     runs.record(&samples)?;
//! }
//! let verdict = CompareVerdict::of(runs, Arm::B, Arm::A, Question::about(Measure::Cpu));
//! assert_eq!(verdict.comparison.outcome, Outcome::Better);
//! assert_eq!(verdict.comparison.to_string(), "CPU 0.900 [0.900, 0.900] of A, 15 pairs: better");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod compare;
pub mod confirm;
pub mod epochs;
pub mod groups;
pub mod interval;
pub mod logarithm;
pub mod output;
pub mod pairs;
pub mod plan;
pub mod random;
pub mod ratios;
pub mod render;
pub mod sample;
pub mod turns;
pub mod verdict;
mod words;
