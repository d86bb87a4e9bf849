//! `underbar tune` on real programs that pass on each line: it suggests a cache from the switches of its first run, tries it in pairs, and
//! keeps it with its interval or says why not. No program's output changes.
//!
//! ```text
//! sed -u, a filter that flushes each line    standard output: PRINT
//! Python's logging, into a file              WORKFILE
//! awk, which fills its buffer                nothing to set: too few calls
//! ```
//!
//! The machine decides which of the two outcomes comes; `tune` names one of them in any case.
//! Not here: what caches do (`file_cache`), and the limits of the rules (`host/advise`).

use std::fs;
use std::path::{Path, PathBuf};

use super::trials::{has_a_verdict, underbar_in};
use underbar_zoo::heap::text;
use underbar_zoo::{code, scratch, skip};

/// Lines of the programs' input and output.
const LINES: u64 = 10_000;

/// The program of this name in the system's folder.
fn installed(name: &str) -> Option<String> {
    let path = format!("/usr/bin/{name}");
    Path::new(&path).is_file().then_some(path)
}

/// A folder with a file of lines.
fn with_lines(name: &str) -> (PathBuf, String) {
    let folder = scratch(name);
    let lines: String = (0..LINES).map(|number| format!("requests_total{{id=\"{number}\"}} 1\n")).collect();
    fs::write(folder.join("lines"), lines).expect("written");
    let file = text(folder.join("lines"));
    (folder, file)
}

/// What `tune` says of the program.
fn tuned(folder: &Path, flags: &[&str], program: &[&str]) -> String {
    let words = [&["tune", "--runs", "8"][..], flags, &["--"], program].concat();
    let result = underbar_in(folder, &words);
    assert_eq!(code(result.status), 0, "{result:?}");
    result.output
}

/// The option was suggested and tried, the output was equal in all runs, and the end says what became of it.
fn is_tried(said: &str, option: &str) {
    assert!(said.contains(&format!("suggested  {option} for ")), "{said}");
    assert!(said.contains("a cache would spare about "), "{said}");
    assert!(said.lines().any(|line| line.starts_with("tried      ") && line.ends_with(option)), "{said}");
    assert!(said.contains("output equal in "), "{said}");
    let became = said.lines().rev().find(|line| line.ends_with(option)).unwrap_or_else(|| panic!("{said}"));
    assert!(became.starts_with("kept ") || became.starts_with("tried, "), "{said}");
    assert_eq!(
        said.contains("\nkept "),
        said.contains("\nconfirmed on fresh runs: ") && !said.contains("nothing: "),
        "{said}"
    );
    has_a_verdict(said);
}

#[test]
fn a_filter_that_flushes_each_line_gets_a_print_cache_or_the_reason_why_not() {
    if installed("sed").is_none() {
        return skip("tune sed -u: sed is not installed");
    }
    let (folder, lines) = with_lines("tune-sed");
    let said = tuned(&folder, &[], &["sed", "-u", "s/total/sum/", &lines]);
    assert!(said.contains("10,000 writes of "), "{said}");
    // It reads byte by byte, so there is another cache to try; this one is tried alone, too.
    is_tried(&said, "PRINT(300)");
}

#[test]
fn a_logger_of_python_gets_a_cache_for_its_file_or_the_reason_why_not() {
    let Some(python) = installed("python3") else { return skip("tune a logger: python3 is not installed") };
    let folder = scratch("tune-logger");
    let source = "import logging\nlogging.basicConfig(filename='log', filemode='w', format='%(message)s')\n\
                  for number in range(10000): logging.warning('request %d', number)\n";
    fs::write(folder.join("logger.py"), source).expect("written");
    let said = tuned(&folder, &["--check", "log"], &[&python, "logger.py"]);
    // The log is 1 % of this program's time on some machines, and less on others.
    if said.contains("Not worth it here: 10,000 writes of ") {
        return;
    }
    is_tried(&said, "WORKFILE(*,0,300)");
}

#[test]
fn a_program_that_fills_its_buffer_gets_no_cache() {
    let Some(awk) = installed("mawk").or(installed("gawk")) else {
        return skip("tune awk: awk is not installed");
    };
    let (folder, lines) = with_lines("tune-awk");
    let said = tuned(&folder, &[], &[&awk, "{ print $1 }", &lines]);
    assert!(!said.contains("PRINT(") && !said.contains("WORKFILE("), "{said}");
}
