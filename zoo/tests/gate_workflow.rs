//! The workflow that is shipped for GitHub Actions (`share/ci/github.yml`): its steps are run here, as a job would run them.
//!
//! ```text
//! a repository: base (4 MiB), head ── each `run:` of the file, by bash -e, with a job's variables ── exit status, annotations, summary
//! ```

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use underbar_zoo::{scratch, underbar};

/// A step with a script.
#[derive(Debug, Default)]
struct Step {
    name: String,
    script: String,
}

/// The steps of the file that have a script, in their order.
fn steps() -> Vec<Step> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../share/ci/github.yml");
    let text = fs::read_to_string(file).expect("shipped");
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut steps: Vec<Step> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(name) = line.trim().strip_prefix("- name: ") {
            steps.push(Step { name: name.to_owned(), ..Step::default() });
        }
        if line.trim() == "run: |" {
            let outer = indent(line);
            let step = steps.last_mut().expect("each script has a name");
            while let Some(line) = lines.next_if(|line| line.trim().is_empty() || indent(line) > outer) {
                step.script += line.get(outer + 2..).unwrap_or_default();
                step.script.push('\n');
            }
        } else {
            assert!(!line.trim_start().starts_with("run:"), "scripts are blocks: {line}");
        }
    }
    steps
}

fn git(folder: &Path, words: &[&str]) -> String {
    let mut git = Command::new("git");
    git.current_dir(folder).args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(words);
    let output = git.output().expect("git");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A repository with a base and a head, whose programs hold so many MiB.
fn repository(folder: &Path, sizes: [u32; 2]) -> (PathBuf, String) {
    let place = folder.join("repository");
    fs::create_dir_all(&place).expect("a folder");
    git(&place, &["init", "--quiet"]);
    fs::write(place.join("Makefile"), "prog: prog.c\n\tcc -O0 -o prog prog.c\n").expect("written");
    let commits = sizes.map(|size| {
        let source = format!(
            "#include <stdlib.h>\n#include <string.h>\n\
             int main(void) {{ for (int at = 0; at < {size} * 16; at++) {{ char *p = malloc(65000); if (!p) return 1; memset(p, 1, 65000); }} return 0; }}\n"
        );
        fs::write(place.join("prog.c"), source).expect("written");
        git(&place, &["add", "."]);
        git(&place, &["commit", "--quiet", "--allow-empty", "-m", "x"]);
        git(&place, &["rev-parse", "HEAD"])
    });
    (place, commits[0].clone())
}

/// Runs all steps; the output of the last one, and the summary of the job.
fn job(name: &str, sizes: [u32; 2]) -> (Output, String) {
    let folder = scratch(name);
    let (place, base) = repository(&folder, sizes);
    let temporary = folder.join("temporary");
    let tools = folder.join("tools");
    fs::create_dir_all(&temporary).expect("a folder");
    fs::create_dir_all(&tools).expect("a folder");
    symlink(underbar(), tools.join("underbar")).expect("linked");
    let path = std::env::var("PATH").expect("a path");
    let summary = folder.join("summary.md");
    let mut last = None;
    for step in steps() {
        let script = folder.join("step.sh");
        fs::write(&script, &step.script).expect("written");
        let mut run = Command::new("bash");
        run.arg("-e").arg(&script).current_dir(&place).env("PATH", format!("{}:{path}", tools.display()));
        run.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", &summary).env("RUNNER_TEMP", &temporary);
        run.env("BASE", &base).env("XDG_CONFIG_HOME", "/nowhere").env_remove("UNDERBAR_OPTS");
        let output = run.output().expect("bash");
        let is_gate = step.name == "Gates";
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(is_gate || output.status.success(), "{}: {error}", step.name);
        last = Some(output);
    }
    (last.expect("a step"), fs::read_to_string(summary).expect("a summary"))
}

#[test]
fn the_steps_are_those_of_the_file() {
    let steps = steps();
    let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["Find underbar", "Build both sides", "Run both sides in turns", "Gates"]);
    assert!(steps.iter().all(|step| step.script.contains("underbar") || step.script.contains("make")));
}

#[test]
fn a_change_that_needs_more_memory_fails_the_job() {
    let (gates, summary) = job("workflow-fails", [4, 6]);
    let error = String::from_utf8_lossy(&gates.stderr);
    assert_eq!(gates.status.code(), Some(1), "{error}");
    let annotation = "::error title=underbar gate failed%3A heap.used_peak > +5%25::heap.used_peak > +5%25: ";
    assert!(error.lines().any(|line| line.starts_with(annotation)), "{error}");
    assert!(summary.contains("| heap.used&#95;peak &#62; +5% | failed | "), "{summary}");
}

#[test]
fn a_change_that_needs_no_more_passes() {
    let (gates, summary) = job("workflow-passes", [4, 4]);
    let error = String::from_utf8_lossy(&gates.stderr);
    assert_eq!(gates.status.code(), Some(0), "{error}");
    assert!(!error.contains("::error"), "{error}");
    assert!(summary.starts_with("### underbar\n\n| gate | verdict | why |\n"), "{summary}");
    assert!(summary.contains("| heap.used&#95;peak &#62; +5% | passed | "), "{summary}");
}
