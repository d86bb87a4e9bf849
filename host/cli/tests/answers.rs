//! `report`, `diff`, `advise`: saved reports and ledgers, good and bad.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a test is no door to anybody's terminal"
)]

mod common;

use common::{Folder, bad, command, good, run, said, saved};

#[test]
fn a_saved_report_is_printed_again() {
    let folder = Folder::new("report");
    let json = saved(&folder, "r.json", &["true"]);
    let summary = good(&["report", &json]);
    assert!(summary.starts_with("underbar: true: exit 0\n  time "), "{summary}");
    assert!(summary.lines().count() <= 20);
    let storage = good(&["report", "--report", "le", &json]);
    assert!(storage.starts_with("Storage Report for Enclave true "), "{storage}");
    assert_eq!(good(&["report", "--json", &json]), folder.read("r.json"));
    let copy = folder.name("copy.txt");
    assert_eq!(good(&["report", "-o", &copy, &json]), "");
    assert_eq!(folder.read("copy.txt"), summary);
    assert_eq!(good(&["report", "-o", "-", &json]), summary);
    assert!(good(&["report", "--color", "always", &json]).contains("\x1b["));
    let input = std::fs::File::open(&json).expect("there");
    let output = command(&["report", "-"]).stdin(input).output().expect("it runs");
    // The last line is a command to type: standard input cannot be read again.
    let by_file = format!("underbar report --report all {json}\n");
    assert!(summary.ends_with(&by_file), "{summary}");
    let by_run = summary.replace(&by_file, "underbar run --report all -- true\n");
    assert_eq!(said(&output), (0, by_run, String::new()));
}

#[test]
fn a_dash_is_standard_output_for_a_run_too() {
    let folder = Folder::new("dash");
    let started = command(&["run", "-o", "-", "--", "echo", "said"]).current_dir(folder.name("")).output();
    let (code, output, error) = said(&started.expect("it runs"));
    assert_eq!((code, error.as_str()), (0, ""));
    assert!(output.starts_with("said\nunderbar: echo said: exit 0\n"), "{output}");
    assert!(!std::path::Path::new(&folder.name("-")).exists());
}

#[test]
fn the_runs_own_options_choose_the_form() {
    let folder = Folder::new("form");
    let path = folder.name("r.json");
    let opts = "RPTSTG(ON),RPTOPTS(ON),HEAP(1M)";
    let (code, ..) = run(&["run", "--json", "-o", &path, "--opts", opts, "--", "true"]);
    assert_eq!(code, 0);
    let text = good(&["report", &path]);
    assert!(text.starts_with("Options Report for Enclave true "), "{text}");
    assert!(
        text.contains("\ncommand line (--opts)            HEAP(1048576,AUTO,ANYWHERE,AUTO,8192,4096)\n"),
        "{text}"
    );
    assert!(text.contains("\nStorage Report for Enclave true "), "{text}");
}

#[test]
fn a_ledger_without_a_parent_is_a_report_too() {
    let folder = Folder::new("ledger");
    let ledger = folder.name("kept.ledger");
    let run_it =
        ["run", "--opts-base", "le", "--opts", "HEAP(,64K)", "--exec", "-o", &ledger, "--", "true", "x"];
    assert_eq!(run(&run_it), (0, String::new(), String::new()));
    let json = good(&["report", "--json", &ledger]);
    for part in [
        "\"schema\":\"underbar.report/1\"",
        "\"arguments\":[\"x\"]",
        "\"steps\":null",
        "\"end\":null",
        "\"option\":\"HEAP(32768,65536,ANYWHERE,KEEP,8192,4096)\"",
    ] {
        assert!(json.contains(part), "{part}: {json}");
    }
    let summary = good(&["report", &ledger]);
    assert!(summary.contains("/true x: ended, exit status not recorded\n"), "{summary}");
    // Every figure that the ledger has is the one that its report has.
    let from_ledger = folder.file("from-ledger.json", &json);
    assert!(good(&["diff", &ledger, &from_ledger]).contains("\n0 of "), "{summary}");

    let whole = std::fs::read(&ledger).expect("there");
    let cut = folder.file("cut.ledger", &whole[..100_000]);
    assert_eq!(
        bad(2, &["report", &cut]),
        format!("underbar: error: {cut}: the ledger is cut short: it has 100000 of {} bytes\n", whole.len())
    );
    let mut other = whole.clone();
    other[8] ^= 0xff;
    let other = folder.file("other.ledger", other);
    assert_eq!(
        bad(2, &["report", &other]),
        format!(
            "underbar: error: {other}: the ledger was written by another version of underbar; read it with that version\n"
        )
    );
    // Noise after the header: odd figures, no crash.
    let mut noise = whole;
    let mut state = 1_u64;
    for byte in &mut noise[64..] {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *byte = (state >> 56) as u8;
    }
    let noise = folder.file("noise.ledger", noise);
    for arguments in [&["report", &noise][..], &["report", "--report", "le", &noise], &["advise", &noise]] {
        let (code, _, error) = run(arguments);
        assert_eq!((code, error.as_str()), (0, ""), "{arguments:?}");
    }
}

