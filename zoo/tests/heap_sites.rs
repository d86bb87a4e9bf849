//! `underbar heap` and `run --sites` with programs whose sites are known: by function and line, with the bytes that they requested, kept
//! and still have at the end.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use serde_json::Value;
use underbar_ledger::sites::RING_OFFSET;
use underbar_zoo::{Left, code, compiled, left, scratch, text, try_compiled, underbar};

const MIB: f64 = 1_048_576.0;

/// One sample for each 256 KiB, however fast the program is: all find room, also if nobody reads meanwhile.
const OPTIONS: &str = "SITES(ON,256K,,0)";

fn lines(name: &str, flags: &[&str]) -> String {
    let flags = [&["-g", "-O2", "-fomit-frame-pointer"], flags].concat();
    text(&compiled("sites/lines", &format!("lines-{name}"), &flags)).to_owned()
}

/// `underbar heap FLAGS -- PROGRAM`.
fn heap(flags: &[&str], program: &str) -> Left {
    left(Command::new(underbar()).arg("heap").args(flags).args(["--", program]))
}

/// The line of the source with this comment.
fn line_of(function: &str) -> u64 {
    let source = include_str!("../programs/sites/lines.c");
    let found = source.lines().position(|line| line.ends_with(&format!("/* {function} */")));
    found.expect("the comment") as u64 + 1
}

fn figure(value: &Value, kind: &str, key: &str) -> f64 {
    value[kind][key].as_f64().unwrap_or_else(|| panic!("{kind} {key}: {value}"))
}

#[test]
fn sites_have_their_lines_and_bytes() {
    let program = lines("json", &[]);
    let left = heap(&["--opts", OPTIONS, "--json"], &program);
    assert_eq!((code(left.status), left.output.as_str()), (7, "done 1\n"), "{}", left.error);
    let report: Value =
        serde_json::from_str(&left.error).unwrap_or_else(|error| panic!("{error}: {}", left.error));
    assert_eq!(report["schema"], "underbar.heap/1");
    let site = |function: &str| {
        let sites = report["sites"].as_array().expect("sites");
        let site =
            sites.iter().find(|site| site["function"] == function && site["line"] == line_of(function));
        site.unwrap_or_else(|| panic!("{function}:{}: {}", line_of(function), report["sites"]))
    };
    let near = |function: &str, kind: &str, mib: f64| {
        let site = site(function);
        let bytes = figure(site, kind, "bytes") / MIB;
        let samples = figure(site, kind, "samples");
        assert!(samples >= 50.0, "{function} {kind}: {samples} samples");
        // Five standard errors: it does not happen by chance.
        let error = 5.0 * mib / samples.sqrt();
        assert!((bytes - mib).abs() <= error, "{function} {kind}: {bytes}, not {mib}, of {samples} samples");
        assert!(figure(site, kind, "bytes_low") / MIB <= bytes);
    };
    near("keep_records", "in_use_at_end", 32.0);
    near("keep_records", "requested", 32.0);
    near("read_lines", "requested", 256.0);
    near("one_page", "most_in_use", 64.0);
    for function in ["read_lines", "one_page"] {
        assert_eq!(figure(site(function), "in_use_at_end", "samples"), 0.0, "{function}");
    }
    assert_eq!((&report["lost"], &report["processes"]), (&0.into(), &1.into()));
    // Everybody reaches main, so the callers are known, whoever found them.
    assert_eq!(report["walks"]["whole"], report["samples"], "{}", report["walks"]);
}

