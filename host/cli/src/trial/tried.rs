//! What came of a trial in a running program: as text, as JSON, and as options for the next run.
//!
//! An option can name a mutex of the program's own file, by its place there; what lies elsewhere has no name that the next
//! run would know, so the option for all mutexes stands in, where there is one, and that is said.
//!
//! Not here: the decision (`verdict::epochs`), and the trial (`live`).

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use underbar_ledger::locks::POLICY_SLEEP;
use underbar_report::units::{counted, nanoseconds};
use underbar_verdict::epochs::{Figure, Trial};

use super::live::Live;
use super::lock::{Policy, Wanted};
use super::once::Fault;
use super::say;

/// What came out.
pub struct Tried {
    /// The verdict.
    pub trial: Trial,
    wanted: Wanted,
    policies: Vec<Policy>,
    epoch: Duration,
    runs: usize,
    cut: usize,
    refused: Option<String>,
    fault: Option<Fault>,
    output: Output,
}

/// Whether the program wrote what it writes without the trial.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    /// In so many runs.
    Equal(usize),
    /// In so many runs not.
    Differs(usize),
    /// It differs anyway, or is that of more than one load.
    NotCompared,
}

/// What to write down for the next run.
pub struct ForNextRun {
    /// The options, in the section of the program.
    pub file: String,
    /// The option alone.
    pub option: String,
    /// What the reader must know.
    pub note: &'static str,
}

impl Tried {
    /// The verdict on what was measured. `output`: what the program writes without the trial, where that is always the same.
    pub fn of(live: Live<'_>, primary: Figure, output: Option<u64>) -> Tried {
        let Live { wanted, policies, epochs, epoch, runs, cut, refused, fault, outputs, .. } = live;
        let output = match output {
            Some(expected) => match outputs.iter().filter(|output| **output != Some(expected)).count() {
                0 => Output::Equal(outputs.len()),
                differ => Output::Differs(differ),
            },
            None => Output::NotCompared,
        };
        let trial = Trial::of(epochs, primary);
        Tried { trial, wanted, policies, epoch, runs, cut, refused, fault, output }
    }

    /// The policy that was kept. None where the program did not fare as it does without the trial.
    pub fn kept(&self) -> Option<Policy> {
        let is_well = self.fault.is_none() && !matches!(self.output, Output::Differs(_));
        let best = self.trial.best.filter(|_| is_well)?;
        self.policies.iter().copied().find(|policy| policy.arm == best)
    }

    /// What the lock is called.
    pub fn name(&self) -> String {
        clean(&self.wanted.name)
    }

    /// As text.
    pub fn text(&self) -> String {
        let epochs = &self.trial.epochs;
        let names: Vec<&str> = self.policies.iter().map(|policy| policy.arm.name()).collect();
        let mut text = format!(
            "{:<11}{}: {} of {}, epochs of {}, in {}\n",
            "tried live",
            clean(&self.wanted.name),
            self.rounds(),
            names.join(", "),
            say::long(self.epoch),
            counted(self.runs as u64, "run", "runs"),
        );
        if let Some(reason) = self.why_nothing() {
            return text + &format!("{:<11}{reason}\n", "");
        }
        text += &format!(
            "{:<11}{:>11}{:>11}{:>11}{:>14}\n",
            "", "time each", "CPU each", "wait each", "p99 wait"
        );
        for policy in &self.policies {
            let cell = |figure| {
                let typical = epochs.typical(policy.arm, figure);
                typical.map_or("-".to_owned(), |picoseconds| nanoseconds(picoseconds / 1_000))
            };
            let in_force = if policy.arm == self.trial.reference { ", as now" } else { "" };
            text += &format!(
                "{:<11}{:>11}{:>11}{:>11}{:>14}   {}{in_force}\n",
                policy.arm.name(),
                cell(Figure::Elapsed),
                cell(Figure::Cpu),
                cell(Figure::Waited),
                cell(Figure::P99),
                policy.words
            );
        }
        for against in &self.trial.against {
            text += &format!("{}\n", self.trial.line(against));
        }
        text +=
            "each: of the program, for one acquisition of this lock, waited for or not; p99 wait: at most\n";
        text += &match self.output {
            Output::Equal(runs) => format!("output equal in {}", counted(runs as u64, "run", "runs")),
            Output::Differs(runs) => {
                format!("not kept: the output differs in {}", counted(runs as u64, "run", "runs"))
            }
            Output::NotCompared => "output not compared".to_owned(),
        };
        if self.cut > 0 {
            let cut = counted(self.cut as u64, "round", "rounds");
            text += &format!("; {cut} cut short by the program's end, not counted");
        }
        text.push('\n');
        if let Some(fault) = self.fault {
            text += &format!("not kept: the program {fault}\n");
        }
        text
    }

