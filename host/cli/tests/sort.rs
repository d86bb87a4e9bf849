//! `underbar sort` as a user runs it: outputs, summaries, errors.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a test is no door to anybody's terminal"
)]

mod common;

use std::io::Write;
use std::process::Stdio;

use common::{Folder, bad, command, good, said};
use serde_json::Value;

#[test]
fn lines_are_sorted_whole_or_by_keys() {
    let folder = Folder::new("sort-lines");
    let input = folder.file("in", "b 2\na 3\n\nc 1");
    for (flags, expect) in [
        (&[][..], "\na 3\nb 2\nc 1\n"),
        (&["-k", "1.3,1.3"], "\nc 1\nb 2\na 3\n"),
        (&["-k", "1r"], "c 1\nb 2\na 3\n\n"),
        (&["-e", "SORT FIELDS=(3,1,ZD,D)", "-e", "OMIT COND=(1,1,CH,EQ,C'b')"], "a 3\nc 1\n\n"),
        (&["-e", "OPTION COPY,SKIPREC=1,STOPAFT=1"], "a 3\n"),
    ] {
        let output = folder.name("out");
        assert_eq!(good(&[&["sort", "-q", "--force"], flags, &[&input, &output]].concat()), "", "{flags:?}");
        assert_eq!(folder.read("out"), expect, "{flags:?}");
    }
}

