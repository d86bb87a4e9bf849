//! Help, usage errors, completions and manual pages: all made from the one table of commands.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a test is no door to anybody's terminal"
)]

mod common;

use common::{Folder, bad, command, good, run, said};

/// The headings above commands: those of `underbar --help`, and that of the help of a command with its own commands.
const HEADINGS: [&str; 4] =
    ["\nFor Linux programs:\n", "\nFor mainframe listings and libraries:\n", "\nHelp:\n", "\nCommands:\n"];

/// The commands in help, and those in their help: `run`, `lib`, `lib create`.
fn commands() -> Vec<String> {
    let mut all = Vec::new();
    for name in named_by("") {
        all.push(name.clone());
        all.extend(named_by(&name).iter().map(|within| format!("{name} {within}")));
    }
    all
}

fn named_by(command: &str) -> Vec<String> {
    let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
    let help = good(&words);
    let lists = HEADINGS.iter().filter_map(|heading| help.split_once(heading));
    lists
        .flat_map(|(_, list)| list.lines().take_while(|line| !line.is_empty()))
        .map(|line| line.split_whitespace().next().expect("a name").to_owned())
        .filter(|name| name != "help")
        .collect()
}

#[test]
fn help_has_two_front_doors() {
    let help = good(&["--help"]);
    let places = HEADINGS.map(|heading| help.find(heading));
    assert!(places[0] < places[1] && places[1] < places[2] && places[0].is_some(), "{help}");
    assert_eq!(places[3], None, "no command is outside of the headings: {help}");
    assert_eq!(good(&["help"]), help);
    let names = named_by("");
    for name in &names {
        assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}: {help}");
    }
}

#[test]
fn nothing_unbuilt_is_in_the_help() {
    let commands = commands();
    assert!(commands.len() >= 9, "{commands:?}");
    for name in &commands {
        let words: Vec<&str> = name.split_whitespace().chain(["--help"]).collect();
        let help = good(&words);
        for part in ["Usage: underbar ", "Examples:\n", "Exit status: "] {
            assert!(help.contains(part), "{name}: {part}");
        }
        assert!(help.contains(&format!("  underbar {name}")), "{name}: an example of it");
    }
}

#[test]
fn a_page_for_each_command() {
    let folder = Folder::new("man");
    let pages = folder.name("man1");
    assert_eq!(good(&["man", "--dir", &pages]), "");
    let main = folder.read("man1/underbar.1");
    for section in ["NAME", "SYNOPSIS", "\"EXIT STATUS\"", "ENVIRONMENT", "FILES"] {
        assert!(main.contains(&format!(".SH {section}\n")), "{section}");
    }
    for name in commands() {
        let dashed = name.replace(' ', "-");
        let page = folder.read(&format!("man1/underbar-{dashed}.1"));
        let title = page.replace("\\-", "-");
        assert!(title.contains(&format!(".TH underbar-{dashed} 1")), "{page}");
        for section in [".SH EXAMPLES\n", ".SH \"EXIT STATUS\"\n"] {
            assert!(page.contains(section), "{name}: {section}");
        }
        let words: Vec<&str> = ["man"].into_iter().chain(name.split_whitespace()).collect();
        assert_eq!(good(&words), page);
        if !name.contains(' ') {
            assert!(main.contains(&format!("underbar\\-{name}(1)")), "{name} is named on the main page");
        }
    }
    assert!(main.contains("Every switch has an opposite") && !main.contains("help(1)"), "{main}");
    assert_eq!(good(&["man"]), main);
    assert_eq!(std::fs::read_dir(&pages).expect("pages").count(), commands().len() + 1);
    assert_eq!(bad(2, &["man", "nothing"]), "underbar: error: there is no command nothing\n");
    let file = folder.file("file", "");
    assert!(bad(2, &["man", "--dir", &file]).starts_with(&format!("underbar: error: {file}: ")));
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish"] {
        let script = good(&["completions", shell]);
        for name in commands() {
            assert!(name.split_whitespace().all(|word| script.contains(word)), "{shell}: {name}");
        }
        assert!(script.contains("opts-base"), "{shell}");
        // Names to explain: the scripts of the other two complete only words after a flag.
        let has_names = ["bash", "zsh"].contains(&shell);
        assert_eq!(script.contains("heap.used_peak") && script.contains("HEAPPOOLS"), has_names, "{shell}");
    }
    assert!(bad(2, &["completions", "tcsh"]).starts_with("error: invalid value 'tcsh' for '<SHELL>'"));
    assert!(bad(2, &["completions"]).contains("<SHELL>"));
}

