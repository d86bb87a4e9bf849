//! `underbar tune` and `underbar compare`: the tried sets, the kept ones, and the messages about both.
//!
//! Programs are chosen so that the deciding figures differ by far, or are no times at all; no test waits for
//! time or depends on the speed of the machine.

use serde_json::Value;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use underbar_zoo::{Left, code, compiled, left, program, scratch, underbar};

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

/// A command in a scratch folder, without underbar's variables of the test's environment.
fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(underbar());
    command.args(arguments).current_dir(folder).env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS");
    command
}

fn underbar_in(folder: &Path, arguments: &[&str]) -> Left {
    left(&mut command(folder, arguments))
}

fn json(left: &Left) -> Value {
    serde_json::from_str(&left.output).unwrap_or_else(|error| panic!("{error}: {left:?}"))
}

fn storage() -> PathBuf {
    program("storage")
}

// ---- what is kept, and what is not -------------------------------------------------------------------------

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
    let tune = [&begin[..], &["--try", "HEAP(32K,32K,,FREE)", "--require-gain"]].concat();
    let program = ["--", text(&storage), "4", "1000"];
    let result = underbar_in(&folder, &[&tune[..], &program[..]].concat());
    assert_eq!(code(result.status), 0, "{result:?}");
    assert!(
        result.error.starts_with(
            "underbar: at most 108 runs: 2 or 3 to measure, 3 x (3 + 3 x 8) to compare, 3 x 8 to confirm\n"
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

// ---- the programs that the issue names -----------------------------------------------------------------------

#[test]
fn python_and_a_compiler_end_with_a_verdict_against_plain() {
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
        assert!(result.output.contains(" of plain, 8 pairs: "), "{}", result.output);
        assert!(result.output.contains("default/plain\n"), "{}", result.output);
        assert!(result.output.contains("\noutput equal in "), "{}", result.output);
    }
}

// ---- input, output, files --------------------------------------------------------------------------------------

/// `compare` of plain and default with a shell script as the program.
fn compared(folder: &Path, flags: &[&str], script: &str) -> Left {
    let before = ["compare", "--runs", "6", "--opts", "plain", "--opts", "default"];
    underbar_in(folder, &[&before[..], flags, &["--", "sh", "-c", script]].concat())
}

#[test]
fn a_set_without_an_option_is_refused_before_anything_runs() {
    let folder = scratch("tune-nothing");
    for flag in [["--opts", "HEPA(1M)"], ["--try", "HEAP(64MB)"]] {
        let verb: &[&str] = if flag[0] == "--try" { &["tune"] } else { &["compare", "--opts", "plain"] };
        let told = underbar_in(&folder, &[verb, &flag, &["--", "sh", "-c", "echo x >>ran"]].concat());
        assert_eq!(code(told.status), 2, "{}", told.error);
        let says =
            format!("error: {} {}: there is no option in it, so nothing to compare\n", flag[0], flag[1]);
        assert!(told.error.contains("warning: ") && told.error.ends_with(&says), "{}", told.error);
        assert!(!folder.join("ran").exists(), "{flag:?}");
    }
}

#[test]
fn what_can_be_neither_written_nor_compared_is_refused_before_anything_runs() {
    let folder = scratch("tune-files");
    let compare: &[&str] = &["compare", "--opts", "plain", "--opts", "default"];
    for (flags, says) in [
        (&["tune", "-o", "/dev/full"][..], "/dev/full is no file that could be overwritten: name another"),
        (&["tune", "-o", "."], ". is no file that could be overwritten: name another"),
        (&["tune", "--check", "."], "--check .: no file whose contents could be compared"),
        (&[compare, &["--check", "/dev/null"]].concat(), "--check /dev/null: no file whose contents"),
        (&[compare, &["-o", "none/result"]].concat(), "none/result: No such file"),
    ] {
        let refused = underbar_in(&folder, &[flags, &["--", "sh", "-c", "echo x >>ran"]].concat());
        assert_eq!((code(refused.status), refused.output.as_str()), (2, ""), "{refused:?}");
        assert!(refused.error.contains(says), "{}", refused.error);
        assert!(!folder.join("ran").exists(), "{flags:?}");
    }
}

#[test]
fn arms_with_the_same_options_are_said_to_be_the_same() {
    let folder = scratch("tune-same");
    let told = |second: &str| {
        let arms = ["compare", "--runs", "1", "--opts", "plain", "--opts", second, "--opts", "HEAP(1M)"];
        underbar_in(&folder, &[&arms[..], &["--", "true"]].concat()).error
    };
    assert!(told(" plain ").contains("--opts: A and B are the same"), "{}", told(" plain "));
    assert!(told(" HEAP(1M)").contains("--opts: B and C are the same"), "{}", told(" HEAP(1M)"));
    assert!(!told("default").contains("are the same"), "{}", told("default"));
}

#[test]
fn a_result_that_cannot_be_written_is_no_success() {
    let folder = scratch("tune-full");
    for json in [&["-q"][..], &["-q", "--json"]] {
        let mut tune = command(&folder, &[&["tune", "--runs", "6"], json, &["--", "true"]].concat());
        let full = fs::File::options().write(true).open("/dev/full").expect("there");
        let result = tune.stdin(Stdio::null()).stdout(full).output().expect("run");
        let error = String::from_utf8_lossy(&result.stderr);
        assert_eq!(code(result.status), 2, "{error}");
        assert_eq!(error.matches("error: the result could not be written: ").count(), 1, "{error}");
    }
}

#[test]
fn every_run_reads_the_same_input() {
    let folder = scratch("tune-input");
    let sum = Command::new("sh")
        .args([
            "-c",
            "seq 50000 | \"$0\" compare --runs 6 --opts plain --opts default -- sh -c 'cat >>all; cat'",
        ])
        .arg(underbar())
        .current_dir(&folder)
        .output()
        .expect("a shell");
    assert!(sum.status.success(), "{sum:?}");
    let all = fs::read_to_string(folder.join("all")).expect("read by all runs");
    let once: String = (1..=50_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(all, once.repeat(2 + 2 * 6), "two to warm up, six rounds of two");
    // `left` gives no input: then each run reads nothing.
    let nothing = compared(&folder, &[], "cat | wc -c");
    assert!(nothing.output.contains("output equal in 12 runs"), "{}", nothing.output);
}

#[test]
fn differing_output_and_files_are_not_kept() {
    let folder = scratch("tune-differs");
    // A program that tests whether the library is loaded.
    let sees = "case \"$LD_PRELOAD\" in *underbar*) echo with;; *) echo without;; esac";
    let result = compared(&folder, &[], sees);
    assert!(
        result.output.contains("B: ") && result.output.contains("pairs: output differs in 6 runs"),
        "{}",
        result.output
    );
    let into_file = format!("({sees}) >written");
    let unchecked = compared(&folder, &[], &into_file);
    assert!(unchecked.output.contains("output equal in 12 runs"), "{}", unchecked.output);
    let checked = compared(&folder, &["--check", "written"], &into_file);
    assert!(checked.output.contains("pairs: output differs in 6 runs"), "{}", checked.output);
}

#[test]
fn output_that_does_not_repeat_itself_is_said() {
    let folder = scratch("tune-pid");
    let result = compared(&folder, &[], "echo $$");
    assert!(result.output.contains("\noutput not repeatable\n"), "{}", result.output);
    let tuned = underbar_in(&folder, &["tune", "--runs", "6", "--", "sh", "-c", "echo $$"]);
    assert!(tuned.output.contains("output not repeatable: two equal runs differ"), "{}", tuned.output);
}

#[test]
fn setup_and_cleanup_are_run_around_each_run() {
    let folder = scratch("tune-around");
    let flags = ["--setup", "echo s >>log; test ! -e made", "--cleanup", "echo c >>log; rm made"];
    let result = compared(&folder, &flags, "echo p >>log; echo x >made");
    assert_eq!(code(result.status), 0, "{result:?}");
    assert_eq!(fs::read_to_string(folder.join("log")).expect("a log"), "s\np\nc\n".repeat(14));
    let failing = compared(&folder, &["--setup", "echo no room >&2; exit 4"], "echo p");
    assert_eq!((code(failing.status), failing.output.as_str()), (2, ""));
    assert!(failing.error.contains("--setup ended with exit code 4\n  | no room\n"), "{}", failing.error);
}

#[test]
fn a_server_is_measured_under_its_load() {
    let folder = scratch("tune-load");
    // The server is ready once its file is there, and serves by answering a request with a file.
    let server = "trap 'rm -f up; exit 0' TERM; echo noise $$; >up; \
                  while :; do if [ -e ask ]; then mv ask answer; fi; sleep 0.01; done";
    let load = "echo q >asked; mv asked ask; until [ -e answer ]; do sleep 0.01; done; cat answer; rm answer";
    let flags = ["--load", load, "--ready", "test -e up", "--cleanup", "test ! -e up"];
    let result = compared(&folder, &flags, server);
    assert_eq!(code(result.status), 0, "{result:?}");
    assert!(
        result.output.contains("6 pairs: ") && result.output.contains("output equal in 12 runs"),
        "{}",
        result.output
    );
    let dead = compared(&folder, &["--load", "exit 1"], "exit 3");
    assert_eq!(code(dead.status), 2, "{dead:?}");
    assert!(dead.error.contains("ended with exit code 3 before it was told to"), "{}", dead.error);
    // A command that cannot be executed fails the same way for ever; one that fails is retried until the limit.
    let wrong = compared(&folder, &["--load", "/no/such/client"], "exec sleep 1000");
    assert_eq!(code(wrong.status), 2, "{wrong:?}");
    let says = "cannot be asked whether it is ready: the command of --load ended with exit code 127\n  | ";
    assert!(wrong.error.contains(says) && wrong.error.contains("/no/such/client: "), "{}", wrong.error);
    let flags = ["--load", "true", "--ready", "echo not yet; exit 1", "--timeout", "300ms"];
    let never = compared(&folder, &flags, "exec sleep 1000");
    assert_eq!(code(never.status), 2, "{never:?}");
    let says =
        "was not ready after 0.30 s: asked last, the command ended with exit code 1\n  | not yet\nhelp: ";
    assert!(never.error.contains(says), "{}", never.error);
}

// ---- what goes wrong -------------------------------------------------------------------------------------------

#[test]
fn a_program_that_fails_by_itself_is_not_measured() {
    let folder = scratch("tune-fails");
    // If only ours fails, no expected exit code would make both right.
    let ours = "if [ \"$LD_PRELOAD\" ]; then exit 3; fi";
    let result = underbar_in(&folder, &["tune", "--", "sh", "-c", ours]);
    assert_eq!(code(result.status), 2, "{result:?}");
    assert!(
        result.error.ends_with("fails (under underbar only, not plain): ended with exit code 3\n"),
        "{}",
        result.error
    );
    for (before, arm) in [(&["tune"][..], "plain"), (&["compare", "--opts", "plain", "--opts", ""], "A")] {
        let result =
            underbar_in(&folder, &[before, &["--", "sh", "-c", "echo out; echo wrong >&2; exit 3"]].concat());
        assert_eq!((code(result.status), result.output.as_str()), (2, ""), "{result:?}");
        assert!(
            result.error.contains(&format!("the program fails ({arm}): ended with exit code 3\n  | wrong\n")),
            "{}",
            result.error
        );
        let taken = [before, &["--runs", "6", "--expect", "3", "--", "sh", "-c", "exit 3"]].concat();
        assert_eq!(code(underbar_in(&folder, &taken).status), 0);
    }
}

#[test]
fn a_failed_run_enters_no_statistic() {
    let folder = scratch("tune-some-fail");
    // The first two are to warm up; of those that count, two fail.
    let script = "echo x >>runs; n=$(wc -l <runs); [ $n -ne 5 ] && [ $n -ne 8 ]";
    let result = compared(&folder, &["--runs", "9"], script);
    assert_eq!(code(result.status), 2, "--runs is given twice: {result:?}");
    let before = [
        "compare", "--json", "--runs", "9", "--opts", "plain", "--opts", "default", "--", "sh", "-c", script,
    ];
    let result = underbar_in(&folder, &before);
    let comparison = &json(&result)["comparisons"][0];
    assert_eq!(comparison["dropped"]["rounds"], 2, "{comparison}");
    assert_eq!(comparison["primary"]["pairs"], 7, "{comparison}");
    assert!(result.error.contains(" failed: it ended with exit code 1\n"), "{}", result.error);
}

#[test]
fn a_run_that_outlives_its_limit_is_ended() {
    let folder = scratch("tune-limit");
    let result = underbar_in(&folder, &["tune", "--timeout", "50ms", "--", "sleep", "1000"]);
    assert_eq!((code(result.status), result.output.as_str()), (2, ""), "{result:?}");
    assert!(result.error.contains("the program fails (plain): took longer than 50 ms\n"), "{}", result.error);
    let short = underbar_in(&folder, &["tune", "--time", "1ms", "--", "true"]);
    assert_eq!(code(short.status), 2, "{short:?}");
    assert!(short.error.contains("too few for a verdict, which needs 8"), "{}", short.error);
}

#[test]
fn codes_of_our_own() {
    let folder = scratch("tune-codes");
    for (arguments, expect) in [
        (&["tune", "--", "/no/such/program"][..], 127),
        (&["compare", "--opts", "", "--opts", "plain", "--", "/no/such/program"], 127),
        (&["tune", "--", "/etc/passwd"], 126),
        (&["tune"], 2),
        (&["tune", "--no-such-flag", "--", "true"], 2),
        (&["tune", "--time", "1d", "--", "true"], 2),
        (&["compare", "--opts", "plain", "--", "true"], 2),
        (&["compare", "--", "true"], 2),
        (
            &[
                "compare",
                "--runs",
                "6",
                "-o",
                "/no/such/folder/file",
                "--opts",
                "plain",
                "--opts",
                "",
                "--",
                "true",
            ],
            2,
        ),
    ] {
        let result = underbar_in(&folder, arguments);
        assert_eq!((code(result.status), result.output.as_str()), (expect, ""), "{arguments:?}: {result:?}");
        assert!(result.error.contains("error: "), "{}", result.error);
    }
}

#[test]
fn an_interruption_prints_what_there_is() {
    let folder = scratch("tune-interrupted");
    // The 13th run is in the sixth round: the script asks underbar, or the whole group, to end.
    for (whom, signal, expect) in [("$PPID", "INT", 130), ("0", "INT", 130), ("$PPID", "TERM", 143)] {
        let _ = fs::remove_file(folder.join("runs"));
        let _ = fs::remove_file(folder.join("cleaned"));
        let script = format!(
            "echo x >>runs; if [ $(wc -l <runs) = 14 ]; then kill -{signal} {whom}; while :; do sleep 0.01; done; fi"
        );
        let mut command = command(
            &folder,
            &[
                "compare",
                "--opts",
                "plain",
                "--opts",
                "default",
                "--cleanup",
                "echo c >>cleaned",
                "--",
                "sh",
                "-c",
                &script,
            ],
        );
        let result = left(command.process_group(0));
        assert_eq!(code(result.status), expect, "{result:?}");
        assert!(result.error.ends_with("underbar: error: interrupted\n"), "{}", result.error);
        assert!(
            result.output.contains("B: CPU against A, 5 pairs of 15 rounds: no verdict"),
            "{}",
            result.output
        );
        assert!(
            result.output.contains("stopped after 6 rounds; planned: 15 rounds of A, B"),
            "{}",
            result.output
        );
        let count = |name: &str| fs::read_to_string(folder.join(name)).expect("a log").lines().count();
        assert_eq!((count("runs"), count("cleaned")), (14, 14));
    }
}