#[test]
fn all_forms_are_written_and_the_program_is_undisturbed() {
    let program = lines("forms", &[]);
    let folder = scratch("heap-forms");
    let [folded, pprof, output] = ["folded", "pprof", "out"].map(|name| text(&folder.join(name)).to_owned());
    let flags = ["--mean", "64K", "--folded", &folded, "--pprof", &pprof, "-o", &output, "--top", "2"];
    // However fast the program is: each of its sites has samples.
    let left = heap(&[&flags[..], &["--opts", "SITES(ON,,,0)"]].concat(), &program);
    assert_eq!((code(left.status), left.output.as_str(), left.error.as_str()), (7, "done 1\n", ""));
    let report = fs::read_to_string(&output).expect("a report");
    for words in [
        "Most in use: ",
        "Requested most: ",
        "Still in use at the end: ",
        "read_lines at lines.c:",
        "called by load_table, main",
    ] {
        assert!(report.contains(words), "{words}: {report}");
    }
    let folded = fs::read_to_string(&folded).expect("stacks");
    assert!(folded.lines().any(|line| line.contains(";main;load_table;one_page ")), "{folded}");
    let pprof = fs::read(&pprof).expect("a profile");
    let has = |text: &[u8]| pprof.windows(text.len()).any(|window| window == text);
    assert!(has(b"keep_records") && has(b"inuse_space") && has(b"lines.c"));
}

/// The figures of sites on a page: path, value, words.
fn figures_of_page(page: &str) -> Vec<(String, f64, String)> {
    let mut all = Vec::new();
    for part in page.split("<data data-path=\"").skip(1) {
        let (path, rest) = part.split_once("\" value=\"").expect("a value");
        let (value, rest) = rest.split_once("\">").expect("its end");
        let (words, _) = rest.split_once("</data>").expect("words");
        all.push((path.to_owned(), value.parse().expect("a number"), words.to_owned()));
    }
    all
}

/// Each figure of the page is that of the JSON, and each of the ten largest sites of each table is on the page.
fn check_page(page: &str, sites: &Value) {
    let shown = figures_of_page(page);
    for (path, value, words) in &shown {
        let own = sites.pointer(&format!("/{}", path.replace('.', "/"))).and_then(Value::as_f64);
        assert_eq!(own, Some(*value), "{path}: {words}");
    }
    let mut graphs = page.split("<svg class=\"frames\"").skip(1);
    for of in ["most_in_use", "requested", "in_use_at_end"] {
        let all = sites["sites"].as_array().expect("sites");
        let with = all.iter().filter(|site| site[of]["samples"] != 0).count().min(10);
        let rows = shown.iter().filter(|(path, ..)| path.ends_with(&format!("{of}.bytes"))).count();
        assert_eq!(rows, with, "{of}");
        assert!(with > 0, "{of}");
        // The graph is as wide as its stacks together.
        let stacks = sites["stacks"].as_array().expect("stacks");
        let bytes: u64 = stacks.iter().filter_map(|stack| stack[of]["bytes"].as_u64()).sum();
        let graph = graphs.next().expect("a graph");
        let root = graph.split_once("data-v=\"").and_then(|(_, rest)| rest.split_once('"')).expect("a root");
        assert_eq!(root.0, bytes.to_string(), "{of}");
    }
}

#[test]
fn a_page_has_the_figures_of_the_json() {
    let program = lines("page", &[]);
    let folder = scratch("heap-page");
    let [page, json] = ["page.html", "sites.json"].map(|name| text(&folder.join(name)).to_owned());
    let ran = heap(&["--opts", OPTIONS, "--json", "-o", &json, "--html", &page], &program);
    assert_eq!((code(ran.status), ran.output.as_str(), ran.error.as_str()), (7, "done 1\n", ""));
    let sites: Value = serde_json::from_slice(&fs::read(&json).expect("JSON")).expect("JSON");
    let html = fs::read_to_string(&page).expect("a page");
    check_page(&html, &sites);
    assert!(html.contains(&format!("read_lines at lines.c:{}", line_of("read_lines"))));
    // The report of a run has the same, and its JSON has the sites.
    let flags = ["run", "--sites", "--opts", OPTIONS, "--json", "-o", &json, "--html", &page, "--", &program];
    let ran = left(Command::new(underbar()).args(flags));
    assert_eq!((code(ran.status), ran.error.as_str()), (7, ""));
    let report: Value = serde_json::from_slice(&fs::read(&json).expect("JSON")).expect("JSON");
    assert_eq!(
        (&report["schema"], &report["sites"]["schema"]),
        (&"underbar.report/1".into(), &"underbar.heap/1".into())
    );
    check_page(&fs::read_to_string(&page).expect("a page"), &report["sites"]);
}

