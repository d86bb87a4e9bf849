//! `UNDERBAR=off` and the list of denied programs: `run` leaves a program plain.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a test is no door to anybody's terminal"
)]

mod common;

use common::{Folder, command, said};

/// What a program sees of underbar, and the warning; `variables` are set for the command.
fn environment(variables: &[(&str, &str)], report: &str) -> (i32, String, String) {
    let mut run = command(&["run", "--json", "-o", report, "--", "env"]);
    run.env_remove("UNDERBAR").env_remove("UNDERBAR_DENY").env_remove("LD_PRELOAD");
    run.envs(variables.iter().copied());
    said(&run.output().expect("it runs"))
}

#[test]
fn a_program_that_is_denied_runs_plain() {
    let folder = Folder::new("off");
    let report = folder.name("r.json");
    for (variables, reason) in [
        (&[("UNDERBAR", "off")][..], "UNDERBAR=off"),
        (&[("UNDERBAR", "OFF")], "UNDERBAR=off"),
        (&[("UNDERBAR_DENY", "java, env")], "UNDERBAR_DENY names env"),
        (&[("UNDERBAR_DENY", "e*")], "UNDERBAR_DENY names e*"),
    ] {
        let (code, text, error) = environment(variables, &report);
        assert_eq!((code, error), (0, format!("underbar: warning: the program runs plain: {reason}\n")));
        assert!(!text.contains("LD_PRELOAD=") && !text.contains("UNDERBAR_LEDGER="), "{text}");
        assert!(!std::path::Path::new(&report).exists());
    }
    for variables in [&[("UNDERBAR", "on")][..], &[("UNDERBAR_DENY", "java")], &[]] {
        let (code, text, error) = environment(variables, &report);
        assert_eq!((code, error.as_str()), (0, ""));
        assert!(text.contains("LD_PRELOAD="), "{text}");
        std::fs::remove_file(&report).expect("a report");
    }
}

#[test]
fn its_status_and_failures_are_those_of_a_plain_run() {
    let run = |words: &[&str]| {
        let mut run = command(&[&["run", "--"], words].concat());
        said(&run.env("UNDERBAR", "off").output().expect("it runs"))
    };
    assert_eq!(run(&["sh", "-c", "exit 7"]).0, 7);
    let (code, _, error) = run(&["/nowhere/program"]);
    assert_eq!(code, 127, "{error}");
}

#[test]
fn a_followed_program_can_start_one_that_is_plain() {
    let folder = Folder::new("off-child");
    let report = folder.name("r.json");
    let script = "UNDERBAR=off env; UNDERBAR=on env";
    let (code, text, error) = said(
        &command(&["run", "--json", "-o", &report, "--", "sh", "-c", script]).output().expect("it runs"),
    );
    assert_eq!((code, error.as_str()), (0, ""));
    let (plain, followed) = text.split_once("UNDERBAR=on").expect("both");
    let all = text.matches("LD_PRELOAD=").count();
    assert_eq!(all, 1, "{plain}\n---\n{followed}");
    let report: serde_json::Value = serde_json::from_str(&folder.read("r.json")).expect("JSON");
    assert_eq!(report["tree"]["counters"]["follow"]["by_request"], 1);
}

#[test]
fn commands_that_show_a_program_run_it_plain() {
    for words in [&["heap", "--", "env"][..], &["profile", "--", "env"]] {
        let mut shown = command(words);
        shown.env_remove("LD_PRELOAD").env("UNDERBAR", "off");
        let (code, text, error) = said(&shown.output().expect("it runs"));
        let expected = "underbar: warning: the program runs plain: UNDERBAR=off\n";
        assert_eq!((code, error.as_str()), (0, expected), "{words:?}");
        assert!(text.contains("UNDERBAR=off") && !text.contains("LD_PRELOAD="), "{text}");
    }
}

#[test]
fn commands_that_compare_run_nothing() {
    for words in [&["compare", "--opts", "", "--opts", "HEAP(1M)", "--", "true"][..], &["tune", "--", "true"]]
    {
        let mut compared = command(words);
        compared.env("UNDERBAR_DENY", "true");
        let (code, text, error) = said(&compared.output().expect("it runs"));
        assert_eq!((code, text.as_str()), (2, ""), "{words:?}: {error}");
        let expected = "underbar: error: nothing was run: underbar leaves the program alone (UNDERBAR_DENY names true)\n";
        assert!(error.ends_with(expected), "{error}");
    }
}

#[test]
fn names_that_are_denied_stay_plain_as_children_too() {
    let folder = Folder::new("off-names");
    let report = folder.name("r.json");
    for (script, expected) in [("env; true", 1), ("exec env", 1), ("sh -c 'env; true'; true", 1)] {
        let mut run = command(&["run", "--json", "-o", &report, "--", "sh", "-c", script]);
        run.env_remove("UNDERBAR").env_remove("LD_PRELOAD").env("UNDERBAR_DENY", "java,env");
        let (code, text, error) = said(&run.output().expect("it runs"));
        assert_eq!((code, error.as_str()), (0, ""), "{script}");
        assert!(!text.contains("LD_PRELOAD="), "{script}: {text}");
        let report: serde_json::Value = serde_json::from_str(&folder.read("r.json")).expect("JSON");
        assert_eq!(report["tree"]["counters"]["follow"]["by_request"], expected, "{script}");
    }
}

/// Most programs in Python are scripts: a user who denies `python3` means them, too.
#[test]
fn a_name_that_is_denied_is_also_that_of_an_interpreter() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("off-scripts");
    let script = folder.name("script");
    std::fs::write(&script, "#!/bin/sh\nenv\n").expect("a script");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("executable");
    for exec in [false, true] {
        let run = |words: &[&str]| {
            let mut run =
                command(&[&["run", "-q"], &["--exec"][..usize::from(exec)], &["--"], words].concat());
            run.env_remove("UNDERBAR").env_remove("LD_PRELOAD").env("UNDERBAR_DENY", "java,sh");
            said(&run.output().expect("it runs"))
        };
        let (code, text, error) = run(&[&script]);
        let expected = "underbar: warning: the program runs plain: UNDERBAR_DENY names sh\n";
        assert_eq!((code, error.as_str()), (0, expected));
        assert!(text.contains("UNDERBAR_DENY=") && !text.contains("LD_PRELOAD="), "{text}");
        // As a child, and in place of the program.
        let bash = format!("{script}; true");
        let replaced = format!("exec {script}");
        for words in [&["bash", "-c", &bash][..], &["bash", "-c", &replaced], &["env", &script]] {
            let (code, text, error) = run(words);
            assert_eq!((code, error.as_str()), (0, ""), "{words:?}");
            assert!(text.contains("UNDERBAR_DENY=") && !text.contains("LD_PRELOAD="), "{words:?}: {text}");
        }
    }
}