#[test]
fn a_bare_preload_leaves_a_ledger_where_msgfile_says() {
    let folder = Folder::new("bare");
    let found = good(&["doctor", "--json"]);
    let (_, rest) = found.split_once("\"found\":\"/").expect("the library's place comes first");
    let library = format!("/{}", rest.split('"').next().expect("a path"));
    let output = std::process::Command::new("true")
        .env("LD_PRELOAD", library)
        .env("UNDERBAR_OPTS", format!("MSGFILE({}),RPTSTG(ON)", folder.name("%e.ledger")))
        .output()
        .expect("it runs");
    assert_eq!(said(&output), (0, String::new(), String::new()));
    let text = good(&["report", &folder.name("true.ledger")]);
    assert!(text.starts_with("Storage Report for Enclave true "), "{text}");
}

#[test]
fn what_is_no_report_is_called_what_it_is() {
    let folder = Folder::new("bad");
    let json = saved(&folder, "r.json", &["true"]);
    let text = folder.read("r.json");
    const OTHER: &str = "not an underbar report: neither the JSON of `underbar run --json` nor a ledger file";
    const NO_LISTING: &str = "neither an underbar report nor a ledger file, and it holds no known listing";
    let check = |name: &str, content: &[u8], expected: &str| {
        let path = folder.file(name, content);
        let message = format!("underbar: error: {path}: {expected}\n");
        assert_eq!(bad(2, &["report", &path]), message);
        // These two read listings, too.
        let message = message.replace(OTHER, NO_LISTING);
        assert_eq!(bad(2, &["diff", &json, &path]), message);
        assert_eq!(bad(2, &["advise", &path]), message);
    };
    check("empty", b"", "the file is empty; has its run ended?");
    check("noise", &[0x9d; 4096], OTHER);
    // It is no report of underbar, but `advise` reads it.
    let listing = folder.file("listing", b"1Storage Report for Enclave main 10/18/21 10:15:07 AM\n");
    assert_eq!(bad(2, &["report", &listing]), format!("underbar: error: {listing}: {OTHER}\n"));
    assert!(good(&["advise", &listing]).contains("the report has no end line"));
    check(
        "printed",
        good(&["report", &json]).as_bytes(),
        "not a saved report: it is the printed form; `underbar run --json -o FILE` saves a report",
    );
    check(
        "cut",
        &text.as_bytes()[..50],
        "the report is cut short: it ends at line 1, column 50, inside an object",
    );
    check(
        "newer",
        text.replace("underbar.report/1", "underbar.report/7").as_bytes(),
        "the report is of schema \"underbar.report/7\"; this version of underbar reads \"underbar.report/1\"",
    );
    const SAVES: &str = "; `underbar run --json -o FILE` saves a report";
    let other = |schema: &str| format!("{{\"schema\": \"{schema}\"}}");
    check(
        "verdict",
        other("underbar.tune/1").as_bytes(),
        &format!("this is the JSON of `underbar tune`, not a saved report{SAVES}"),
    );
    check(
        "weather",
        other("weather/1").as_bytes(),
        &format!("this is JSON of schema \"weather/1\", not a saved report{SAVES}"),
    );
    check(
        "started",
        other("underbar.report/1").as_bytes(),
        &format!(
            "this is not a whole report, though it has the schema of one: \
             missing field `underbar` at line 1 column 31{SAVES}"
        ),
    );
    let missing = folder.name("missing");
    assert_eq!(
        bad(2, &["report", &missing]),
        format!("underbar: error: {missing}: No such file or directory (os error 2)\n")
    );
    // A name without a folder may also mean a program or a ledger.
    let place = folder.path().to_str().expect("text");
    let mut unknown = command(&["report", "nobody"]);
    let (code, _, error) =
        said(&unknown.current_dir(place).env("XDG_RUNTIME_DIR", place).output().expect("it runs"));
    let begin = format!(
        "underbar: error: nobody: there is no file of this name here, and no program or ledger of this name in \
         {place}/underbar, /dev/shm/underbar-"
    );
    assert!(code == 2 && error.starts_with(&begin), "{error}");
    assert!(error.ends_with("; `underbar ls` lists the programs that keep accounts\n"), "{error}");
    assert_eq!(
        bad(2, &["report", place]),
        format!("underbar: error: {place}: Is a directory (os error 21)\n")
    );
    let nowhere = folder.name("no/folder");
    assert!(bad(2, &["report", "-o", &nowhere, &json]).starts_with(&format!("underbar: error: {nowhere}: ")));
}

