//! ECBs in C and C++ programs: what outlives them, faults, forks and the end of storage.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use serde_json::{Value, json};
use underbar_zoo::heap::{cpp, on_heap, plain, preload, text};
use underbar_zoo::{compiled, left, run, scratch, underbar};

const INCLUDE: &str = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../api/capi/include");
const OPTIONS: [&str; 4] = ["", "STORAGE(AA,55)", "HEAP(64K,32K,,FREE)", "RPTSTG(ON)"];
const SIGABRT: i32 = 6;
const SIGSEGV: i32 = 11;

fn program() -> String {
    text(compiled("heap/ecb", "heap-ecb", &["-fno-builtin", "-w", "-pthread", INCLUDE]))
}

/// The case ends well with that output under all options, and is not there without underbar.
fn ends_with(arguments: &[&str], output: &str) {
    let program = program();
    let arguments = [&[program.as_str()], arguments].concat();
    assert_eq!(plain(&arguments).output, "none\n", "weak: the program runs without underbar");
    for options in OPTIONS {
        let found = on_heap(options, &arguments);
        let what = format!("{arguments:?} under {options:?}: {found:?}");
        assert_eq!((found.output.as_str(), found.error.as_str()), (output, ""), "{what}");
        assert!(found.status.success(), "{what}");
    }
}

fn plugin() -> String {
    text(compiled("heap/ecb_plugin", "heap-ecb-plugin.so", &["-shared", "-fPIC"]))
}

#[test]
fn what_the_c_library_keeps_outlives_an_ecb() {
    ends_with(&["library", &plugin()], "kept\n");
}

/// A program at a fixed address that takes a function's address: all libraries then have a place in the program as that address.
#[test]
fn what_the_c_library_keeps_outlives_an_ecb_of_a_program_at_a_fixed_address() {
    // Weak names are not kept for the loader there, so it is linked with the library, which is loaded under that name.
    let library = text(preload().to_path_buf());
    let flags =
        ["-fno-builtin", "-w", "-pthread", "-no-pie", "-fno-pie", "-DTAKES_ADDRESSES", INCLUDE, &library];
    let program = text(compiled("heap/ecb", "heap-ecb-fixed", &flags));
    let plugin = plugin();
    for (arguments, options) in
        [(["library", &plugin], ""), (["outside", &plugin], "ECB(OUTSIDE(heap-ecb-plugin))")]
    {
        let found = on_heap(options, &[&[program.as_str()], &arguments[..]].concat());
        assert_eq!((found.output.as_str(), found.error.as_str()), ("kept\n", ""), "{arguments:?}: {found:?}");
    }
}

#[test]
fn what_a_library_keeps_outlives_an_ecb_where_the_option_names_it() {
    let (program, plugin) = (program(), plugin());
    for options in ["ECB(OUTSIDE(heap-ecb-plugin))", "ECB(64K,OUTSIDE(libssl,heap-ecb*))"] {
        let found = on_heap(options, &[&program, "outside", &plugin]);
        assert_eq!((found.output.as_str(), found.error.as_str()), ("kept\n", ""), "{options}: {found:?}");
    }
    let found = on_heap("ECB(OUTSIDE(libssl))", &[&program, "outside", &plugin]);
    assert_eq!(found.status.signal(), Some(SIGABRT), "{found:?}");
    assert!(found.error.contains("its ECB has ended"), "{found:?}");
}

#[test]
fn a_class_has_the_sizes_that_avl_gives_it() {
    let program = program();
    for (options, says) in [
        ("", "SSL 32 64 128 256 640 40960\nJAVA 32 64 128 256 640 40960\n"),
        (
            "AVL(SSL,32,64,128,256) AVL(JAVA,48,96,512)",
            "SSL 32 64 128 256 640 40960\nJAVA 48 48 96 512 640 40960\n",
        ),
        ("AVL(SSL,80,64K),AVL(,1K)", "SSL 80 80 80 65536 65536 65536\nJAVA 1024 1024 1024 1024 1024 40960\n"),
        (
            "AVL(JAVA,64) [heap-ecb] AVL(JAVA,33) [other] AVL(JAVA,96)",
            "SSL 32 64 128 256 640 40960\nJAVA 48 48 128 256 640 40960\n",
        ),
    ] {
        let found = on_heap(options, &[&program, "sizes", "SSL", "JAVA"]);
        assert_eq!((found.output.as_str(), found.error.as_str()), (says, ""), "{options}: {found:?}");
    }
}