    /// `15 rounds`, `9 of 15 rounds`.
    fn rounds(&self) -> String {
        let (made, planned) = (self.trial.epochs.rounds(), self.trial.epochs.plan().orders().len());
        let of = if made < planned { format!("{made} of ") } else { String::new() };
        format!("{of}{}", counted(planned as u64, "round", "rounds"))
    }

    fn why_nothing(&self) -> Option<String> {
        if let Some(reason) = &self.refused {
            return Some(format!("nothing could be changed: {reason}"));
        }
        if self.trial.epochs.rounds() > 0 {
            return None;
        }
        Some(match self.fault {
            Some(fault) => format!("the program {fault}"),
            None if self.cut > 0 => format!(
                "the program ends before a round of {} is over: --epoch may be shorter, or its input longer",
                counted(self.policies.len() as u64, "epoch", "epochs")
            ),
            None => "nobody waited for it in this run".to_owned(),
        })
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let policies: Vec<Value> =
            self.policies.iter().map(|policy| json!({"arm": policy.arm, "words": policy.words})).collect();
        let (output, differ) = match self.output {
            Output::Equal(_) => ("equal", 0),
            Output::Differs(runs) => ("differs", runs),
            Output::NotCompared => ("not_compared", 0),
        };
        json!({
            "lock": self.wanted.name,
            "program": self.wanted.program,
            "policies": policies,
            "epoch_ns": u64::try_from(self.epoch.as_nanos()).unwrap_or(u64::MAX),
            "runs": self.runs,
            "rounds_cut_short": self.cut,
            "reason": self.why_nothing(),
            "output": output,
            "output_differs_in": differ,
            "fault": self.fault.map(|fault| fault.to_string()),
            "trial": self.trial,
            "kept": self.kept().map(|policy| policy.arm),
        })
    }

    /// The options for what was kept; None where no option says it.
    pub fn for_next_run(&self) -> Option<ForNextRun> {
        let kept = self.kept()?;
        let program = underbar_report::model::file_name(&self.wanted.program);
        let (section, option, note) = if self.wanted.is_in_the_program() {
            // A place in a file is that of one build.
            let id = underbar_launch::build_id(Path::new(&self.wanted.program));
            let section =
                if id.is_empty() { program.to_owned() } else { format!("build-id:{}", hexadecimal(&id)) };
            let note = "for this lock and this build of the program";
            (section, format!("LOCK(,{},{})", self.wanted.place.offset, kept.arm), note)
        } else if kept.number == POLICY_SLEEP {
            return None;
        } else {
            let note = "for all mutexes of the program, since no option can name one of a library: judge that with \
                        underbar tune --try";
            (program.to_owned(), format!("LOCK({})", kept.arm), note)
        };
        if section.is_empty() || section.contains(|c: char| c.is_control() || "[]#".contains(c)) {
            return None;
        }
        let line = self.trial.against.iter().find(|against| against.candidate == kept.arm);
        let verdict = line.map_or(String::new(), |against| self.trial.line(against));
        let file = format!(
            "\n[{section}]\n# {} of {}: {}\n#   {verdict}\n#   {note}\n{option}\n",
            clean(&self.wanted.name),
            clean(program),
            kept.words
        );
        Some(ForNextRun { file, option, note })
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}