/// The heap's own counts are next to the estimates: exact, and in the JSON as on the page.
#[test]
fn the_heap_s_own_counts_are_next_to_the_estimates() {
    let program = lines("counts", &[]);
    let ran = heap(&["--opts", OPTIONS, "--json"], &program);
    let report: Value =
        serde_json::from_str(&ran.error).unwrap_or_else(|error| panic!("{error}: {}", ran.error));
    let count =
        |key: &str| report["heap"][key].as_f64().unwrap_or_else(|| panic!("{key}: {}", report["heap"]));
    // By the program's own tables: 32 MiB stay, 64 MiB are in use for a while, and 256 MiB come and go.
    let (least, most) = (count("requested_bytes_least") / MIB, count("requested_bytes_most") / MIB);
    assert!(least <= 352.0 && 352.0 <= most, "{least} to {most}");
    let at_end = count("in_use_at_end_bytes") / MIB;
    assert!((31.9..40.0).contains(&at_end), "{at_end}");
    let peak = count("most_in_use_bytes") / MIB;
    assert!((64.0..130.0).contains(&peak), "{peak}");
    for (kind, counted) in [("in_use_at_end", at_end), ("most_in_use", peak)] {
        let total = &report["total"];
        let (bytes, samples) = (figure(total, kind, "bytes") / MIB, figure(total, kind, "samples"));
        // What is counted is rounded up by an eighth at most.
        let error = 5.0 * counted / samples.sqrt();
        assert!(
            bytes - error <= counted && counted <= bytes * 1.13 + error,
            "{kind}: {bytes}, counted {counted}"
        );
    }
    let ran = heap(&["--opts", OPTIONS], &program);
    assert_eq!(ran.error.matches("; the heap counted ").count(), 3, "{}", ran.error);
}

/// Also if no sample was taken then: the moment is that of the run's own figure.
#[test]
fn most_in_use_is_when_the_heap_had_its_peak() {
    let program = lines("peak", &[]);
    let folder = scratch("heap-peak");
    let json = text(&folder.join("report.json")).to_owned();
    let flags = ["run", "--sites", "--opts", "SITES(ON,16M,,0)", "--json", "-o", &json, "--", &program];
    let ran = left(Command::new(underbar()).args(flags));
    assert_eq!((code(ran.status), ran.error.as_str()), (7, ""));
    let report: Value = serde_json::from_slice(&fs::read(&json).expect("JSON")).expect("JSON");
    let most = report["sites"]["heap"]["most_in_use_bytes"].as_f64().expect("a count");
    let peak = report["tree"]["counters"]["heap"]["used_peak"].as_f64().expect("a figure");
    assert!((most - peak).abs() <= peak / 50.0, "{most} of {peak}");
}

/// What a thread counts for itself until later belongs to the moment at which it was got: before the free that follows, not after it.
#[test]
fn what_is_freed_after_the_peak_was_in_use_at_the_peak() {
    let program = text(&compiled("sites/known", "heap-grown", &["-g", "-fno-builtin"])).to_owned();
    let line = ["heap", "--json", "--opts", "SITES(ON,8M,,0)", "--", &program, "grown"];
    let ran = left(Command::new(underbar()).args(line));
    assert_eq!(code(ran.status), 0, "{}", ran.error);
    let report: Value =
        serde_json::from_str(&ran.error).unwrap_or_else(|error| panic!("{error}: {}", ran.error));
    let bytes = figure(&report["total"], "most_in_use", "bytes") / MIB;
    assert!((512.0..520.0).contains(&bytes), "{bytes}: {}", report["total"]);
    assert_eq!(figure(&report["total"], "in_use_at_end", "samples"), 1.0, "{}", report["total"]);
}