#[test]
fn an_ecb_begins_with_the_area_of_the_option() {
    let program = program();
    for (options, says) in
        [("", "35\n"), ("ECB(4K)", "3\n"), ("ECB(10K)", "11\n"), ("ECB(64K)", "63\n"), ("ECB(1M)", "1023\n")]
    {
        let found = on_heap(options, &[&program, "area"]);
        assert_eq!((found.output.as_str(), found.error.as_str()), (says, ""), "{options}: {found:?}");
    }
}

#[test]
fn exceptions_leave_an_ecb_whole() {
    let program = cpp("ecb", &[INCLUDE]);
    assert_eq!(plain(&[&program]).output, "thrown\n");
    for options in OPTIONS {
        let found = on_heap(options, &[&program]);
        assert_eq!((found.output.as_str(), found.error.as_str()), ("thrown\n", ""), "{options}: {found:?}");
    }
}

#[test]
fn a_fork_inside_an_ecb_leaves_both_whole() {
    ends_with(&["forks"], "forked\n");
}

#[test]
fn a_fork_beside_threads_in_an_ecb_leaves_both_whole() {
    ends_with(&["forks-busy"], "forked\n");
}

#[test]
fn a_fork_beside_a_thread_that_frees_names_outside_leaves_both_whole() {
    ends_with(&["forks-names"], "forked\n");
}

#[test]
fn an_ecb_that_is_entered_again_and_again_needs_no_more_storage() {
    ends_with(&["flat"], "flat\n");
}

#[test]
fn a_process_that_has_locked_itself_in_gets_no_first_ecb() {
    ends_with(&["sandboxed"], "kept\n");
    ends_with(&["sandboxed", "after the first"], "kept\n");
}

#[test]
fn a_double_free_is_named_if_the_second_one_comes_later() {
    let program = program();
    let outside = ["100", "3000", "40000", "300000"].map(|size| ["twice-outside", size]);
    let later = ["40000", "200000", "300000"].map(|size| ["twice-later", size]);
    for [what, size] in outside.into_iter().chain(later) {
        for options in OPTIONS {
            let found = on_heap(options, &[&program, what, size]);
            let case = format!("{what} {size} under {options:?}: {found:?}");
            assert_eq!(found.status.signal(), Some(SIGABRT), "{case}");
            assert!(found.error.contains("free(): double free of 0x"), "{case}");
        }
    }
}

#[test]
fn a_jump_out_of_an_ecb_leaves_it_whole() {
    ends_with(&["jumps"], "jumped\n");
}

#[test]
fn signal_handlers_may_ask_for_storage_between_requests() {
    ends_with(&["signals"], "signalled\n");
}

#[test]
fn without_memory_requests_fail_and_buffers_stay() {
    ends_with(&["exhausts"], "exhausted\n");
}

#[test]
fn ecbs_that_nobody_ends_are_no_fault() {
    ends_with(&["left"], "left\n");
}

#[test]
fn wrong_frees_end_the_program_and_are_named() {
    let program = program();
    for (what, says) in [
        ("ended", "free(): invalid pointer 0x"),
        ("grown", "realloc(): invalid pointer 0x"),
        ("twice", "free(): double free of 0x"),
        ("grown-free", "realloc(): double free of 0x"),
        ("within", "free(): invalid pointer 0x"),
    ] {
        for options in ["", "STORAGE(AA,55)"] {
            let found = on_heap(options, &[&program, what]);
            let case = format!("{what} under {options:?}: {found:?}");
            assert_eq!(found.status.signal(), Some(SIGABRT), "{case}");
            assert!(found.error.starts_with("underbar: ") && found.error.contains(says), "{case}");
            assert_eq!(
                found.error.contains("its ECB has ended"),
                matches!(what, "ended" | "grown"),
                "{case}"
            );
        }
    }
    let file = scratch("ecb").join("report");
    let found = left(&mut run(&["-o", &text(file.clone())], &[&program, "ended"]));
    assert_eq!(found.status.signal(), Some(SIGABRT), "{found:?}");
    let report = std::fs::read_to_string(file).expect("a report");
    let first = report.lines().next().unwrap_or_default();
    assert!(first.contains("its ECB has ended"), "{report}");
}