#[test]
fn completions_are_scripts_that_bash_reads() {
    let folder = Folder::new("bash");
    let script = folder.file("underbar.bash", good(&["completions", "bash"]));
    match std::process::Command::new("bash").args(["-n", &script]).output() {
        Ok(output) => assert_eq!(said(&output), (0, String::new(), String::new())),
        Err(error) => eprintln!("skipped: bash: {error}"),
    }
}

#[test]
fn a_word_that_is_no_command_brings_the_commands() {
    let near = bad(125, &["reprt-it"]);
    assert!(near.contains("'report'"), "{near}");
    // Letters that changed places, which clap does not see.
    for (word, command) in [("rnu", "run"), ("tnue", "tune"), ("daemo", "demo"), ("HELP-me", "")] {
        let error = bad(125, &[word]);
        let meant = format!("\nhelp: did you mean `underbar {command}`?\n");
        let is_named = error.ends_with(&meant) || error.contains(&format!("'{command}'"));
        assert_eq!(is_named, !command.is_empty(), "{word}: {error}");
    }
    let far = bad(125, &["statistics"]);
    assert!(!far.contains("run -- statistics"), "there is no such program: {far}");
    assert!(far.contains("Commands: run, ") && far.contains(", explain, "), "{far}");
    assert!(bad(125, &["true"]).contains("did you mean `underbar run -- true`?"));
}

#[test]
fn doctor_begins_with_its_verdict() {
    let good = good(&["doctor", "--", "true"]);
    let first = good.lines().next().expect("a line");
    assert!(first.starts_with("true") && first.contains(" will be served"), "{good}");
    let (code, json, _) = common::run(&["doctor", "--json", "--", "true"]);
    assert_eq!(code, 0);
    assert!(json.contains("\"verdict\":\"true"), "{json}");
}

#[test]
fn wrong_usage_is_125_where_a_program_would_run_and_2_elsewhere() {
    for arguments in [
        &["run"][..],
        &["run", "--nonsense", "--", "true"],
        &["run", "--json", "--report", "le", "--", "true"],
        &["heap"],
        &["heap", "--mean", "1", "--", "true"],
        &["profile"],
        &["profile", "--rate", "0", "--", "true"],
        &["profile", "--rate", "20001", "--", "true"],
        &["nonsense"],
        &["--nonsense"],
    ] {
        assert!(bad(125, arguments).starts_with("error: "), "{arguments:?}");
    }
    for arguments in [
        &["report", "--report", "pretty", "x"][..],
        &["report", "--json", "--report", "le", "x"],
        &["diff", "x"],
        &["diff", "--threshold", "-1", "x", "y"],
        &["advise"],
        &["options", "HEAP(1M)", "RPTSTG(ON)"],
        &["explain", "--nonsense"],
        &["doctor", "--nonsense"],
        &["man", "--dir"],
    ] {
        assert!(bad(2, arguments).starts_with("error: "), "{arguments:?}");
    }
    assert!(bad(125, &["/bin/ls"]).ends_with("help: did you mean `underbar run -- /bin/ls`?\n"));
    assert!(bad(125, &["reprot"]).contains("'report'"));
}

#[test]
fn colours_are_asked_for() {
    for (flags, expected) in
        [(&["--color", "always"][..], true), (&["--color", "never"], false), (&[], false)]
    {
        let arguments = [&["options", "X(1)"], flags].concat();
        let (code, _, error) = run(&arguments);
        assert_eq!((code, error.contains('\x1b')), (1, expected), "{flags:?}: {error}");
    }
    // Without a terminal there is no colour anyway; this checks that the variable is no error.
    let output = command(&["options", "X(1)"]).env("NO_COLOR", "1").output().expect("it runs");
    assert!(!said(&output).2.contains('\x1b'));
}

#[test]
fn a_reader_who_goes_away_is_success() {
    use std::process::Stdio;
    for arguments in [&["explain"][..], &["completions", "bash"], &["man"], &["options", "--opts-base", "le"]]
    {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = command(arguments).stdout(Stdio::from(writer)).output().expect("it runs");
        assert_eq!(said(&output), (0, String::new(), String::new()), "{arguments:?}");
    }
}

#[test]
fn help_that_cannot_be_written_is_a_failure() {
    for (words, status) in [(&["--help"][..], 125), (&["--version"], 125), (&["diff", "--help"], 2)] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("there");
        let told = command(words).stdout(full).output().expect("started");
        assert_eq!(told.status.code(), Some(status), "{words:?}");
        let error = String::from_utf8_lossy(&told.stderr);
        assert_eq!(error, "underbar: error: standard output: No space left on device (os error 28)\n");
    }
}
