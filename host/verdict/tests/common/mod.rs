//! Machines that disturb their runs, for simulated experiments. All numbers come from seeds.
#![allow(dead_code)] // each test file uses a part

use underbar_verdict::plan::{Arm, Plan};
use underbar_verdict::random::Random;
use underbar_verdict::sample::{Runs, Sample};

/// How a machine disturbs the runs that follow one another on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// Log-normal, standard deviation 3 %, every run for itself.
    LogNormal,
    /// The same, and one run in ten meets a neighbour that slows it by 10 % or much more (Pareto, no
    /// variance).
    Outliers,
    /// Every run 0.5 % slower than the one before, and 1 % log-normal.
    Drift,
    /// What slows a run slows the next: a first-order process, correlation 0.9, standard deviation 5 %, and 1
    /// % log-normal.
    Autocorrelated,
    /// A neighbour comes and goes, stays for some eight runs, and costs 30 %; and 1 % log-normal.
    Bursts,
}

pub const EVERY_NOISE: [Noise; 5] =
    [Noise::LogNormal, Noise::Outliers, Noise::Drift, Noise::Autocorrelated, Noise::Bursts];

/// A machine: for each run it gives the log factor by which the run was slowed.
pub struct Machine {
    noise: Noise,
    random: Random,
    run: u32,
    level: f64,
    busy: bool,
}

impl Machine {
    pub fn new(noise: Noise, seed: u64) -> Machine {
        let mut random = Random::new(seed);
        // A machine that has been up for long: correlated noise starts anywhere in its range.
        let level = 0.05 * normal(&mut random);
        let busy = random.below(2) == 0;
        Machine { noise, random, run: 0, level, busy }
    }

    pub fn slows_by(&mut self) -> f64 {
        self.run += 1;
        let white = normal(&mut self.random);
        match self.noise {
            Noise::LogNormal => 0.03 * white,
            Noise::Outliers if self.random.below(10) == 0 => {
                0.03 * white + (1.0 + 0.1 * unit(&mut self.random).powf(-1.0 / 1.5)).ln()
            }
            Noise::Outliers => 0.03 * white,
            Noise::Drift => 0.005 * f64::from(self.run) + 0.01 * white,
            Noise::Autocorrelated => {
                self.level = 0.9 * self.level + 0.05 * (1.0f64 - 0.81).sqrt() * normal(&mut self.random);
                self.level + 0.01 * white
            }
            Noise::Bursts => {
                self.busy ^= self.random.below(8) == 0;
                0.01 * white + if self.busy { 0.3f64.ln_1p() } else { 0.0 }
            }
        }
    }
}

/// More than 0, at most 1.
fn unit(random: &mut Random) -> f64 {
    ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
}

/// Standard normal (Box and Muller).
fn normal(random: &mut Random) -> f64 {
    (-2.0 * unit(random).ln()).sqrt() * (std::f64::consts::TAU * unit(random)).cos()
}

/// Runs `plan` on a machine; the true CPU time of an arm is one second times `truth(arm)`.
pub fn simulate(plan: Plan, noise: Noise, seed: u64, truth: impl Fn(Arm) -> f64) -> Runs {
    let mut machine = Machine::new(noise, seed);
    let mut runs = Runs::new(plan);
    while let Some(order) = runs.next_order() {
        let samples: Vec<Sample> =
            order.iter().map(|&arm| sample(truth(arm) * machine.slows_by().exp())).collect();
        runs.record(&samples).expect("one sample for each arm of the order");
    }
    runs
}

/// A run of this many seconds of CPU.
pub fn sample(seconds: f64) -> Sample {
    let cpu_ns = (seconds * 1e9).round() as u64;
    let elapsed_ns = cpu_ns + 1_000_000;
    Sample { cpu_ns, elapsed_ns, peak_rss_bytes: 10 << 20, faults: 900, ended_well: true, output: Some(1) }
}

pub fn plan(arms: &[Arm], rounds: usize, seed: u64) -> Plan {
    Plan::new(arms, rounds, seed).expect("a good plan")
}