#[test]
fn storage_of_an_ended_ecb_that_is_still_used_is_named() {
    let program = program();
    for (place, bytes, named) in [
        ("area", "128 bytes", " named SESSION"),
        ("large", "1000000 bytes", " named SESSION"),
        ("frame", "128 bytes", ""),
    ] {
        for (how, says) in [("read", "read access to 0x"), ("write", "write access to 0x")] {
            let found = on_heap("ECB(CHECK)", &[&program, "stale", place, how, "plain"]);
            let case = format!("{place} {how}: {found:?}");
            assert_eq!(found.status.signal(), Some(SIGSEGV), "{case}");
            assert!(found.error.starts_with(&format!("underbar: {says}")), "{case}");
            let ended = format!("of class GONE has ended, 20 bytes into a buffer of {bytes}{named}, in ");
            assert!(found.error.contains(&ended) && found.error.contains("the program itself+0x"), "{case}");
            assert_eq!(found.error.lines().count(), 1, "{case}");
        }
        let found = on_heap("ECB(CHECK)", &[&program, "stale", place, "free", "plain"]);
        assert_eq!(found.status.signal(), Some(SIGABRT), "{found:?}");
        let ended = format!("of class GONE has ended, a buffer of {bytes}{named}, called by ");
        assert!(found.error.contains(&ended), "{place}: {found:?}");
    }
    // The program's own handler gets it; faults of others are its own affair.
    for (how, output, is_told) in
        [("read", "handled 3\n", true), ("null", "handled 3\n", false), ("kill", "handled 3\n", false)]
    {
        let found = on_heap("ECB(CHECK)", &[&program, "stale", "area", how, "handled"]);
        assert_eq!(found.status.code(), Some(7), "{how}: {found:?}");
        assert!(found.output.ends_with(output) && found.error.is_empty() != is_told, "{how}: {found:?}");
    }
    for options in ["", "ECB(CHECK)"] {
        let found = on_heap(options, &[&program, "stale", "area", "kill", "ignored"]);
        assert!(
            options.is_empty() == found.status.success() && found.output.lines().count() <= 2,
            "{found:?}"
        );
        assert_eq!(found.status.signal(), (!options.is_empty()).then_some(SIGSEGV), "{found:?}");
    }
    let found = on_heap("ECB(CHECK)", &[&program, "stale", "area", "read", "once"]);
    assert_eq!(found.status.code(), Some(8), "{found:?}");
    assert!(found.error.contains("of class GONE has ended"), "{found:?}");
    for how in ["null", "kill"] {
        for options in ["ECB(CHECK)", "ECB(CHECK),STACK(1M)"] {
            let found = on_heap(options, &[&program, "stale", "area", how, "plain"]);
            assert_eq!(found.status.signal(), Some(SIGSEGV), "{how} {options}: {found:?}");
            assert_eq!(found.error, "", "{how} {options}: {found:?}");
        }
    }
    let found = on_heap("", &[&program, "stale", "area", "read", "plain"]);
    assert!(found.status.success() && found.output.contains("not noticed"), "{found:?}");
    // What it says stays when the program has ended.
    let file = scratch("ecb-stale").join("report");
    let mut command = run(
        &["-o", &text(file.clone()), "--opts", "ECB(CHECK)"],
        &[&program, "stale", "area", "read", "plain"],
    );
    let found = left(&mut command);
    assert_eq!(found.status.signal(), Some(SIGSEGV), "{found:?}");
    let report = std::fs::read_to_string(file).expect("a report");
    let first = report.lines().next().unwrap_or_default();
    assert!(
        first.contains("heap-ecb: read access to 0x") && first.contains("of class GONE has ended"),
        "{report}"
    );
}

