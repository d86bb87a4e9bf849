//! `underbar tune` and `underbar compare`: the tried sets, the kept ones, and the messages about both. Their runs of a program are in
//! `trials`.
//!
//! Programs are chosen so that the deciding figures differ by far, or are no times at all; no test waits for
//! time or depends on the speed of the machine.

use super::trials::{has_a_verdict, underbar_in};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use underbar_zoo::{code, compiled, json, program, scratch, text};

fn storage() -> PathBuf {
    program("storage")
}

#[test]
fn a_planted_wrong_set_is_discarded_on_the_rerun() {
    let folder = scratch("tune-wrong");
    let storage = storage();
    let result = underbar_in(
        &folder,
        &[
            "tune",
            "--runs",
            "8",
            "--try",
            "HEAP(4K,4K,,FREE)",
            "--require-gain",
            "--",
            text(&storage),
            "10",
            "500",
        ],
    );
    assert_eq!(code(result.status), 1, "{result:?}");
    assert!(result.output.contains("of plain, 8 pairs: worse"), "{}", result.output);
    assert!(
        result.output.contains("\ntried, no gain: HEAP(4K,4K,,FREE)\nwritten    nothing: no set was kept\n"),
        "{}",
        result.output
    );
    assert!(!folder.join("underbar.opts").exists());
}

#[test]
fn a_gain_is_found_confirmed_and_written() {
    let folder = scratch("tune-gain");
    let storage = storage();
    let begin = ["tune", "--opts", "HEAP(32K,32K,,KEEP)", "--runs", "8", "--primary", "rss"];
    let page = ["--every", "10ms", "--html", "page.html"];
    let tune = [&begin[..], &["--try", "HEAP(32K,32K,,FREE)", "--require-gain"], &page].concat();
    let program = ["--", text(&storage), "4", "1000"];
    let result = underbar_in(&folder, &[&tune[..], &program[..]].concat());
    assert_eq!(code(result.status), 0, "{result:?}");
    assert!(
        result.error.starts_with(
            "underbar: at most 109 runs: 2 or 3 to measure, 3 x (3 + 3 x 8) to compare, 3 x 8 to confirm, 1 to look at\n"
        ),
        "{}",
        result.error
    );
    assert!(result.output.contains("\nconfirmed on fresh runs: tuned: peak RSS 0."), "{}", result.output);
    assert!(
        result.output.contains("\nkept       HEAP(32K,32K,,FREE)\nwritten    underbar.opts\n"),
        "{}",
        result.output
    );
    let file = fs::read_to_string(folder.join("underbar.opts")).expect("written");
    assert!(file.contains("\n# confirmed on fresh runs: tuned: peak RSS 0."), "{file}");
    assert!(file.ends_with("\nHEAP(32K,32K,,FREE)\n"), "{file}");
    // Both courses over time.
    let page = fs::read_to_string(folder.join("page.html")).expect("a page");
    assert_eq!(page.matches("class=\"plot\"").count(), 2);
    assert!(page.contains("<h3>Under default</h3>") && page.contains("<h3>Under HEAP(32K,32K,,FREE)</h3>"));
    // It is used as the result says, and overwritten by the next; a file of another origin is not.
    let used = underbar_in(&folder, &[&["run", "--opts-file", "underbar.opts"][..], &program[..]].concat());
    assert!(used.error.contains("HEAP(32K,32K,,FREE)"), "{}", used.error);
    fs::write(folder.join("mine.opts"), "RPTSTG(ON)\n").expect("written");
    let refused = underbar_in(&folder, &[&["tune", "-o", "mine.opts"][..], &program[..]].concat());
    assert_eq!((code(refused.status), refused.output.as_str()), (2, ""));
    assert!(refused.error.contains("mine.opts is there already"), "{}", refused.error);
    assert_eq!(fs::read_to_string(folder.join("mine.opts")).expect("there"), "RPTSTG(ON)\n");
}

#[test]
fn default_that_wins_by_itself_is_said_with_the_command_that_has_it() {
    let folder = scratch("tune-alone");
    let storage = storage();
    // Plain gives its large blocks back at each free, and takes their pages again: faults, which are no times.
    let begin = ["tune", "--runs", "8", "--primary", "faults", "--try", "HEAP(4K,4K,,FREE)", "--"];
    let result = underbar_in(&folder, &[&begin[..], &[text(&storage), "10", "500"]].concat());
    assert_eq!(code(result.status), 0, "{result:?}");
    let end = format!("use it     underbar run -- {} 10 500\n", text(&storage));
    assert!(
        result.output.contains("\ndefault    alone is better than plain: faults 0."),
        "{}",
        result.output
    );
    assert!(result.output.ends_with(&end), "{}", result.output);
}

