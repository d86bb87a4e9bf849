//! The result of a trial in a running program: as text, as JSON, and as options for the next run.
//!
//! An option can name a mutex in the program's own file by its place there. For other mutexes the next run knows no name. So the
//! option for all mutexes is used instead, if there is one, and a note says so.
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
use super::single_run::Fault;

/// The result of a trial.
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

/// Does the program have the same output as without the trial?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    /// Yes, in this many runs.
    Equal(usize),
    /// It differs in this many runs.
    Differs(usize),
    /// It differs without the trial, too, or is the output of more than one load.
    NotCompared,
}

/// The options to write for the next run.
pub struct ForNextRun {
    /// The options, in the section of the program.
    pub file: String,
    /// The option alone.
    pub option: String,
    /// A note for the reader.
    pub note: &'static str,
}

impl Tried {
    /// The verdict on the measurements. `output`: the program's output without the trial, if that is always the same.
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

    /// The policy that was kept. None if no policy is better, if the program failed, or if its output changed.
    pub fn kept(&self) -> Option<Policy> {
        let is_well = self.fault.is_none() && !matches!(self.output, Output::Differs(_));
        let best = self.trial.best.filter(|_| is_well)?;
        self.policies.iter().copied().find(|policy| policy.arm == best)
    }

    /// The name of the lock.
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
            nanoseconds(u64::try_from(self.epoch.as_nanos()).unwrap_or(u64::MAX)),
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
            None => "no thread waited for it in this run".to_owned(),
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

    /// The options for the policy that was kept; None if no option can express it.
    pub fn for_next_run(&self) -> Option<ForNextRun> {
        let kept = self.kept()?;
        let program = underbar_report::model::file_name(&self.wanted.program);
        let (section, option, note) = if self.wanted.is_in_the_program() {
            // A place in a file is valid for one build only.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::progress::Progress;
    use underbar_options::{Locks, OneLock, ProgramName, Settings, WhereSet};
    use underbar_report::lock::sample;
    use underbar_verdict::epochs::Epoch;

    /// A trial in which an acquisition under this policy takes four fifths of the processor time.
    fn tried(better: &str, change: impl FnOnce(&mut Live<'_>)) -> Tried {
        let mut report = sample::report();
        report.name_locks(&mut sample::Symbols);
        let wanted = Wanted::of(&report, None).expect("a mutex");
        let mut progress = Progress::new(true);
        let second = Duration::from_secs(1);
        let mut live = Live::new(wanted, 15, 9, None, second, &mut progress).expect("a trial");
        while let Some(order) = live.epochs.next_order().map(<[_]>::to_vec) {
            let noise = live.epochs.rounds() as u64 % 5;
            let round: Vec<Epoch> = order
                .iter()
                .map(|arm| {
                    let each = if arm.name() == better { 800 } else { 1_000 } + noise;
                    let (work, waited_ns) = (1_000, 200_000);
                    Epoch { work, elapsed_ns: 500_000, cpu_ns: each * work, waited_ns, p99_ns: 4_095 }
                })
                .collect();
            live.epochs.record(&round).expect("a round");
        }
        (live.runs, live.cut) = (2, 1);
        live.outputs = vec![Some(7); 2];
        change(&mut live);
        Tried::of(live, Figure::Cpu, Some(7))
    }

    fn settings(file: &str, program: &str) -> Settings {
        let mut settings = Settings::default();
        let whose = ProgramName { name: program.as_bytes(), started_as: b"", build_id: &[] };
        settings
            .apply(file.as_bytes(), &whose, WhereSet::OptionsFile, &mut |wrong| panic!("{wrong:?}: {file}"));
        settings
    }

    #[test]
    fn what_was_kept_is_an_option_that_the_next_run_reads() {
        let kept = tried("SLEEP", |_| ());
        assert_eq!(
            kept.text(),
            "\
tried live audit_lock (driver): 15 rounds of SIMPLE, COUNT, SLEEP, epochs of 55.6 ms, in 2 runs
             time each   CPU each  wait each      p99 wait
SIMPLE          500 ns    1.00 us     200 ns       4.09 us   few look for a moment, the rest sleep, as now
COUNT           500 ns    1.00 us     200 ns       4.09 us   the C library waits
SLEEP           500 ns     802 ns     200 ns       4.09 us   all sleep at once
COUNT: CPU 1.000 [1.000, 1.000] of SIMPLE, time 1.000 [1.000, 1.000], 15 rounds: tried, without gain
SLEEP: CPU 0.800 [0.800, 0.801] of SIMPLE, time 1.000 [1.000, 1.000], 15 rounds: kept
each: of the program, for one acquisition of this lock, waited for or not; p99 wait: at most
output equal in 2 runs; 1 round cut short by the program's end, not counted
"
        );
        let next = kept.for_next_run().expect("an option");
        assert_eq!(next.option, "LOCK(,16400,SLEEP)");
        assert_eq!(settings(&next.file, "driver").one_lock(), Some((0x4010, OneLock::Sleep)));
        assert_eq!(settings(&next.file, "other").one_lock(), None, "{}", next.file);
        assert_eq!((kept.json()["kept"].as_str(), kept.json()["runs"].as_u64()), (Some("SLEEP"), Some(2)));
    }

    #[test]
    fn a_lock_of_a_library_has_the_option_of_all_or_none() {
        let of_library = |better| {
            let kept = tried(better, |live| live.wanted.place.file = Some("/lib/libaudit.so.1".to_owned()));
            assert_eq!(kept.kept().map(|policy| policy.arm.name()), Some(better));
            kept.for_next_run()
        };
        let next = of_library("COUNT").expect("an option");
        assert_eq!(settings(&next.file, "driver").locks(), Locks::Count);
        assert!(next.option == "LOCK(COUNT)" && next.note.starts_with("for all mutexes"), "{}", next.option);
        assert!(of_library("SLEEP").is_none(), "no option says it");
    }

    #[test]
    fn nothing_is_kept_where_the_program_did_not_fare_as_ever() {
        let differs = tried("COUNT", |live| live.outputs[1] = Some(8));
        assert!(differs.kept().is_none() && differs.for_next_run().is_none());
        assert!(differs.text().contains("not kept: the output differs in 1 run"), "{}", differs.text());
        let fails = tried("COUNT", |live| live.fault = Some(Fault::Killed(11)));
        assert!(
            fails.kept().is_none()
                && fails.text().ends_with("not kept: the program was killed by signal 11\n")
        );
    }
}
