//! `underbar tune --live`: ways to wait for one lock are tried while the program runs. The program must behave as
//! without it, whenever it ends; and the next run must obey the written options.
//!
//! The better policy is random on a machine like this, and is not tested: the verdict is, in `host/verdict`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use underbar_zoo::{Left, code, compiled, json, left, scratch, text, underbar};

fn program() -> PathBuf {
    compiled("locks/rules", "locks-rules", &["-pthread"])
}

fn underbar_in(folder: &Path, flags: &[&str], program: &[&str]) -> Left {
    let mut command = Command::new(underbar());
    command.args(flags).arg("--").args(program);
    left(command.current_dir(folder).env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"))
}

/// Epochs of all rounds, of a result.
fn epochs(live: &Value) -> Vec<&Value> {
    let rounds = live["trial"]["epochs"]["rounds"].as_array().expect("rounds");
    rounds.iter().flat_map(|round| round.as_array().expect("a round")).collect()
}

#[test]
fn policies_are_tried_while_the_program_runs_and_it_fares_as_ever() {
    let folder = scratch("live-json");
    let program = program();
    let flags = ["tune", "--live", "--json", "-q", "--epochs", "7", "--epoch", "20ms"];
    let result = underbar_in(&folder, &flags, &[text(&program), "steady", "4000"]);
    assert_eq!(code(result.status), 0, "{result:?}");
    let all = json(&result);
    let live = &all["live"];
    assert_eq!(live["lock"], "hot (locks-rules)", "{live}");
    let arms: Vec<&Value> =
        live["policies"].as_array().expect("policies").iter().map(|p| &p["arm"]).collect();
    assert_eq!(arms, ["COUNT", "SIMPLE", "SLEEP"]);
    assert_eq!((&live["output"], &live["fault"]), (&"equal".into(), &Value::Null), "{live}");
    let epochs = epochs(live);
    assert_eq!(epochs.len(), 3 * 7, "each round is whole, in one run or another");
    for epoch in epochs {
        let figure = |name: &str| epoch[name].as_u64().expect("a figure");
        assert!(figure("elapsed_ns") >= 20_000_000, "{epoch}");
        // Acquisitions are counted: there were no more than the program makes.
        assert!(figure("work") <= 12_000, "{epoch}");
    }
    let work: u64 = self::epochs(live).iter().filter_map(|epoch| epoch["work"].as_u64()).sum();
    assert!(work > 0, "acquisitions were counted: {live}");
    let runs = live["runs"].as_u64().expect("runs");
    assert!(work <= runs * 12_000, "{work} in {runs} runs");
    for against in live["trial"]["against"].as_array().expect("two") {
        assert!(against["outcome"].is_string() || against["outcome"].is_object(), "{against}");
    }
    // Only a kept option is written.
    let kept = live["kept"].is_string();
    assert_eq!(all["kept"], kept);
    assert_eq!(folder.join("underbar.opts").exists(), kept);
}

#[test]
fn a_program_that_ends_in_the_middle_of_a_round_is_run_again() {
    let folder = scratch("live-cut");
    let program = program();
    // 40 rounds of three epochs of 20 ms do not fit into one run, of a second or less.
    let flags = ["tune", "--live", "--epochs", "40", "--epoch", "20ms"];
    let result = underbar_in(&folder, &flags, &[text(&program), "steady", "1200"]);
    assert_eq!(code(result.status), 0, "{result:?}");
    for part in ["\ntried live hot (locks-rules): ", "COUNT ", "SIMPLE ", "SLEEP ", "output equal in "] {
        assert!(result.output.contains(part), "{part}: {}", result.output);
    }
    assert!(result.output.contains("cut short by the program's end, not counted"), "{}", result.output);
    assert!(!result.output.contains("not kept"), "{}", result.output);
}

#[test]
fn what_cannot_be_tried_is_said() {
    let folder = scratch("live-nothing");
    let program = program();
    let none = underbar_in(&folder, &["tune", "--live"], &["true"]);
    assert_eq!(code(none.status), 2, "{none:?}");
    assert!(none.error.contains("no thread waited for a mutex that underbar sees"), "{}", none.error);
    let flags = ["tune", "--live", "--lock", "cold"];
    let other = underbar_in(&folder, &flags, &[text(&program), "far"]);
    assert_eq!(code(other.status), 2, "{other:?}");
    assert!(other.error.contains("no thread waited for cold, but for "), "{}", other.error);
    assert!(other.error.contains("apart (locks-rules)"), "{}", other.error);
    // A run that ends before a round does.
    let long = underbar_in(
        &folder,
        &["tune", "--live", "--epochs", "6", "--epoch", "10s", "--require-gain"],
        &[text(&program), "steady", "200"],
    );
    assert_eq!(code(long.status), 1, "{long:?}");
    let warning = "underbar: warning: --epochs: so few rounds are not enough for a verdict, which needs 7\n";
    assert!(long.error.contains(warning), "{}", long.error);
    assert!(long.output.contains("the program ends before a round of 3 epochs is over"), "{}", long.output);
    assert!(long.output.ends_with("kept       unchanged for hot (locks-rules)\n"), "{}", long.output);
    for wrong in
        [&["tune", "--lock", "hot"][..], &["tune", "--epochs", "3"], &["tune", "--live", "--runs", "8"]]
    {
        assert_eq!(code(underbar_in(&folder, wrong, &["true"]).status), 2, "{wrong:?}");
    }
}

#[test]
fn an_option_for_one_lock_is_obeyed_for_that_one_alone() {
    let folder = scratch("live-option");
    let program = program();
    let locks = |opts: &str| {
        let flags = ["run", "--json", "-o", "report", "--opts", opts];
        let ran = underbar_in(&folder, &flags, &[text(&program), "far"]);
        assert_eq!((code(ran.status), ran.output.as_str()), (0, "done\n"), "{ran:?}");
        let report = fs::read(folder.join("report")).expect("a report");
        let report: Value = serde_json::from_slice(&report).expect("JSON");
        let locks = report["processes"][0]["locks"]["locks"].as_array().expect("locks").clone();
        let find = |name: &str| {
            let is_it = |lock: &&Value| lock["place"]["symbol"] == name;
            locks.iter().find(is_it).unwrap_or_else(|| panic!("no {name}: {locks:?}")).clone()
        };
        (find("line"), find("apart"))
    };
    let (_, apart) = locks("LOCK(COUNT)");
    assert_eq!((&apart["policy"], apart["parked"].is_null()), (&0.into(), true));
    let place = apart["place"]["offset"].as_u64().expect("a place");
    for (how, policy) in [("SIMPLE", 2), ("SLEEP", 3)] {
        let (line, apart) = locks(&format!("LOCK(COUNT,{place},{how})"));
        assert_eq!((&line["policy"], line["parked"].is_null()), (&0.into(), true), "{line}");
        assert_eq!(apart["policy"], policy, "{apart}");
        assert!(apart["parked"].as_u64() > Some(0), "we wait: {apart}");
        if how == "SLEEP" {
            assert_eq!(apart["spin_ns"], 0, "without a look: {apart}");
        }
    }
    // By the call that first waited for it.
    let site = apart["first_site"]["offset"].as_u64().expect("a place");
    let (line, apart) = locks(&format!("LOCK(COUNT,{site},SLEEP)"));
    assert_eq!(
        (&line["policy"], &apart["policy"]),
        (&3.into(), &3.into()),
        "both were first waited for there"
    );
}