#[test]
fn default_that_wins_is_said_beside_a_set_that_another_measure_decides_about() {
    let folder = scratch("tune-beside");
    let holding = program("holding");
    let line = ["tune", "--runs", "8", "--primary", "faults", "--", text(&holding), "4000", "20"];
    let result = underbar_in(&folder, &line);
    assert_eq!(code(result.status), 0, "{result:?}");
    for part in [
        "\ntried      less memory: HEAP(256K,256K,,FREE)\n",
        "\nwritten    nothing: no set was kept\ndefault    alone is better than plain: faults 0.",
    ] {
        assert!(result.output.contains(part), "{part}: {}", result.output);
    }
    let end = format!("\nuse it     underbar run -- {} 4000 20\n", text(&holding));
    assert!(result.output.ends_with(&end), "{}", result.output);
}

#[test]
fn less_memory_is_tried_where_memory_decides_and_no_set_given_gives_back() {
    let folder = scratch("tune-memory");
    let storage = storage();
    let begin = ["tune", "--runs", "8", "--primary", "rss"];
    let tried = |given: &[&str]| {
        let line = [&begin[..], given, &["--", text(&storage), "4", "500"]].concat();
        let result = underbar_in(&folder, &line);
        assert_eq!(code(result.status), 0, "{result:?}");
        result.output.contains("\ntried      less memory: HEAP(256K,256K,,FREE)\n")
    };
    assert!(tried(&["-o", "one.opts"]));
    assert!(!tried(&["-o", "two.opts", "--try", "HEAP(64K,64K,,FREE)"]));
}

#[test]
fn a_time_says_before_the_first_run_what_it_needs() {
    let folder = scratch("tune-short");
    let result = underbar_in(&folder, &["tune", "--time", "54s", "--", "/no/such/program"]);
    let said = "underbar: a verdict on a set needs 54 runs or more, so the program may take 1.00 s at most\n";
    assert!(result.error.contains(said), "{}", result.error);
}

#[test]
fn suggestions_are_tried_with_their_reasons() {
    let folder = scratch("tune-suggested");
    let storage = storage();
    let result = underbar_in(
        &folder,
        &[
            "tune",
            "--json",
            "--runs",
            "8",
            "--primary",
            "faults",
            "--opts",
            "HEAP(4K,4K,,FREE)",
            "--",
            text(&storage),
            "6",
            "500",
        ],
    );
    assert_eq!(code(result.status), 0, "{result:?}");
    let all = json(&result);
    assert_eq!(all["schema"], "underbar.tune/1");
    assert_eq!((&all["output_repeatable"], &all["interrupted"]), (&Value::Bool(true), &Value::Bool(false)));
    assert_eq!(all["report"]["schema"], "underbar.report/1");
    let rules: Vec<_> =
        all["suggestions"].as_array().expect("a list").iter().map(|s| s["rule"].clone()).collect();
    assert!(rules.contains(&"heap-size".into()), "{rules:?}");
    let tried = &all["tried"][0];
    assert!(tried["options"].as_str().expect("text").starts_with("[storage]\nHEAP("), "{tried}");
    let verdict = &tried["verdict"];
    assert_eq!(verdict["schema"], "underbar.verdict/1");
    assert_eq!(verdict["runs"]["rounds"].as_array().map(Vec::len), Some(8));
    // The suggestion repairs the damage of the options: far fewer faults than default.
    assert!(verdict["tuned_default"]["primary"]["finding"].get("better").is_some(), "{verdict}");
    assert_eq!(verdict["tuned_plain"]["output"]["equal"]["runs"], 16);
}

/// A program whose ECBs ask for 33 and 65 bytes, which the usual lists serve with 64 and 128; and its arguments: units, requests of
/// each size, and KB of units of another class.
fn sizes_of_ecbs(arguments: [&str; 3]) -> Vec<String> {
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../api/capi/include");
    let program = compiled("heap/ecb_sizes", "heap-ecb-sizes", &["-fno-builtin", include]);
    [vec![text(&program).to_owned()], arguments.map(str::to_owned).to_vec()].concat()
}

