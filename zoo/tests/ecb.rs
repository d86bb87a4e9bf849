//! ECBs in C and C++ programs: what outlives them, faults, forks and the end of storage.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use serde_json::{Value, json};
use underbar_zoo::heap::{cpp, on_heap, plain, text};
use underbar_zoo::{compiled, left, run, scratch, underbar};

const INCLUDE: &str = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../api/capi/include");
const OPTIONS: [&str; 4] = ["", "STORAGE(AA,55)", "HEAP(64K,32K,,FREE)", "RPTSTG(ON)"];
const SIGABRT: i32 = 6;

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