#[test]
fn the_last_requests_of_each_thread_are_told_with_a_fault_and_in_the_report() {
    let program = program();
    let found = on_heap("ECB(CHECK,TRACE(5))", &[&program, "stale", "area", "read", "plain"]);
    assert_eq!(found.status.signal(), Some(SIGSEGV), "{found:?}");
    let lines: Vec<&str> = found.error.lines().collect();
    assert!(lines[0].contains("of class GONE has ended") && lines.len() == 4, "{found:?}");
    assert!(lines[1].contains("the last 2 of 2 requests of this thread in ECBs"), "{found:?}");
    let told = |line: &str| {
        line.contains(" (100 bytes) in ECB ") && line.contains(", called by the program itself+0x")
    };
    assert!(
        lines[2..].iter().all(|line| line.starts_with("underbar:   got     0x") && told(line)),
        "{found:?}"
    );
    let file = scratch("ecb-trace").join("report.json");
    let report = |options: &str, arguments: &[&str]| -> (Value, Option<i32>) {
        let flags = ["--json", "-o", file.to_str().expect("text"), "--opts", options];
        let arguments = [&[program.as_str()], arguments].concat();
        let found = left(&mut run(&flags, &arguments));
        let text = std::fs::read_to_string(&file).expect("a report");
        let report: Value = serde_json::from_str(&text).expect("JSON");
        (report["processes"][0]["ecb_traces"].clone(), found.status.signal())
    };
    // The program died of a signal.
    let (traces, signal) = report("ECB(CHECK,TRACE)", &["stale", "area", "write", "plain"]);
    assert_eq!((signal, &traces[0]["requests"]), (Some(SIGSEGV), &json!(2)), "{traces}");
    // Nine names, of which the last makes a larger table, and buffers of 40 bytes before each.
    let (traces, signal) = report("ECB(TRACE(4))", &["served"]);
    let last = traces[0]["last"].as_array().expect("requests");
    assert_eq!((signal, last.len(), traces.as_array().map(Vec::len)), (None, 4, Some(1)), "{traces}");
    for request in last {
        assert_eq!((&request["kind"], &request["bytes"]), (&json!("got"), &json!(40)), "{traces}");
        assert_eq!(request["caller"]["module"], json!("the program itself"), "{traces}");
    }
    assert_eq!(traces[0]["requests"], json!(320 * 71 + 29), "{traces}");
    let (traces, _) = report("ECB(TRACE(127))", &["resized"]);
    let kinds: Vec<&str> = traces[0]["last"]
        .as_array()
        .expect("requests")
        .iter()
        .filter_map(|request| request["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["freed", "resized", "got", "got", "got"], "{traces}");
    let callers: Vec<&Value> = traces[0]["last"]
        .as_array()
        .expect("requests")
        .iter()
        .map(|request| &request["caller"]["module"])
        .collect();
    assert!(callers.iter().all(|module| **module == json!("the program itself")), "{traces}");
    // Threads have tables of their own, and a child by fork has its own, too.
    let (traces, signal) = report("ECB(TRACE)", &["forks-busy"]);
    assert_eq!((signal, traces.as_array().map(Vec::len)), (None, Some(3)), "{traces}");
    let (traces, _) = report("", &["served"]);
    assert!(traces.is_null(), "{traces}");
}

#[test]
fn ended_ecbs_are_kept_up_to_a_bound() {
    for options in
        ["ECB(CHECK)", "ECB(CHECK(4K))", "ECB(4K,CHECK(20M))", "ECB(1M,CHECK(100M)),STORAGE(AA,55)"]
    {
        let found = on_heap(options, &[&program(), "reused"]);
        assert_eq!((found.output.as_str(), found.error.as_str()), ("reused\n", ""), "{options}: {found:?}");
    }
    let mut cases: Vec<Vec<String>> = vec![vec!["library".to_owned(), plugin()]];
    cases.extend(
        ["forks", "forks-busy", "jumps", "signals", "exhausts", "left", "served"]
            .map(|case| vec![case.to_owned()]),
    );
    for case in cases {
        let program = program();
        let arguments: Vec<&str> =
            [program.as_str()].into_iter().chain(case.iter().map(String::as_str)).collect();
        for options in ["ECB(CHECK(1M))", "ECB(TRACE(9))", "ECB(CHECK,TRACE),STORAGE(AA,55)"] {
            let found = on_heap(options, &arguments);
            assert!(found.status.success() && found.error.is_empty(), "{case:?} under {options}: {found:?}");
        }
    }
}

#[test]
fn a_program_does_the_same_whatever_is_left_out() {
    let (program, plugin) = (program(), plugin());
    for item in ["NOTHING", "ENTRIES", "TAGS", "ALIGN", "LIFO", "SPIN", "TRACE", "LISTS"] {
        let options = format!("ECB(WITHOUT({item}),TRACE(8))");
        for arguments in
            [&["library", &plugin][..], &["forks"], &["forks-busy"], &["jumps"], &["served"], &["low"]]
        {
            let found = on_heap(&options, &[&[program.as_str()], arguments].concat());
            assert!(
                found.status.success() && found.error.is_empty(),
                "{arguments:?} under {options}: {found:?}"
            );
        }
    }
}

#[test]
fn storage_below_2_gib_ends_with_its_ecb_and_is_reported() {
    ends_with(&["low"], "low\n");
    let (program, file) = (program(), scratch("ecb-low").join("report.json"));
    let found = on_heap("ECB(LOW(64K),CHECK)", &[&program, "low", "used"]);
    assert_eq!(found.status.signal(), Some(SIGSEGV), "{found:?}");
    assert!(found.error.contains("of class LOW has ended, 10 bytes into a buffer of 512 bytes"), "{found:?}");
    let found = left(&mut run(&["--json", "-o", file.to_str().expect("text")], &[&program, "low"]));
    assert!(found.status.success(), "{found:?}");
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(&file).expect("a report")).expect("JSON");
    let class = &report["processes"][0]["ecbs"][0];
    let figures = ["ended", "low", "with_low", "low_got", "low_freed"].map(|key| class[key].as_u64());
    assert_eq!(figures, [41, 32_768, 39, 100 + 37 * 3 + 38 * 2 + 1, 38 * 2].map(Some), "{class}");
    let uses = class["low_uses"].as_object().expect("rows");
    assert_eq!(uses["up_to_4096"], json!(1), "{class}");
    assert_eq!(uses.values().filter_map(Value::as_u64).sum::<u64>(), 39, "{class}");
    assert!(class["low_high_water"].as_u64().is_some_and(|most| most > 100_000), "{class}");
    let mut command = Command::new(underbar());
    command.args(["report", "--report", "ztpf"]).arg(&file);
    let text = left(&mut command).output;
    assert!(
        text.contains("TPF 31-BIT VIRTUAL ECB HEAP") && text.contains("TPF 64-BIT PREALLOCATED"),
        "{text}"
    );
    let mut command = Command::new(underbar());
    command.args(["report", "--report", "ecbs"]).arg(&file);
    assert!(left(&mut command).output.contains("  below 2 GiB"));
}

#[test]
fn the_report_of_ecbs_is_what_the_program_did() {
    let file = scratch("ecb-report").join("report.json");
    let report = |options: &str| -> Value {
        let mut flags = vec!["--json", "-o", file.to_str().expect("text")];
        flags.extend(["--opts", options].iter().filter(|_| !options.is_empty()));
        let found = left(&mut run(&flags, &[&program(), "served"]));
        assert!(found.status.success() && found.output == "served\n", "{found:?}");
        let text = std::fs::read_to_string(&file).expect("a report");
        let report: Value = serde_json::from_str(&text).expect("JSON");
        report["processes"][0]["ecbs"].clone()
    };
    for (options, counted) in [("", 10), ("RPTSTG(ON)", 320)] {
        let classes = report(options);
        let (ssl, large) = (&classes[0], &classes[1]);
        assert_eq!((&ssl["name"], &large["name"]), (&json!("SSL"), &json!("LARGE")), "{classes}");
        for (key, figure) in
            [("created", 320), ("ended", 320), ("with_buffer", 320), ("frames", 0), ("counted", counted)]
        {
            assert_eq!(ssl[key], json!(figure), "{key}: {ssl}");
        }
        for (key, figure) in [("ended", 1), ("with_frame", 1), ("frames", 1), ("expanded_tags", 1)] {
            assert_eq!(large[key], json!(figure), "{key}: {large}");
        }
        let list = |at: usize| (&ssl["lists"][at]["got"], &ssl["lists"][at]["freed"]);
        assert_eq!(list(1), (&json!(320 * 30), &json!(320 * 30)), "{ssl}");
        assert_eq!((list(4), list(5)), ((&json!(3_200), &json!(0)), (&json!(320), &json!(0))), "{ssl}");
        let expect = json!({"up_to_48": 30 * counted, "up_to_304": 10 * counted, "up_to_8192": counted});
        assert_eq!(ssl["requests"], expect, "{options}");
        let uses = ssl["uses"].as_object().expect("rows");
        assert_eq!(uses.values().filter_map(Value::as_u64).sum::<u64>(), 320, "{uses:?}");
    }
    // In the layout of z/TPF, and read back.
    let listing = scratch("ecb-listing").join("ztpf.txt");
    let mut command = Command::new(underbar());
    command.args(["report", "--report", "ztpf", "-o"]).arg(&listing).arg(&file);
    assert!(left(&mut command).status.success());
    let text = std::fs::read_to_string(&listing).expect("a listing");
    assert!(
        text.contains("SETNAME = SSL\n") && text.contains("          64         9600       73.17%\n"),
        "{text}"
    );
    let found = left(Command::new(underbar()).arg("advise").arg(&listing));
    assert!(found.output.contains("z/TPF, set SSL") && found.output.contains("HAVSZ1"), "{found:?}");
    let found = left(Command::new(underbar()).arg("advise").arg(&file));
    assert!(found.output.contains("AVL(SSL,"), "{found:?}");
}

/// The report of a run of the program, with what it printed.
fn reported(what: &str, name: &str) -> (std::path::PathBuf, Value, String) {
    let file = scratch(name).join("report.json");
    let found = left(&mut run(&["--json", "-o", file.to_str().expect("text")], &[&program(), what]));
    assert!(found.status.success(), "{found:?}");
    let text = std::fs::read_to_string(&file).expect("a report");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    (file, report["processes"][0]["ecbs"].clone(), found.output)
}

/// The program counts for itself what it asks for.
#[test]
fn ecbs_are_reported_by_their_name_value_pairs() {
    let (file, classes, printed) = reported("pairs", "ecb-pairs");
    let pairs = classes[0]["pairs"].as_array().expect("pairs");
    let counted: Vec<String> = pairs
        .iter()
        .map(|pair| {
            let text = |key: &str| pair[key].as_str().expect("text").to_owned();
            let list = |at: usize, key: &str| pair["lists"][at][key].as_u64().expect("a number");
            let (small, large) = (list(1, "got"), list(4, "got"));
            assert_eq!(pair["bytes"], json!(small * 64 + large * 512), "{pair}");
            let high_water = pair["high_water"].as_u64().expect("a number");
            assert!((64 * 3 + 512..4_096).contains(&high_water), "{pair}");
            assert_eq!(pair["with_buffer"], pair["ecbs"], "{pair}");
            format!(
                "{} {} {} {small} {large} {}\n",
                text("name"),
                text("value"),
                pair["ecbs"],
                list(1, "freed")
            )
        })
        .collect();
    let mut expected: Vec<&str> = printed.split_inclusive('\n').collect();
    let mut found: Vec<&str> = counted.iter().map(String::as_str).collect();
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected, "{pairs:#?}");
    let mut command = Command::new(underbar());
    command.args(["report", "--report", "all"]).arg(&file);
    let text = left(&mut command).output;
    assert!(text.contains("TRANSACTION PAY              50 ECBs, 550 buffers of"), "{text}");
}

#[test]
fn classes_beyond_the_last_row_are_told() {
    let (file, classes, _) = reported("classes", "ecb-many-classes");
    let all = classes.as_array().expect("classes");
    let last = all.last().expect("some");
    assert_eq!(
        (all.len(), &last["name"], &last["sharing"], &last["ended"]),
        (16, &json!("(others)"), &json!(15), &json!(30))
    );
    assert_eq!((&all[14]["name"], &all[14]["sharing"]), (&json!("CLASS14"), &json!(0)));
    let text = left(Command::new(underbar()).args(["report"]).arg(&file)).output;
    assert!(text.contains("60 of 30 classes ended"), "{text}");
}