/// Two reports of one run that differ in one figure; its value in the old report is returned.
fn pair(folder: &Folder) -> (String, String, u64) {
    let old = saved(folder, "old.json", &["true"]);
    let text = folder.read("old.json");
    let (_, tree) = text.split_once("\"tree\":").expect("a tree");
    let (_, rest) = tree.split_once("\"gets\":").expect("a figure");
    let gets: u64 = rest.split([',', '}']).next().expect("digits").parse().expect("a number");
    // Of the heap: additional heaps have a figure of that name, too.
    let figure = |gets: u64| format!("\"heap\":{{\"gets\":{gets},");
    let new = folder.file("new.json", text.replace(&figure(gets), &figure(2 * gets + 2)));
    (old, new, gets)
}

#[test]
fn only_one_of_two_reports_is_standard_input() {
    assert_eq!(bad(2, &["diff", "-", "-"]), "underbar: error: only one of the two can be standard input\n");
}

#[test]
fn a_gate_decides_by_exit_status() {
    let folder = Folder::new("gate");
    let (old, new, gets) = pair(&folder);
    let text = good(&["diff", &old, &new]);
    assert!(text.contains("\nheap.gets "), "{text}");
    assert!(text.contains("\n1 of "), "{text}");
    assert!(good(&["diff", "--all", &old, &new]).lines().count() > text.lines().count() + 20);

    let gate = |arguments: &[&str]| {
        let arguments: Vec<&str> = [&["diff"], arguments, &[&old, &new]].concat();
        run(&arguments)
    };
    let (code, text, _) = gate(&["--fail-on", "heap.gets > +5%"]);
    assert_eq!(code, 1);
    assert!(text.ends_with("gate heap.gets > +5%: failed\n"), "{text}");
    assert_eq!(gate(&["--fail-on", &format!("heap.gets > {}", 2 * gets + 2)]).0, 0);
    assert_eq!(gate(&["-q", "--fail-on", "heap.gets > +5%"]), (1, String::new(), String::new()));
    assert_eq!(gate(&["--fail-on", "heap.frees > +5%", "--fail-on", "heap.gets > +5%"]).0, 1);
    let (code, json, _) = gate(&["--json", "--fail-on", "heap.gets > +5%"]);
    assert_eq!(code, 1);
    assert!(json.starts_with('{') && json.contains("\"schema\":\"underbar.diff/1\""), "{json}");

    // As from a kernel without that account, or from an older underbar.
    let unknown =
        folder.file("unknown.json", folder.read("new.json").replace("\"read_calls\":", "\"other\":"));
    let (code, _, error) = run(&["diff", "-q", "--fail-on", "steps.read_calls > 5", &old, &unknown]);
    assert_eq!(code, 2);
    assert_eq!(
        error,
        "underbar: warning: gate steps.read_calls > 5: one of the reports has no steps.read_calls\n"
    );
    let error = bad(2, &["diff", "--fail-on", "heap.getz > 5", &old, &new]);
    assert!(error.contains("there is no figure \"heap.getz\"; did you mean \"heap.gets\"?"), "{error}");
}

