//! The rules about locks on programs that wait as each of them describes, by structure: where it must fire, and where it
//! must say "no change".
//!
//! ```text
//! programs/locks/rules.c CASE ── run --json under LOCK(...) ─> advise --json ─> what the rule says
//! ```
//!
//! Not here: the rules' borders (unit tests of `host/advise`), `lock-order` (`lock_report`), wrong sets that are planted
//! (`rules`). That a rule goes down is for `lock-spin-does-not-pay` alone, whose condition our own waiting is made to
//! avoid: a unit test has it.

use std::process::Command;
use std::sync::Mutex;

use serde_json::{Value, json};
use underbar_advise::{Apply, Area, Kind, RULES};
use underbar_zoo::{code, compiled, left, scratch, skip, underbar};

/// What a rule must say of a case under this LOCK.
struct Says {
    rule: &'static str,
    mode: &'static str,
    case: &'static str,
    kind: Kind,
    option: Option<&'static str>,
    /// Words of the reason.
    reason: &'static str,
}

const SAYS: [Says; 13] = [
    says(
        "lock-holder-blocks",
        "COUNT",
        "blocks",
        Kind::Change,
        None,
        "hot (locks-rules) blocks in write while",
    ),
    says("lock-holder-blocks", "SIMPLE", "blocks", Kind::Change, None, "given up at hold"),
    says("lock-holder-blocks", "COUNT", "computes", Kind::NoChange, None, "% of the wait."),
    says("lock-holder-blocks", "SIMPLE", "computes", Kind::NoChange, None, "% of the wait."),
    says("lock-same-line", "COUNT", "near", Kind::Change, None, "are in the same 64 bytes"),
    says("lock-same-line", "SIMPLE", "near", Kind::Change, None, "line (locks-rules)"),
    says("lock-same-line", "COUNT", "far", Kind::NoChange, None, "are in lines of their own"),
    says("lock-starves", "COUNT", "again", Kind::Change, Some("LOCK(SIMPLE)"), "again and again"),
    says(
        "lock-starves",
        "COUNT",
        "turns",
        Kind::NoChange,
        None,
        "by the thread that did so the time before.",
    ),
    says("lock-spin-pays", "COUNT", "short", Kind::Change, Some("LOCK(SIMPLE)"), "looking again would pay"),
    says("lock-spin-pays", "SIMPLE", "short", Kind::NoChange, None, "spinning pays"),
    says(
        "lock-spin-does-not-pay",
        "COUNT",
        "adaptive",
        Kind::Change,
        Some("LOCK(SIMPLE)"),
        "the C library looks",
    ),
    says("lock-spin-does-not-pay", "SIMPLE", "adaptive", Kind::NoChange, None, "looking again took"),
];

const fn says(
    rule: &'static str,
    mode: &'static str,
    case: &'static str,
    kind: Kind,
    option: Option<&'static str>,
    reason: &'static str,
) -> Says {
    Says { rule, mode, case, kind, option, reason }
}

impl Says {
    /// What is wrong, if something is; false where the machine did not let the program's threads do what it is about.
    fn check(&self) -> Result<bool, String> {
        let Says { rule, mode, case, .. } = self;
        let folder = scratch(&format!("lock-rules-{rule}-{mode}-{case}"));
        let program = compiled("locks/rules", "locks-rules", &["-pthread"]);
        let mut run = Command::new(underbar());
        run.args(["run", "--json", "-o", "report", "--opts", &format!("LOCK({mode})"), "--"]);
        run.arg(program).arg(case).current_dir(&folder);
        let ran = left(run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
        let was_alone = ran.output == "alone\n";
        assert!(
            code(ran.status) == 0 && (was_alone || ran.output == "done\n"),
            "{rule}, {mode}, {case}: {ran:?}"
        );
        let advice = left(Command::new(underbar()).args(["advise", "--json", "report"]).current_dir(&folder));
        let advice: Value = serde_json::from_str(&advice.output).expect("JSON");
        let said =
            advice["suggestions"].as_array().expect("a list").iter().find(|said| said["rule"] == *rule);
        let Some(said) = said else {
            return if was_alone {
                Ok(false)
            } else {
                Err(format!("{rule} says nothing of {case}: {advice}"))
            };
        };
        let is_it = said["kind"] == json!(self.kind)
            && said["option"].as_str() == self.option
            && said["reason"].as_str().is_some_and(|reason| reason.contains(self.reason));
        if is_it || was_alone { Ok(is_it) } else { Err(format!("{rule}, {mode}, {case}: {said}")) }
    }
}

/// How long threads wait is seen with the processors to themselves, as far as these tests go.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// What is said under one rule. How long threads wait is chance where others use the machine: what is wrong once may be
/// tried again, and not often.
fn check(rule: &str) {
    let _turn = ONE_AT_A_TIME.lock();
    for says in SAYS.iter().filter(|says| says.rule == rule) {
        for tries in 1.. {
            match says.check() {
                Ok(true) => break,
                Ok(false) => {
                    skip(&format!("{rule}, {}: two threads were not let run at the same time", says.mode));
                    break;
                }
                Err(wrong) => assert!(tries < 5, "{wrong}"),
            }
            eprintln!("once more: {rule}, {}, {}", says.mode, says.case);
        }
    }
}

#[test]
fn a_holder_that_blocks_is_named() {
    check("lock-holder-blocks");
}

#[test]
fn two_locks_in_one_line_are_named() {
    check("lock-same-line");
}

#[test]
fn who_takes_a_lock_again_and_again_is_told_from_those_who_take_turns() {
    check("lock-starves");
}

#[test]
fn spinning_pays_where_a_lock_is_held_for_a_moment() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        skip("lock-spin-pays: threads that wait for a moment need two processors");
        return;
    }
    check("lock-spin-pays");
}