#[test]
fn a_piece_of_stack_that_is_too_short_has_an_option_that_mends_it() {
    let flags = ["-pthread", "-fno-builtin", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"];
    let program = text(&compiled("sites/known", "heap-deep", &flags)).to_owned();
    let report = |options: &str| {
        left(Command::new(underbar()).args(["heap", "--opts", options, "--", &program, "deep"])).error
    };
    let short = report("SITES(ON,16K,1K,0)");
    assert!(
        short.contains("To follow those deeper than the copied 1 KiB: --opts 'SITES(ON,,64K)'."),
        "{short}"
    );
    let long = report("SITES(ON,16K,64K,0)");
    assert!(!long.contains("To follow those"), "{long}");
}

#[test]
fn a_summary_has_a_line() {
    let program = lines("summary", &[]);
    let left = left(Command::new(underbar()).args(["run", "--sites", "--opts", OPTIONS, "--", &program]));
    assert_eq!((code(left.status), left.output.as_str()), (7, "done 1\n"), "{}", left.error);
    let last = left.error.lines().last().expect("a line");
    let expected = format!("most in use: one_page at lines.c:{}, ", line_of("one_page"));
    assert!(last.starts_with(&expected) && last.ends_with(']'), "{}", left.error);
}

#[test]
fn programs_that_cannot_be_sampled_are_not_run() {
    let Ok(program) = try_compiled("sites/lines", "lines-static", &["-static"]) else {
        underbar_zoo::skip("a static program: it cannot be linked here");
        return;
    };
    let left = heap(&[], text(&program));
    assert_eq!((code(left.status), left.output.as_str()), (125, ""), "{}", left.error);
    assert!(left.error.starts_with("underbar: error: nothing was run: "), "{}", left.error);
}

/// In words; who reads the JSON from standard error learns it from the status, which is the same.
#[test]
fn a_signal_that_killed_the_program_is_named() {
    for (flags, is_said) in [(&[][..], true), (&["--json"], false)] {
        let mut command = Command::new(underbar());
        command.arg("heap").args(flags).args(["--", "sh", "-c", "kill -TERM $$"]);
        let left = left(&mut command);
        assert_eq!(left.status.signal(), Some(15), "{left:?}");
        let words = "underbar: warning: the program was killed by signal 15 (SIGTERM)\n";
        assert_eq!(left.error.starts_with(words), is_said, "{}", left.error);
    }
}

#[test]
fn stripped_programs_and_children_have_sites() {
    let program = lines("stripped", &["-s"]);
    let shell = format!("{program}; {program}; exit 3");
    let left =
        left(Command::new(underbar()).args(["heap", "--opts", OPTIONS, "--json", "--", "sh", "-c", &shell]));
    assert_eq!(code(left.status), 3, "{}", left.error);
    let report: Value =
        serde_json::from_str(&left.error).unwrap_or_else(|error| panic!("{error}: {}", left.error));
    let sites = report["sites"].as_array().expect("sites");
    // The shell itself is probably stripped, too.
    let place = sites.iter().find(|site| site["note"] == "stripped" && site["module"] == program.as_str());
    let place = place.unwrap_or_else(|| panic!("{sites:?}"));
    assert!(place["address"].as_u64().is_some_and(|address| address > 0), "{place}");
    assert_eq!(report["processes"].as_u64().map(|processes| processes >= 2), Some(true), "{report}");
}

#[test]
fn a_ledger_without_a_parent_has_its_sites() {
    let program = lines("ledger", &[]);
    let folder = scratch("heap-ledger");
    let [ledger, page, json] =
        ["accounts.ledger", "page.html", "report.json"].map(|name| text(&folder.join(name)).to_owned());
    let flags = ["run", "--exec", "--sites", "--opts", OPTIONS, "-o", &ledger, "--", &program];
    let ran = left(Command::new(underbar()).args(flags));
    assert_eq!((code(ran.status), ran.output.as_str(), ran.error.as_str()), (7, "done 1\n", ""));
    let report = |flags: &[&str]| {
        let printed = left(Command::new(underbar()).args(["report", &ledger]).args(flags));
        assert_eq!(code(printed.status), 0, "{}", printed.error);
        printed.output
    };
    let line = format!("\nmost in use: one_page at lines.c:{}, ", line_of("one_page"));
    // Reading leaves no trace: it can be read again.
    for _ in 0..2 {
        let printed = report(&[]);
        assert!(printed.contains(&line), "{printed}");
    }
    fs::write(&json, report(&["--json"])).expect("written");
    let saved: Value = serde_json::from_slice(&fs::read(&json).expect("JSON")).expect("JSON");
    report(&["--html", &page]);
    check_page(&fs::read_to_string(&page).expect("a page"), &saved["sites"]);
    // A file that ends within its samples: the report says that some are missing.
    let areas = || {
        fs::read_dir(&folder)
            .expect("a folder")
            .flatten()
            .filter(|file| text(&file.path()).ends_with(".sites"))
    };
    for area in areas() {
        let whole = fs::OpenOptions::new().write(true).open(area.path()).expect("an area");
        whole.set_len((RING_OFFSET + 64) as u64).expect("cut");
    }
    let printed = report(&[]);
    assert!(printed.contains("Some samples are not shown: the files of 1 process end early, "), "{printed}");
    // Without the files next to it, the report says why there are none.
    for area in areas() {
        fs::write(area.path(), "cut").expect("written");
    }
    let printed = report(&[]);
    assert!(printed.contains("\nno call sites: its site files cannot be read"), "{printed}");
    for area in areas() {
        fs::remove_file(area.path()).expect("removed");
    }
    let printed = report(&[]);
    assert!(printed.contains("\nno call sites: nothing is sampled yet"), "{printed}");
}

/// The constructors of a program's libraries run before that of the preloaded one.
#[test]
fn a_constructor_of_a_library_has_its_callers() {
    for frames in ["-fomit-frame-pointer", "-fno-omit-frame-pointer"] {
        let flags = ["-g", "-O2", "-fno-builtin", frames];
        let library = [&flags[..], &["-DLIBRARY", "-shared", "-fPIC"]].concat();
        let library = compiled("sites/early", &format!("libearly{frames}.so"), &library);
        let program =
            compiled("sites/early", &format!("early{frames}"), &[&flags[..], &[text(&library)]].concat());
        let left = heap(&["--opts", OPTIONS, "--json"], text(&program));
        assert_eq!(code(left.status), 0, "{}", left.error);
        let report: Value =
            serde_json::from_str(&left.error).unwrap_or_else(|error| panic!("{error}: {}", left.error));
        let named = |place: &Value| {
            let place = &report["locations"][place.as_u64().expect("a place") as usize];
            place["functions"][0]["function"].as_str().unwrap_or_default().to_owned()
        };
        let stacks = report["stacks"].as_array().expect("stacks");
        let stacks: Vec<Vec<String>> = stacks
            .iter()
            .map(|stack| stack["locations"].as_array().expect("places").iter().map(named).collect())
            .collect();
        let expected = ["load_entry", "load_entries", "begin_library"];
        assert!(
            stacks.iter().any(|stack| stack.iter().zip(expected).all(|(name, known)| name == known)),
            "{stacks:?}"
        );
        assert!(report["walks"]["whole"].as_u64() > Some(50), "{frames}: {}", report["walks"]);
    }
}

/// ECBs are not sampled, and the report says how much that is.
#[test]
fn requests_in_ecbs_are_told_to_be_missing() {
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../api/capi/include");
    let program = compiled("heap/ecb_sizes", "heap-sites-ecb", &["-fno-builtin", include]);
    let ran = left(Command::new(underbar()).args(["heap", "--"]).args([text(&program), "50", "100"]));
    assert_eq!(code(ran.status), 0, "{}", ran.error);
    let expected = "Not sampled: 10,000 requests in ECBs, ";
    assert!(ran.error.lines().any(|line| line.starts_with(expected)), "{}", ran.error);
}