#[test]
fn suggestions_come_with_their_evidence_and_an_option_line() {
    let folder = Folder::new("advise");
    // Small segments for a large heap: a rule must fire.
    let path = folder.name("r.json");
    let program = ["run", "--json", "-o", &path, "--opts", "HEAP(4K,4K)", "--"];
    let (code, _, error) = run(&[&program[..], &[env!("CARGO_BIN_EXE_underbar"), "man"]].concat());
    assert_eq!((code, error.as_str()), (0, ""));

    let text = good(&["advise", &path]);
    for part in
        ["HEAP(", "  reason     ", "  evidence   ", "  stop rule  ", "  risk       ", "\nUse: --opts 'HEAP("]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (_, line) = text.rsplit_once("\nUse: --opts '").expect("an option line");
    let line = line.split('\'').next().expect("a text");
    let (code, _, error) = run(&["options", line]);
    assert_eq!((code, error.as_str()), (0, ""), "{line}");

    let file = folder.name("underbar.opts");
    assert_eq!(good(&["advise", "-o", &file, &path]), text);
    let shown = good(&["options", "--opts-file", &file, "--program", env!("CARGO_BIN_EXE_underbar")]);
    assert!(shown.contains("\noptions file (--opts-file)       HEAP("), "{shown}");
    let json = good(&["advise", "--json", &path, &path]);
    assert_eq!(json.lines().filter(|line| line.contains("\"schema\":\"underbar.advice/1\"")).count(), 2);
    let several = good(&["advise", &path, &path]);
    assert!(several.starts_with(&format!("== {path}\n")), "{several}");
    let (_, of_runs) = several.split_once("\n== 2 runs of ").expect("both together");
    assert!(of_runs.contains(" bytes used at most in 2 runs.\n"), "{several}");
    assert!(of_runs.contains(&format!("\nPlan for {path}.\nUse: --opts '{line}'\n")), "{several}");
    assert_eq!(
        bad(2, &["advise", "-o", &file, &path, &path]),
        "underbar: error: -o writes the options of one report; give one FILE\n"
    );
}

#[test]
fn a_small_program_needs_nothing_and_a_bad_file_does_not_hide_the_good_one() {
    let folder = Folder::new("nothing");
    let json = saved(&folder, "r.json", &["ls", "/"]);
    let text = good(&["advise", &json]);
    assert!(text.contains("HEAP: ") && text.contains(", for ls ("), "{text}");
    assert!(text.ends_with("\nNothing to set.\n"), "{text}");
    let missing = folder.name("missing");
    let (code, output, error) = run(&["advise", &missing, &json]);
    assert_eq!(code, 2);
    assert_eq!(output, format!("== {missing}\n").replace(&missing, &json) + &text);
    assert_eq!(error, format!("underbar: error: {missing}: No such file or directory (os error 2)\n"));
}

#[test]
fn listings_of_ztpf_are_advised_upon_and_served_again() {
    let folder = Folder::new("ztpf");
    let listing = b"TPF ECB HEAP REQUEST SIZE REPORT                                          SYSTEM  WIDE\n\
        CURRENT BUFFER SIZES IN BYTES: AVL1 128 , AVL2 256 , AVL3 512 , AVL4 1024\n\
        CLASS UPPER   FREQUENCY   PERCENT\n32  100  2.00%\n64  4850  97.00%\n128  50  1.00%\n";
    let path = folder.file("reduction", listing);
    let text = good(&["advise", "--as", "values", "--simulate", "AVL", &path]);
    for part in [
        "HAVSZ1=32\nHAVSZ2=64\nHAVSZ3=128\n",
        "tpf-avl-size",
        "What if:",
        "check each name and its unit with HELP",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("RPTSTG") && !text.contains("ZCTKA"), "{text}");
    let json = good(&["advise", "--json", "--simulate", "AVL", &path]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["advice"][0]["values"][1]["name"], "HAVSZ2");
    assert_eq!(json["what_if"][0]["arms"][1]["name"], "proposed");
    assert!(good(&["explain", "tpf-contention"]).contains("PJ46800"));
}

#[test]
fn a_saved_report_has_the_flame_graph_of_its_run() {
    let folder = Folder::new("saved-sites");
    let [json, page, again] = ["r.json", "a.html", "b.html"].map(|name| folder.name(name));
    let script = "BEGIN { for (i = 0; i < 300000; i++) a[i] = i }";
    let line = ["run", "--sites", "--json", "-o", &json, "--html", &page, "--", "awk", script];
    let (code, _, error) = run(&line);
    assert_eq!((code, error.as_str()), (0, ""));
    good(&["report", "--html", &again, &json]);
    let sites = |name: &str| {
        let page = folder.read(name);
        let begin = page.find("<section id=\"sites\"").expect("call sites");
        let length = page[begin..].find("</section>").expect("its end");
        page[begin..begin + length].to_owned()
    };
    assert!(sites("a.html").contains("data-flame"));
    assert_eq!(sites("a.html"), sites("b.html"));
    assert!(good(&["report", &json]).contains("\nmost in use: "), "{}", good(&["report", &json]));
}