#[test]
fn the_summary_has_the_same_figures_in_words_and_json() {
    let folder = Folder::new("sort-summary");
    let lines: String = (0..300_000).rev().map(|number| format!("{number:08}\n")).collect();
    let (input, output) = (folder.file("in", &lines), folder.name("out"));
    let sort = ["sort", "--force", "--memory", "1M", "-e", "SORT FIELDS=(1,8,CH,A),SKIPREC=100"];
    let words = good(&[&sort[..], &[&input, &output]].concat());
    for part in [
        "sorted 300,000 records, 2,700,000 bytes, in ",
        "  taken     299,900 records; written 299,900, 2,699,100 bytes\n",
        " sorted, ",
        " written to the work file: ",
        "  seconds   read ",
        "  switches  ",
        " calls moved records: ",
        "; one by one: 599,900\n",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    let json: Value =
        serde_json::from_str(&good(&[&sort[..], &["--json", &input, &output]].concat())).expect("JSON");
    assert_eq!(json["schema"], "underbar.sort/1");
    assert_eq!(json["records"], serde_json::json!({"read": 300_000, "taken": 299_900, "written": 299_900}));
    assert!(json["work_file"]["bytes"].as_u64().is_some_and(|bytes| bytes > 1_000_000), "{json}");
    let calls = &json["calls"];
    let sum: u64 =
        ["read", "write", "work_read", "work_write"].map(|key| calls[key].as_u64().expect(key)).iter().sum();
    assert_eq!(calls["all"].as_u64(), Some(sum));
    assert!(sum < 1_000 && json["runs"].as_u64().is_some_and(|runs| runs > 3), "{json}");
    let sorted: String = (0..299_900).map(|number| format!("{number:08}\n")).collect();
    assert!(folder.read("out") == sorted);
}

#[test]
fn record_files_are_sorted_by_a_file_of_statements() {
    let folder = Folder::new("sort-records");
    let input = folder.file("in", b"\0\x0a\0\0kb0001\0\x0b\0\0ka0002x\0\x0a\0\0kb0003");
    let statements =
        folder.file("sysin", "* comment\n  SORT FIELDS=(5,2,CH,D)   the key\n  SUM FIELDS=(7,4,ZD)\n");
    let output = folder.name("out");
    good(&["sort", "-q", "--format", "V", "--statements", &statements, &input, &output]);
    assert_eq!(std::fs::read(&output).expect("read"), b"\0\x0a\0\0kb0004\0\x0b\0\0ka0002x");
    let (one, two) = (folder.file("one", "aaccee"), folder.file("two", "bbccff"));
    let merge = [
        "sort",
        "-q",
        "--force",
        "--format",
        "F(2)",
        "-e",
        "MERGE FIELDS=(1,2,CH,A)",
        "-e",
        "SUM FIELDS=NONE",
    ];
    good(&[&merge[..], &[&one, &two, &output]].concat());
    assert_eq!(folder.read("out"), "aabbcceeff");
}

#[test]
fn standard_input_and_output_are_files_too() {
    let mut sort = command(&["sort", "-", "-"]);
    let mut child =
        sort.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
    child.stdin.take().expect("a pipe").write_all(b"b\na\n").expect("written");
    assert_eq!(said(&child.wait_with_output().expect("ended")), (0, "a\nb\n".to_owned(), String::new()));
    let message = bad(2, &["sort", "-", "-", "--json"]);
    assert!(message.contains("--json prints to standard output, where the records go"), "{message}");
    let message = bad(2, &["sort", "-", "-", "out"]);
    assert!(message.contains("only one of the inputs can be standard input"), "{message}");
}

#[test]
fn errors_name_file_record_and_offset_and_leave_no_output() {
    let folder = Folder::new("sort-errors");
    let (input, output) = (folder.file("in", "12345678901"), folder.name("out"));
    let message = bad(2, &["sort", "--format", "F(5)", "-e", "SORT FIELDS=(1,5,CH,A)", &input, &output]);
    let expect =
        "/in, record 3 at byte 10: the file ends after 1 of the 5 bytes of a record; the form is F(5)\n";
    assert!(message.ends_with(expect), "{message}");
    let message = bad(2, &["sort", "-e", "SORT FIELDS=(1,5,PD,A)", &input, &output]);
    assert!(
        message.contains("/in, record 1 at byte 0: byte 5 of the PD field at byte 1 is X'35'"),
        "{message}"
    );
    let message = bad(2, &["sort", "-q", &input, &input]);
    assert!(
        message.contains("this is also an input, and was left alone; use --force to replace it"),
        "{message}"
    );
    assert!(!std::path::Path::new(&output).exists());
    good(&["sort", "-q", "--force", &input, &input]);
    assert_eq!(folder.read("in"), "12345678901\n");
    for (flags, expect) in [
        (
            &["-e", "OPTION EQUALS", "-e", "SORT FIELDS=(1,5,XX,A)"][..],
            "statement 2: XX is not a kind of field",
        ),
        (&["--statements", "/nowhere/sysin"], "/nowhere/sysin: No such file"),
        (&["--format", "F(5)"], "what to sort by?"),
        (&["--work", "/nowhere", "--memory", "2M", "-k", "1.5n"], "the key 1.5n is not supported"),
        (&["--memory", "12"], "this must be a size of 1M at least"),
        (&["-k", "1", "-e", "SORT FIELDS=COPY"], "cannot be used with"),
        (&["--format", "X"], "is not a form of records"),
    ] {
        let message = bad(2, &[&["sort"], flags, &[&input, &output]].concat());
        assert!(message.contains(expect), "{flags:?}: {message}");
    }
    let statements = folder.file("sysin", "\n SORT FIELDS=(1,5,CH,B)\n");
    let message = bad(2, &["sort", "--statements", &statements, &input, &output]);
    assert!(message.contains("/sysin, line 2: B is not an order"), "{message}");
}

#[test]
fn a_sort_enters_the_kernel_for_buffers_and_not_for_records() {
    let folder = Folder::new("sort-entries");
    let lines: String = (0..400_000_u64).map(|number| format!("{:099}\n", number * 7919 % 400_000)).collect();
    let (input, output, counts) = (folder.file("in", &lines), folder.name("out"), folder.name("counts"));
    let flags = ["-q", "--memory", "200M", "--format", "F(100)", "-e", "SORT FIELDS=(1,99,CH,A)"];
    let mut strace = std::process::Command::new("strace");
    strace.args(["-f", "-c", "-U", "calls", "-o", &counts, env!("CARGO_BIN_EXE_underbar"), "sort"]);
    // Cargo sets this for tests: the loader would search more folders for each library.
    strace.env_remove("LD_LIBRARY_PATH");
    match strace.args(flags).args([&input, &output]).status() {
        Ok(status) if status.success() => {}
        other => return eprintln!("skipped: strace: {other:?}"),
    }
    let sorted: String = (0..400_000).map(|number| format!("{number:099}\n")).collect();
    assert!(folder.read("out") == sorted);
    let table = folder.read("counts");
    let total =
        table.lines().next_back().and_then(|line| line.split_whitespace().find_map(|word| word.parse().ok()));
    let total: u64 = total.expect("a sum");
    // 400,000 records would be 800,000 calls one by one.
    let limit = 200 + 4 * (lines.len() as u64 >> 20);
    assert!(total <= limit, "{total} of {limit}\n{table}");
}
