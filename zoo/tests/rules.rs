//! Every rule of suggestions on real programs: one for which it must fire, one for which it must say "no change",
//! one for which it must say "lower", and one with a planted wrong set, which the rerun must discard.
//!
//! ```text
//! run --json ─> advise --json ─> the rule's answer           SAYS
//! tune --try WRONG ─> nothing kept, nothing written        PLANTED
//! ```
//!
//! The programs are the hidden sub-commands of the binary. Figures that decide are counts, or differ by far.
//! Not here: the rules' limits (unit tests of `host/advise`), the verdict's rules (`host/verdict`). The rule
//! `coverage` sets nothing, so it has no lower value and no planted set; its figures are checked in `figures`.
//! Rules about locks have programs of their own (`lock_rules`).

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

use underbar_advise::{Apply, Area, Kind, RULES};
use underbar_zoo::{code, left, scratch, skip, underbar};

/// The required answer of a rule for a program under these options.
struct Says {
    rule: &'static str,
    options: &'static str,
    program: &'static [&'static str],
    /// The clock of the report is set to this many seconds: some rules need a long run, and no test waits for one.
    seconds: Option<u64>,
    kind: Kind,
    /// The beginning of the suggested option.
    option: Option<&'static str>,
}

const SAYS: [Says; 19] = [
    says("heap-size", "HEAP(4K,4K)", &["fills"], Kind::Raise, Some("HEAP(")),
    says("heap-size", "", &["fills"], Kind::NoChange, None),
    says("heap-size", "HEAP(1M,1M)", &["simple"], Kind::Lower, Some("HEAP(4K,4K)")),
    says("heap-keep-free", "HEAP(32K,32K,,FREE)", &["keepfree"], Kind::Raise, Some("HEAP(,,,KEEP)")),
    says("heap-keep-free", "HEAP(1M,1M,,FREE)", &["getfree"], Kind::NoChange, None),
    says("heap-keep-free", "HEAP(64M,64M,,KEEP)", &["getfree"], Kind::NoChange, None),
    // Its peak storage is freed, and stays: as if it had stayed for an hour.
    Says {
        seconds: Some(3_600),
        ..says("heap-keep-free", "HEAP(64M,64M,,KEEP)", &["getfree"], Kind::Lower, Some("HEAP(,,,FREE)"))
    },
    says("heap-pools", POOLS_OF_1_PERCENT, &["fills"], Kind::Raise, Some("HEAPPOOLS(ON,64,1,256,")),
    says("heap-pools", "HEAPPOOLS(ON)", &["simple"], Kind::NoChange, None),
    says("heap-pools", POOLS_OF_90_PERCENT, &["pooled"], Kind::Lower, Some("HEAPPOOLS(ON,64,")),
    says("hugepages", "HUGEPAGES(OFF)", &["large", "--write", "all"], Kind::Change, Some("HUGEPAGES(ON)")),
    says("hugepages", "", &["large"], Kind::NoChange, None),
    says("hugepages", "HUGEPAGES(ON)", &["simple"], Kind::Lower, Some("HUGEPAGES(AUTO)")),
    says("stack", "STACK(128K,128K)", &["deep"], Kind::Raise, Some("STACK(7")),
    says("stack", "STACK(1M,128K)", &["deep"], Kind::NoChange, None),
    says("stack", "STACK(1M,128K)", &["simple"], Kind::Lower, Some("STACK(")),
    says("threadstack", "THREADSTACK(ON,512K)", &["threads-deep"], Kind::Raise, Some("THREADSTACK(ON,1")),
    says("threadstack", "THREADSTACK(ON,256K)", &["threads"], Kind::NoChange, None),
    says("threadstack", "THREADSTACK(ON,8M)", &["threads"], Kind::Lower, Some("THREADSTACK(ON,256K)")),
];

const POOLS_OF_1_PERCENT: &str = "HEAP(4M,1M),HEAPPOOLS(ON,64,1,256,1,1024,1,0)";
const POOLS_OF_90_PERCENT: &str = "HEAP(4M,1M),HEAPPOOLS(ON,64,90,256,90,1024,90,0)";

const fn says(
    rule: &'static str,
    options: &'static str,
    program: &'static [&'static str],
    kind: Kind,
    option: Option<&'static str>,
) -> Says {
    Says { rule, options, program, seconds: None, kind, option }
}

/// A set that is wrong for the program, the measure that shows it, and the result's message.
struct Planted {
    rule: &'static str,
    options: &'static str,
    program: &'static [&'static str],
    measure: &'static str,
    verdict: &'static str,
}

