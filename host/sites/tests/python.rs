//! Functions of Python, by the map that it writes on request (`-X perf`), and how they are shown without it.

mod programs_of_test;

use std::path::PathBuf;
use std::process::Command;

use programs_of_test::{Program, built, take_by};
use underbar_sites::report::Report;

/// A program whose two functions call `take`.
const PROGRAM: &str = "\
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
def inner():
    library.take()
def outer():
    inner()
outer()
";

/// A Python that can write the map, and the library with `take`; None if there is none.
fn python() -> Option<(PathBuf, Program)> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let versions = std::fs::read_dir(home.join(".pyenv/versions")).into_iter().flatten().flatten();
    let own = versions.map(|version| version.path().join("bin/python3"));
    let can_write = |python: &PathBuf| {
        let mut command = Command::new(python);
        command.args(["-X", "perf", "-c", "import sys; sys.exit(not sys.is_stack_trampoline_active())"]);
        command.output().is_ok_and(|output| output.status.success())
    };
    let Some(python) = [PathBuf::from("python3")].into_iter().chain(own).find(can_write) else {
        eprintln!("skipped: no Python that writes a map");
        return None;
    };
    let library = built("libtake.so", "library.c", &["-shared", "-fPIC"])?;
    Some((python, library))
}

fn report(flags: &[&str]) -> Option<Report> {
    let (python, library) = python()?;
    let mut command = Command::new(python);
    command.args(flags).args(["-c", PROGRAM]).arg(&library.path);
    let taken = take_by(&mut command);
    let map = PathBuf::from(format!("/tmp/perf-{}.map", taken.process));
    let report = taken.report(1 << 20);
    let _ = std::fs::remove_file(map);
    Some(report)
}

#[test]
fn functions_of_python_are_named_by_its_map() {
    let Some(report) = report(&["-X", "perf"]) else { return };
    let site = &report.sites[0];
    assert_eq!((site.function.as_deref(), site.file.as_deref()), (Some("inner"), Some("<string>")));
    let [stack] = &report.stacks[..] else { panic!("one stack") };
    let names = stack.locations.iter().flat_map(|at| &report.locations[*at].functions);
    let own: Vec<_> = names
        .filter(|function| function.file.as_deref() == Some("<string>"))
        .filter_map(|function| function.function.as_deref())
        .collect();
    assert_eq!((own, &*stack.end), (vec!["inner", "outer", "<module>"], "whole"));
}

#[test]
fn without_a_map_the_interpreter_is_named_as_such() {
    let Some(report) = report(&[]) else { return };
    let notes = report.locations.iter().filter_map(|location| location.note.as_deref());
    assert!(notes.into_iter().any(|note| note == "CPython, line unknown"), "{:?}", report.sites);
}
