//! Programs with another allocator: the report names the one that serves.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use underbar_zoo::heap::text;
use underbar_zoo::{compiled, fault, folder, left, program, run, scratch, skip};

const JEMALLOC: &str = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";

/// Whether jemalloc's library is installed. If not, reports the skip.
fn has_jemalloc(what: &str) -> bool {
    let has = Path::new(JEMALLOC).exists();
    if !has {
        skip(&format!("{what}: libjemalloc2 is missing"));
    }
    has
}

/// The report of a run as JSON, and the default text of the same report.
fn reports(line: &[&str], preload: Option<&str>) -> (Value, String) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let file = folder().join(format!("allocators-{}-{number}", std::process::id()));
    let path = file.to_str().expect("a path of text");
    let mut last = String::new();
    for flags in [&["-o", path][..], &["--json", "-o", path]] {
        let mut command = run(flags, line);
        if let Some(library) = preload {
            command.env("LD_PRELOAD", library);
        }
        let left = left(&mut command);
        assert!(left.status.success(), "{left:?}");
        let report = fs::read_to_string(&file).expect("a report");
        fs::remove_file(&file).expect("removed");
        if flags[0] == "--json" {
            return (serde_json::from_str(&report).expect("JSON"), last);
        }
        last = report;
    }
    unreachable!("the last report is JSON")
}

/// The section of the last program of the run.
fn last(report: &Value) -> &Value {
    report["processes"].as_array().and_then(|all| all.last()).expect("a process")
}

#[test]
fn a_program_without_another_one_is_told_nothing() {
    let (report, words) = reports(&[&text(program("storage")), "2", "1000"], None);
    assert_eq!(last(&report)["allocator"], Value::Null);
    assert!(!words.contains("allocator"), "{words}");
}

#[test]
fn an_allocator_that_the_program_is_linked_with_is_replaced() {
    if !has_jemalloc("a linked allocator") {
        return;
    }
    let program = text(compiled("faults/jemalloc", "faults-jemalloc", &[JEMALLOC]));
    let (report, words) = reports(&[&program], None);
    let process = last(&report);
    assert_eq!(process["allocator"], json!({"name": "libjemalloc.so.2", "role": "replaced"}));
    assert!(process["counters"]["heap"]["gets"].as_u64() > Some(9_000));
    let expected = "faults-jemalloc brings libjemalloc.so.2 along; its malloc is served by underbar";
    assert!(words.contains(expected), "{words}");
}

/// The server of Debian's package is the same program as its tool that checks files; its name selects the function.
#[test]
fn redis_is_told_that_its_jemalloc_is_replaced() {
    let folders = ["/usr/bin", "/usr/local/bin"];
    let mut paths = ["redis-server", "redis-check-rdb"]
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| Path::new(folder).join(name)));
    let Some(path) = paths.find(|path| path.exists()) else {
        return skip("redis and its allocator: redis-server is not installed");
    };
    let folder = scratch("allocators-redis");
    let server = folder.join("redis-server");
    symlink(path, &server).expect("a link");
    let (report, words) = reports(&[server.to_str().expect("a path of text"), "--version"], None);
    let process = last(&report);
    assert!(process["counters"]["heap"]["gets"].as_u64() > Some(1_000), "{process}");
    assert_eq!(process["allocator"], json!({"name": "libjemalloc.so.2", "role": "replaced"}), "{process}");
    let expected = "redis-server brings libjemalloc.so.2 along; its malloc is served by underbar";
    assert!(words.contains(expected), "{words}");
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn an_allocator_that_the_user_preloads_is_replaced() {
    if !has_jemalloc("a preloaded allocator") {
        return;
    }
    let (report, words) = reports(&[&text(program("storage")), "2", "1000"], Some(JEMALLOC));
    assert_eq!(last(&report)["allocator"], json!({"name": "libjemalloc.so.2", "role": "replaced"}));
    assert!(words.contains("brings libjemalloc.so.2 along"), "{words}");
}

/// `env` puts it before ours within the run.
#[test]
fn an_allocator_before_ours_serves_and_no_advice_is_given() {
    if !has_jemalloc("an allocator before ours") {
        return;
    }
    let program = text(program("storage"));
    let script = format!("export LD_PRELOAD={JEMALLOC}:$LD_PRELOAD; {program} 2 1000; exec {program} 2 1000");
    let (report, words) = reports(&["sh", "-c", &script], None);
    let processes = report["processes"].as_array().expect("processes");
    let served: Vec<&Value> =
        processes.iter().filter(|process| process["allocator"] != Value::Null).collect();
    assert!(!served.is_empty(), "{report}");
    for process in served {
        assert_eq!(process["allocator"], json!({"name": "libjemalloc.so.2", "role": "serves"}), "{process}");
        assert_eq!(process["counters"]["heap"]["gets"], 0, "{process}");
    }
    assert!(words.contains("storage"), "{words}");
}

#[test]
fn a_program_with_malloc_of_its_own_serves_itself() {
    let program = text(compiled("heap/own_malloc", "heap-own_malloc", &["-pthread", "-fno-builtin"]));
    let (report, words) = reports(&[&program], None);
    assert_eq!(last(&report)["allocator"], json!({"name": "the program itself", "role": "serves"}));
    assert!(
        words.contains("malloc is served by the program itself, which is loaded before underbar"),
        "{words}"
    );
    assert!(words.contains("not served") && words.contains("no heap advice"), "{words}");
    assert!(!words.contains("Nothing to change"), "{words}");
}

#[test]
fn an_allocator_inside_the_program_is_named() {
    let program = text(compiled("figures/inside", "figures-inside", &["-fno-builtin"]));
    let (report, words) = reports(&[&program], None);
    assert_eq!(last(&report)["allocator"], json!({"name": "jemalloc", "role": "inside"}));
    assert!(
        words.contains("figures-inside has jemalloc inside: what calls it does not reach this heap"),
        "{words}"
    );
    assert!(words.contains("no heap advice") && !words.contains("Nothing to change"), "{words}");
}

/// A child by fork has its own slot, and the same allocator.
#[test]
fn children_tell_it_too() {
    if !has_jemalloc("children with another allocator") {
        return;
    }
    let (report, _) = reports(&[&fault("forks"), "fork", "100"], Some(JEMALLOC));
    let processes = report["processes"].as_array().expect("processes");
    assert!(processes.len() > 1, "{report}");
    for process in processes {
        assert_eq!(process["allocator"]["role"], "replaced", "{process}");
    }
}