const NO_GAIN: &str = "tried, no gain";
const PLANTED: [Planted; 6] = [
    // A kernel call for each few cells.
    planted("heap-size", "HEAP(4K,4K)", &["fills"], "cpu", NO_GAIN),
    // Every emptied increment comes back page by page.
    planted("heap-keep-free", "HEAP(32K,32K,,FREE)", &["keepfree"], "faults", NO_GAIN),
    // No cell holds the requests: each is an element.
    planted("heap-pools", "HEAPPOOLS(ON,8,1,0)", &["fills"], "cpu", NO_GAIN),
    // 2M for each byte that is written.
    planted("hugepages", "HUGEPAGES(ON)", &["large"], "rss", NO_GAIN),
    // The kernel makes this stack: no size improves it.
    planted("stack", "STACK(1M,1M)", &["deep"], "faults", NO_GAIN),
    // The threads overflow their remaining stack, and the program dies.
    planted("threadstack", "THREADSTACK(ON,64K)", &["threads-deep"], "faults", "tried, changes the program"),
];

const fn planted(
    rule: &'static str,
    options: &'static str,
    program: &'static [&'static str],
    measure: &'static str,
    verdict: &'static str,
) -> Planted {
    Planted { rule, options, program, measure, verdict }
}

fn underbar_in(folder: &Path, arguments: &[&str], program: &[&str]) -> underbar_zoo::Left {
    let mut command = Command::new(underbar());
    command.args(arguments).current_dir(folder).env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS");
    if !program.is_empty() {
        command.arg("--").arg(underbar()).arg("__program").args(program);
    }
    left(&mut command)
}

/// The kernel gives huge pages unasked: then no program can show that it lacks them.
fn huge_pages_come_unasked() -> bool {
    fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled")
        .is_ok_and(|text| text.contains("[always]"))
}

impl Says {
    fn check(&self, folder: &Path) {
        let Says { rule, options, program, .. } = self;
        let run = underbar_in(folder, &["run", "--json", "-o", "report", "--opts", options], program);
        assert_eq!(code(run.status), 0, "{rule}: {run:?}");
        let file = folder.join("report");
        if let Some(seconds) = self.seconds {
            let text = fs::read_to_string(&file).expect("a report");
            let mut report: Value = serde_json::from_str(&text).expect("JSON");
            let end = json!(seconds * 1_000_000_000);
            report["steps"]["elapsed_ns"] = end.clone();
            report["processes"][0]["ended_ns"] = end;
            fs::write(&file, report.to_string()).expect("written");
        }
        let advice = underbar_in(folder, &["advise", "--json", "report"], &[]);
        let advice: Value = serde_json::from_str(&advice.output).expect("JSON");
        let all = advice["suggestions"].as_array().expect("a list");
        let said = all.iter().find(|suggestion| suggestion["rule"] == *rule);
        let said = said.unwrap_or_else(|| panic!("{rule} says nothing of {program:?}: {advice}"));
        assert_eq!(said["kind"], json!(self.kind), "{rule}, {options}, {program:?}: {said}");
        match (self.option, said["option"].as_str()) {
            (Some(begins), Some(option)) => assert!(option.starts_with(begins), "{rule}: {said}"),
            (expected, option) => assert_eq!(expected, option, "{rule}: {said}"),
        }
        // Smaller stacks are never among the options to use, unless requested.
        if self.kind == Kind::Lower && rule.ends_with("stack") {
            assert_eq!(said["risky"], true, "{rule}: {said}");
            let tuned = underbar_in(folder, &["advise", "report"], &[]);
            assert!(!tuned.output.contains("Use: "), "{}", tuned.output);
            let why = if *rule == "stack" { "without effect on Linux" } else { "could harm the program" };
            assert!(tuned.output.contains(&format!("Left out, {why}: 1")), "{}", tuned.output);
        }
    }
}

/// The answers of one rule, one after the other.
fn check(rule: &str) {
    let folder = scratch(&format!("rules-{rule}"));
    for says in SAYS.iter().filter(|says| says.rule == rule) {
        if says.kind == Kind::Change && huge_pages_come_unasked() {
            skip("the rule hugepages fires: this kernel gives huge pages to all");
            continue;
        }
        says.check(&folder);
    }
}

#[test]
fn sizes_of_the_heap_follow_its_use() {
    check("heap-size");
}

#[test]
fn keep_and_free_follow_what_comes_and_goes() {
    check("heap-keep-free");
}