#[test]
fn sizes_of_lists_are_suggested_tried_and_kept() {
    let folder = scratch("tune-avl");
    let program = sizes_of_ecbs(["60", "10000", "0"]);
    let program: Vec<&str> = program.iter().map(String::as_str).collect();
    let flags =
        ["tune", "--json", "--runs", "8", "--primary", "rss", "--try", "AVL(BAD,4K)", "--require-gain", "--"];
    let result = underbar_in(&folder, &[&flags[..], &program[..]].concat());
    assert_eq!(code(result.status), 0, "{result:?}");
    let all = json(&result);
    let tried = all["tried"].as_array().expect("a list");
    let of = |options: &str| {
        tried
            .iter()
            .find(|set| set["options"].as_str().is_some_and(|text| text.contains(options)))
            .expect(options)
    };
    let (good, wrong) = (of("AVL(BAD,48,80)"), of("AVL(BAD,4K)"));
    assert!(good["verdict"]["tuned_default"]["primary"]["finding"].get("better").is_some(), "{good}");
    assert!(wrong["verdict"]["tuned_default"]["primary"]["finding"].get("worse").is_some(), "{wrong}");
    let file = fs::read_to_string(folder.join("underbar.opts")).expect("written");
    assert!(file.ends_with("\nAVL(BAD,48,80)\n"), "{file}");
    assert!(file.contains("\n# tpf-avl-size: "), "{file}");
    // The next run has the sizes.
    let used = underbar_in(
        &folder,
        &[&["run", "--json", "--opts-file", "underbar.opts"][..], &program[..]].concat(),
    );
    assert!(used.error.contains("\"sizes\":[48,80]"), "{}", used.error);
}

#[test]
fn the_area_of_ecbs_is_suggested_and_tried() {
    let folder = scratch("tune-area");
    let program = sizes_of_ecbs(["2", "100", "60"]);
    let program: Vec<&str> = program.iter().map(String::as_str).collect();
    let flags = ["tune", "--json", "--runs", "8", "--primary", "faults", "--"];
    let result = underbar_in(&folder, &[&flags[..], &program[..]].concat());
    assert_eq!(code(result.status), 0, "{result:?}");
    let all = json(&result);
    let set = &all["tried"][0];
    assert_eq!(set["options"], "[heap-ecb-sizes]\nECB(64K)", "{all:#}");
    assert_eq!(set["verdict"]["runs"]["rounds"].as_array().map(Vec::len), Some(8), "{set}");
}

#[test]
fn a_planted_gain_is_found_by_compare() {
    let folder = scratch("compare-gain");
    let storage = storage();
    let result = underbar_in(
        &folder,
        &[
            "compare",
            "--json",
            "--runs",
            "8",
            "--opts",
            "HEAP(32K,32K,,FREE)",
            "--opts",
            "default",
            "--opts",
            "plain",
            "--",
            text(&storage),
            "10",
            "500",
        ],
    );
    assert_eq!(code(result.status), 0, "{result:?}");
    let all = json(&result);
    assert_eq!(all["schema"], "underbar.compare/1");
    assert_eq!(all["arms"][2]["opts"], "plain");
    for (at, arm) in ["B", "C"].into_iter().enumerate() {
        let comparison = &all["comparisons"][at];
        assert_eq!(
            (&comparison["candidate"], &comparison["outcome"]),
            (&arm.into(), &"better".into()),
            "{comparison}"
        );
        assert_eq!(comparison["output"]["equal"]["runs"], 16);
    }
}

#[test]
fn equal_arms_are_seldom_told_apart() {
    let folder = scratch("compare-equal");
    let storage = storage();
    let series = || {
        let one = || {
            let arguments = [
                "compare",
                "--json",
                "-q",
                "--runs",
                "15",
                "--opts",
                "default",
                "--opts",
                "default",
                "--",
                text(&storage),
                "4",
                "4000",
            ];
            json(&underbar_in(&folder, &arguments))["comparisons"][0]["outcome"] == "better"
        };
        (0..20).filter(|_| one()).count()
    };
    // At most one in forty is kept by chance: of 20, more than two in one series of a hundred, in two series
    // one after the other in one of ten thousand.
    let kept = series();
    eprintln!("kept {kept} of 20 equal arms, 15 rounds each");
    assert!(kept <= 2 || series() <= 2, "equal arms are told apart");
}

#[test]
fn python_and_a_compiler_end_with_a_verdict() {
    let folder = scratch("tune-real");
    fs::write(folder.join("s.py"), "import json\nprint(len(json.dumps([list(range(50))] * 200)))\n")
        .expect("written");
    fs::write(folder.join("s.cpp"), "#include <cstdio>\nint main() { std::puts(\"done\"); }\n")
        .expect("written");
    let lines: [&[&str]; 2] = [&["python3", "s.py"], &["g++", "-c", "s.cpp", "-o", "s.o"]];
    for line in lines {
        if Command::new(line[0]).arg("--version").stdout(Stdio::null()).status().is_err() {
            underbar_zoo::skip(line[0]);
            continue;
        }
        let result = underbar_in(&folder, &[&["tune", "--runs", "8", "--check", "s.o", "--"], line].concat());
        assert_eq!(code(result.status), 0, "{result:?}");
        assert!(result.output.starts_with("measured   CPU "), "{}", result.output);
        has_a_verdict(&result.output);
        assert!(result.output.contains("default/plain\n"), "{}", result.output);
        assert!(result.output.contains("\noutput equal in "), "{}", result.output);
    }
}
