//! Functions, lines and sites of real programs: with inlined functions, C++ and Rust names, and without any names.

mod programs_of_test;

use std::process::Command;

use programs_of_test::{built, take};
use underbar_sites::report::Report;

/// The functions of the only stack, innermost first, up to main.
fn functions(report: &Report) -> Vec<String> {
    let [stack] = &report.stacks[..] else { panic!("one stack") };
    let all = stack.locations.iter().flat_map(|at| &report.locations[*at].functions);
    let mut names: Vec<String> =
        all.map(|function| function.function.clone().unwrap_or_else(|| "?".to_owned())).collect();
    let main = names.iter().position(|name| name == "main").expect("main");
    names.truncate(main + 1);
    names
}

#[test]
fn inlined_functions_are_named_with_their_lines() {
    let Some(program) = built("names", "callers.c", &["-O2", "-fomit-frame-pointer"]) else { return };
    let report = take(&program, "plain", &[]).report(1 << 20);
    assert_eq!(functions(&report), ["inlined_twice", "leaf", "saves", "moves", "main"]);
    let [site] = &report.sites[..] else { panic!("one site") };
    assert_eq!(site.function.as_deref(), Some("inlined_twice"));
    assert!(site.file.as_deref().is_some_and(|file| file.ends_with("callers.c")), "{site:?}");
    let source = include_str!("programs/callers.c");
    let line = source.lines().position(|line| line.trim() == "take();").expect("the call") + 1;
    // The address before the call's end is in the call's own line.
    assert_eq!(site.line, Some(line as u64));
    let figures = &site.figures;
    assert_eq!((figures.requested.samples, figures.in_use_at_end.samples), (1, 1));
    assert_eq!((report.walks["whole"], report.processes, figures.most_in_use.percent), (1, 1, 100.0));
}

#[test]
fn names_of_cpp_and_rust_are_those_of_the_source() {
    if let Some(program) = built("names-cpp", "callers.cc", &["-O2", "-fomit-frame-pointer"]) {
        let names = functions(&take(&program, "template", &[]).report(1));
        let has = |part: &str| names.iter().any(|name| name.contains(part));
        assert!(has("shop::Basket<long>::each") && !has("_Z"), "{names:?}");
    }
    if let Some(program) = built("names-rust", "callers.rs", &["-Copt-level=3"]) {
        let report = take(&program, "", &[]).report(1);
        let names = functions(&report);
        assert_eq!(names[0], "callers::inner", "{names:?}");
        assert!(names.iter().any(|name| name == "<callers::Wood as callers::Shelf>::put"), "{names:?}");
        assert_eq!(report.sites[0].function.as_deref(), Some("callers::inner"));
    }
}

#[test]
fn stripped_programs_have_places_and_say_so() {
    let Some(program) = built("bare", "callers.c", &["-O2"]) else { return };
    if !Command::new("strip").arg(&program.path).status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: no strip");
        return;
    }
    let report = take(&program, "plain", &[]).report(1);
    assert_eq!(report.walks["whole"], 1, "callers are found all the same");
    let first = &report.locations[report.stacks[0].locations[0]];
    assert_eq!((first.note.as_deref(), first.functions.len()), (Some("stripped"), 0));
    assert!(first.address > 0 && first.module.ends_with("/bare"), "{first:?}");
    let site = &report.sites[0];
    assert_eq!((site.address, site.note.as_deref()), (Some(first.address), Some("stripped")));
}

#[test]
fn a_process_that_was_never_seen_has_sums_without_callers() {
    let Some(program) = built("unseen", "callers.c", &["-O2"]) else { return };
    let mut taken = take(&program, "plain", &[]);
    taken.process = 1 << 30;
    let report = taken.report(1 << 20);
    assert_eq!((report.walks["unmapped"], report.samples), (1, 1));
    assert_eq!(report.sites[0].note.as_deref(), Some("without a stack"));
}