/// Between small blocks, so that the initial segment has room for them, but in pieces.
#[test]
fn large_requests_get_an_increment_that_holds_them() {
    let folder = scratch("rules-large-requests");
    let program = underbar_zoo::heap::program("large_requests");
    let with = |arguments: &[&str]| {
        let mut command = Command::new(underbar());
        command.args(arguments).current_dir(&folder).env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS");
        let result = left(&mut command);
        assert_eq!(code(result.status), 0, "{result:?}");
        result.output
    };
    let said = |options: &str| {
        with(&["run", "--json", "-o", "report", "--opts", options, "--", &program]);
        let advice: Value = serde_json::from_str(&with(&["advise", "--json", "report"])).expect("JSON");
        let all = advice["suggestions"].as_array().expect("a list");
        all.iter().find(|suggestion| suggestion["rule"] == "large-requests").cloned()
    };
    let small = "HEAP(4M,64K,,FREE)";
    let raise = said(small).expect("it fires");
    assert_eq!((&raise["kind"], &raise["option"]), (&json!("raise"), &json!("HEAP(,1152K)")), "{raise}");
    let reason = raise["reason"].as_str().expect("words");
    assert!(reason.contains("requests were larger than 64 KiB"), "{reason}");
    let tuned =
        ["tune", "--json", "-q", "--runs", "8", "--primary", "faults", "--opts", small, "--", &program];
    let tuned: Value = serde_json::from_str(&with(&tuned)).expect("JSON");
    assert!(tuned["tried"].to_string().contains("HEAP(,1152K"), "{}", tuned["tried"]);
    assert_eq!(said("HEAP(4M,1152K,,FREE)"), None, "what was followed is no more advised");
}

#[test]
fn shares_of_pools_follow_their_use() {
    check("heap-pools");
}

#[test]
fn huge_pages_follow_faults() {
    check("hugepages");
}

#[test]
fn stack_follows_the_first_thread() {
    check("stack");
}

#[test]
fn threadstack_follows_the_other_threads() {
    check("threadstack");
}

#[test]
fn planted_wrong_sets_are_discarded_on_the_rerun() {
    for Planted { rule, options, program, measure, verdict } in &PLANTED {
        let folder = scratch(&format!("planted-{rule}"));
        let tune = ["tune", "-q", "--runs", "8", "--require-gain", "--primary", measure, "--try", options];
        let result = underbar_in(&folder, &tune, program);
        assert_eq!(code(result.status), 1, "{rule}: {result:?}");
        let became = format!("\n{verdict}: {options}\n");
        let written = "\nwritten    nothing: no set was kept\n";
        assert!(result.output.contains(&became), "{rule}: {}", result.output);
        assert!(result.output.contains(written), "{rule}: {}", result.output);
        assert!(!folder.join("underbar.opts").exists(), "{rule}");
    }
}

#[test]
fn tune_lowers_a_stack_on_request_only() {
    let folder = scratch("rules-risky");
    for risky in [false, true] {
        let opts = "THREADSTACK(ON,8M)";
        let mut tune = vec!["tune", "--json", "-q", "--runs", "8", "--primary", "faults", "--opts", opts];
        tune.extend(risky.then_some("--risky"));
        let result = underbar_in(&folder, &tune, &["threads"]);
        assert_eq!(code(result.status), 0, "{result:?}");
        let all: Value = serde_json::from_str(&result.output).expect("JSON");
        let said = all["suggestions"].as_array().expect("a list").iter();
        assert_eq!(said.filter(|said| said["option"] == "THREADSTACK(ON,256K)").count(), 1, "{all}");
        let tried = all["tried"].to_string().contains("THREADSTACK(ON,256K)");
        assert_eq!(tried, risky, "{}", all["tried"]);
    }
}

#[test]
fn every_rule_has_a_program_for_each_thing_that_it_can_say() {
    // Coverage and enclaves set no option; `enclaves.rs` has programs that LINK.
    let no_option = ["coverage", "enclaves"];
    for rule in RULES.iter().filter(|rule| {
        matches!(rule.apply, Apply::Accounts { area: Area::Heap | Area::Stack, .. })
            && !no_option.contains(&rule.id)
    }) {
        let says =
            |kinds: &[Kind]| SAYS.iter().any(|says| says.rule == rule.id && kinds.contains(&says.kind));
        assert!(says(&[Kind::Raise, Kind::Change]), "no program for which {} fires", rule.id);
        assert!(says(&[Kind::NoChange]), "no program for which {} says no change", rule.id);
        assert!(says(&[Kind::Lower]), "no program for which {} says lower", rule.id);
        assert!(PLANTED.iter().any(|planted| planted.rule == rule.id), "nothing planted for {}", rule.id);
    }
}