#[test]
fn spinning_does_not_pay_where_it_is_held_for_long() {
    check("lock-spin-does-not-pay");
}

fn tuned(name: &str, flags: &[&str], case: &str) -> (Value, bool) {
    let _turn = ONE_AT_A_TIME.lock();
    let folder = scratch(name);
    let program = compiled("locks/rules", "locks-rules", &["-pthread"]);
    let mut tune = Command::new(underbar());
    tune.args(["tune", "--json", "-q", "--runs", "8"]).args(flags).arg("--").arg(program).arg(case);
    let tune = tune.current_dir(&folder).env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS");
    let tuned = left(tune);
    assert_eq!(code(tuned.status), 0, "{tuned:?}");
    (serde_json::from_str(&tuned.output).expect("JSON"), folder.join("underbar.opts").exists())
}

#[test]
fn a_suggestion_about_locks_is_tried_in_runs_and_judged() {
    let (mut all, mut is_written) = tuned("lock-tuned", &[], "again");
    if all["tried"][0].is_null() {
        // Once in a while the threads do not wait as they should.
        (all, is_written) = tuned("lock-tuned", &[], "again");
    }
    let tried = &all["tried"][0];
    assert_eq!(tried["options"], "[locks-rules]\nLOCK(SIMPLE)", "{}", all["suggestions"]);
    let verdict = &tried["verdict"];
    assert_eq!(verdict["runs"]["rounds"].as_array().map(Vec::len), Some(8), "{verdict}");
    assert_eq!(verdict["tuned_plain"]["output"]["equal"]["runs"], 16, "{verdict}");
    let is_confirmed = all["confirmed"]["confirmation"] == "confirmed";
    assert_eq!((&all["kept"], is_written), (&is_confirmed.into(), is_confirmed), "only what was kept twice");
}

#[test]
fn a_way_of_waiting_that_changes_nothing_is_not_kept() {
    // Page faults do not differ by chance, as times do: how threads wait does not touch them.
    for options in ["LOCK(SIMPLE)", "LOCK(,64,SLEEP)"] {
        let (all, is_written) = tuned("lock-planted", &["--primary", "faults", "--try", options], "far");
        let planted = all["tried"].as_array().expect("a list").iter().find(|set| set["options"] == options);
        let outcome =
            &planted.unwrap_or_else(|| panic!("{options} was not tried: {all}"))["verdict"]["outcome"];
        assert!(
            outcome.as_str().is_some_and(|outcome| outcome.starts_with("not_better")),
            "{options}: {outcome}"
        );
        assert_eq!((&all["kept"], is_written), (&false.into(), false), "{options}");
    }
}

#[test]
fn every_rule_about_locks_has_a_program_for_each_thing_that_it_can_say() {
    for rule in RULES.iter().filter(|rule| {
        matches!(rule.apply, Apply::Accounts { area: Area::Lock, .. }) && rule.id != "lock-order"
    }) {
        for kind in [Kind::Change, Kind::NoChange] {
            let is_there = SAYS.iter().any(|says| says.rule == rule.id && says.kind == kind);
            assert!(is_there, "no program for which {} says {}", rule.id, kind.word());
        }
    }
}
