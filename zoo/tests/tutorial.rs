//! The commands of `docs/tutorial.md`, and of the first run in `README.md`, run in their order: they succeed, and print what the page shows, figures aside.
//!
//! ```text
//! $ command       run by a shell in one folder, standard output and error together, as on a terminal
//! a line          is printed, after the line above it, if digits and units count as equal
//! ...             any lines
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use underbar_zoo::{scratch, underbar};

/// A command of the page, with the lines that the page shows after it.
#[derive(Debug, Default, PartialEq)]
struct Step {
    command: String,
    shown: Vec<String>,
}

/// The commands in the page's blocks.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_inside = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_inside = !is_inside;
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| is_inside) {
            steps.push(Step { command: command.to_owned(), shown: Vec::new() });
        } else if let Some(step) = steps.last_mut().filter(|_| is_inside) {
            step.shown.push(line.to_owned());
        }
    }
    steps
}

/// A line without its figures: one mark for each number with its unit, one blank for each gap.
fn shape(line: &str) -> String {
    let is_figure = |word: &str| {
        let word = word.trim_matches(|letter: char| "(),:;%[]".contains(letter));
        word.starts_with(|letter: char| letter.is_ascii_digit())
    };
    let is_unit = |word: &str| {
        let unit = word.trim_matches(|letter: char| "(),:;".contains(letter));
        ["ns", "us", "ms", "s", "B", "KiB", "MiB", "GiB"].contains(&unit)
    };
    let mut words = Vec::new();
    for word in line.split_whitespace() {
        if is_figure(word) {
            words.push("#");
        } else if !(is_unit(word) && words.last() == Some(&"#")) {
            words.push(word);
        }
    }
    words.join(" ")
}

/// The first line that the page shows and the command did not print, in that order.
fn missing<'a>(shown: &'a [String], printed: &str) -> Option<&'a str> {
    let mut lines = printed.lines().map(shape);
    shown.iter().map(String::as_str).find(|line| {
        let expected = shape(line);
        expected != "..." && !lines.any(|line| line == expected)
    })
}

fn run(command: &str, folder: &Path) -> (bool, String) {
    let commands = underbar().parent().expect("a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(PathBuf::from(commands)).chain(std::env::split_paths(&path));
    let done = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(folder)
        .env("PATH", std::env::join_paths(paths).expect("a path"))
        .env("XDG_RUNTIME_DIR", folder)
        .env("XDG_CACHE_HOME", folder)
        .env("HOME", folder)
        .env_remove("UNDERBAR_OPTS")
        .env_remove("COLUMNS")
        .output()
        .expect("a shell");
    (done.status.success(), String::from_utf8_lossy(&done.stdout).into_owned())
}

#[test]
fn the_tutorial_s_commands_print_what_it_shows() {
    let steps = steps(include_str!("../../docs/tutorial.md"));
    assert!(steps.len() > 10, "{steps:?}");
    follow(&steps, &scratch("tutorial"));
}

/// A newcomer sees which line of code holds the most memory. The time is for people (`--nocapture`), no assertion: the machine may be busy.
#[test]
fn the_first_run_of_the_readme_names_the_line_that_holds_most() {
    let page = include_str!("../../README.md");
    let (_, page) = page.split_once("\n## First run\n").expect("its section");
    let steps = steps(page.split_once("\n## ").expect("the next section").0);
    assert_eq!(steps.len(), 3, "{steps:?}");
    assert!(steps[2].shown.iter().any(|line| line.ends_with("keep at rows.c:2")), "{steps:?}");
    let begin = Instant::now();
    follow(&steps, &scratch("first-run"));
    eprintln!("first run of the README: {:.1} s", begin.elapsed().as_secs_f64());
}

fn follow(steps: &[Step], folder: &Path) {
    for step in steps {
        let (is_good, printed) = run(&step.command, folder);
        assert!(is_good, "{}: {printed}", step.command);
        if let Some(line) = missing(&step.shown, &printed) {
            panic!("{}: no line\n  {line}\nin\n{printed}", step.command);
        }
    }
}

#[test]
fn figures_are_no_difference_and_words_are() {
    assert_eq!(shape("  time   60.4 ms elapsed, peak 24.3 MiB"), shape(" time 1 s elapsed, peak 900 KiB"));
    assert_ne!(shape("heap.gets 1 Successful"), shape("heap.frees 1 Successful"));
    let shown = ["a 1".to_owned(), "...".to_owned(), "b".to_owned()];
    assert_eq!(missing(&shown, "x\na 2\ny\nb\n"), None);
    assert_eq!(missing(&shown, "b\na 2\n"), Some("b"));
}
