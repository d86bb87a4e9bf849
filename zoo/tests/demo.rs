//! The demos: their counts, and the same counts from the kernel. Times are not tested here.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use underbar_ledger::{Key, LedgerView};
use underbar_zoo::{code, left, scratch, skip, underbar};

const SMALL_KEEP: &str = "HEAP(32K,32K,ANYWHERE,KEEP)";
const SMALL_FREE: &str = "HEAP(32K,32K,ANYWHERE,FREE)";
const LARGE: &str = "HEAP(100M,100M,ANYWHERE,KEEP)";

/// The output of a demo with --json; its counts must be right.
fn demo(arguments: &[&str]) -> Value {
    let result = left(Command::new(underbar()).arg("demo").args(arguments).args(["--json", "-q"]));
    assert_eq!(code(result.status), 0, "{arguments:?}\n{}\n{}", result.output, result.error);
    assert_eq!(result.error, "", "{arguments:?}");
    let json: Value = serde_json::from_str(&result.output).expect("JSON");
    assert_eq!(json["schema"], "underbar.demo/1");
    json
}

/// The row of that name in the first table.
fn row<'a>(json: &'a Value, name: &str) -> &'a Value {
    let arms = json["tables"][0]["arms"].as_array().expect("rows");
    arms.iter().find(|arm| arm["name"] == name).unwrap_or_else(|| panic!("{name} in {json}"))
}

fn heap(row: &Value, figure: &str) -> u64 {
    row["counters"]["heap"][figure].as_u64().unwrap_or_else(|| panic!("{figure} in {row}"))
}

fn passed(json: &Value, check: &str) {
    let checks = json["checks"].as_array().expect("checks");
    let found = checks.iter().find(|found| found["name"] == check).unwrap_or_else(|| panic!("{check}"));
    assert_eq!((&found["is_count"], &found["result"]), (&Value::Bool(true), &"pass".into()), "{found}");
}

/// `demo getfree` with its own seed, run once for all tests.
fn getfree() -> &'static Value {
    static JSON: OnceLock<Value> = OnceLock::new();
    JSON.get_or_init(|| demo(&["getfree", "--runs", "1"]))
}

#[test]
fn getfree_counts_are_those_of_the_experiment() {
    let json = getfree();
    for check in [
        "segments_32k",
        "segments_times_size_32k",
        "segments_100m",
        "segments_times_size_100m",
        "gets_and_frees",
        "repeats",
    ] {
        passed(json, check);
    }
    // The same again, from the figures themselves.
    let (small, large) = (row(json, "HEAP(32K,32K)"), row(json, "HEAP(100M,100M)"));
    let segments = heap(small, "segments_allocated");
    assert!((25_001..=34_500).contains(&segments), "{segments}");
    // A piece that fills a whole segment has one of its own, a page larger.
    let oversize = heap(small, "oversize_segments");
    assert_eq!(heap(small, "segment_bytes_total"), segments * 32_768 + oversize * 4_096);
    assert!(oversize < 100, "{oversize}");
    assert_eq!(heap(large, "segments_allocated"), 8);
    assert_eq!(heap(large, "segment_bytes_total"), 8 * 104_857_600);
    let requested = json["tables"][0]["requested_bytes"].as_u64().expect("requested");
    for arm in [small, large, row(json, "default")] {
        assert!(
            heap(arm, "used_peak") >= requested && heap(arm, "segment_bytes_peak") >= heap(arm, "used_peak")
        );
        assert!((50_000..=50_064).contains(&heap(arm, "gets")) && heap(arm, "frees") >= 50_000);
    }
    // The other rows are there, and have no accounts.
    assert!(row(json, "plain")["counters"].is_null() && row(json, "plain")["preload"].is_null());
    // Two tables; in the second all bytes are written, so that every page of what was requested is touched.
    let table = &json["tables"][1];
    for arm in table["arms"].as_array().expect("rows") {
        assert!(arm["steps"]["peak_resident_bytes"].as_u64().expect("bytes") > requested / 100 * 95, "{arm}");
    }
    assert_eq!(table["document"][0]["segments_allocated"], 27_949);
}

#[test]
fn another_seed_moves_every_figure_of_getfree() {
    let (one, two) = (getfree(), &demo(&["getfree", "--runs", "1", "--seed", "2"]));
    assert_eq!((&one["seed"], &two["seed"]), (&1.into(), &2.into()));
    assert_ne!(one["tables"][0]["requested_bytes"], two["tables"][0]["requested_bytes"]);
    for (name, figures) in [
        ("HEAP(32K,32K)", &["segments_allocated", "segment_bytes_total", "used_peak"][..]),
        ("HEAP(100M,100M)", &["used_peak"]),
        ("default", &["used_peak"]),
    ] {
        for figure in figures {
            assert_ne!(heap(row(one, name), figure), heap(row(two, name), figure), "{name} {figure}");
        }
    }
    // And the same seed does not: sizes that are set leave nothing to chance.
    // (underbar's own tables depend on where the kernel puts segments, and stacks on where it puts them.)
    let again = demo(&["getfree", "--runs", "1"]);
    for name in ["HEAP(32K,32K)", "HEAP(100M,100M)"] {
        for figure in
            ["gets", "frees", "used_peak", "segments_allocated", "segment_bytes_total", "oversize_segments"]
        {
            assert_eq!(heap(row(one, name), figure), heap(row(&again, name), figure), "{name} {figure}");
        }
    }
}

#[test]
fn keepfree_gives_back_what_it_should() {
    let json = demo(&["keepfree", "--runs", "1"]);
    for check in
        ["free_allocates_more", "free_gives_everything_back", "tuned_segments", "resident_after_last_free"]
    {
        passed(&json, check);
    }
    let (free, keep) = (row(&json, "HEAP(32K,32K) FREE"), row(&json, "HEAP(32K,32K) KEEP"));
    assert!(heap(free, "segments_allocated") > heap(keep, "segments_allocated"));
    // The initial segment stays, with its contents.
    assert!(heap(free, "segments_allocated") - heap(free, "segments_freed") <= 4);
    assert_eq!(heap(keep, "segments_freed"), 0);
    for arm in [free, keep] {
        assert!((70_000..=70_064).contains(&heap(arm, "gets")));
        let at_a_time = heap(arm, "segment_bytes_peak");
        assert!(at_a_time >= json["tables"][0]["requested_peak_bytes"].as_u64().expect("bytes"));
    }
    assert!(heap(free, "segment_bytes_total") > heap(free, "segment_bytes_peak"));
    assert_eq!(heap(keep, "segment_bytes_total"), heap(keep, "segment_bytes_peak"));
}

#[test]
fn simple_is_lowered_to_what_it_uses() {
    let json = demo(&["simple"]);
    for check in [
        "same_output",
        "same_use",
        "lowered_to_what_was_used",
        "same_stack",
        "stack_lowered_to_what_was_used",
    ] {
        passed(&json, check);
    }
    let (before, after) = (row(&json, "as set by default"), row(&json, "as suggested"));
    assert_eq!((heap(before, "initial_size"), heap(after, "initial_size")), (32_768, 4_096));
    assert_eq!(heap(after, "segments_allocated"), 1);
    assert_eq!(heap(before, "gets"), heap(after, "gets"));
}

#[test]
fn heappools_sizes_waste_less_and_need_an_extent_each() {
    let json = demo(&["heappools", "--runs", "1"]);
    for check in [
        "same_output",
        "requests_are_counted_once",
        "sizes_waste_less",
        "one_extent_each",
        "cells_are_predicted",
    ] {
        passed(&json, check);
    }
    let off = row(&json, "HEAPPOOLS(OFF)");
    assert_eq!(heap(off, "gets"), heap(row(&json, "the suggested sizes"), "gets"));
}

#[test]
fn tls_counts_requests_and_every_message_is_answered() {
    if !Path::new("/usr/include/openssl/ssl.h").exists() {
        skip("no libssl-dev: demo tls");
        return;
    }
    let json = demo(&["tls", "--runs", "1"]);
    passed(&json, "handshakes_make_thousands_of_requests");
    passed(&json, "messages_are_answered");
    let (plain, ours) = (row(&json, "plain"), row(&json, "underbar"));
    assert_eq!(plain["said"]["messages"], ours["said"]["messages"]);
    // A handshake's requests reached the heap: a thousand of them for each connection, at least.
    assert!(heap(ours, "gets") > 1_000 * ours["said"]["handshakes"].as_u64().expect("handshakes"));
}

#[test]
fn a_server_that_leaks_keeps_nothing_of_its_ecbs() {
    let json = demo(&["requests", "--runs", "1"]);
    passed(&json, "one_class_has_nearly_all");
    passed(&json, "what_leaks_comes_back");
    let pages = json["pages"].as_array().expect("pages");
    assert!(pages[2].as_str().is_some_and(|text| text.contains("Suggested: AVL(HTTP,")), "{pages:?}");
}

#[test]
fn each_buffer_is_located_and_each_item_is_left_out() {
    passed(&demo(&["locate", "--runs", "1"]), "found");
    let json = demo(&["pj47265", "--runs", "1"]);
    passed(&json, "all_ran");
    assert_eq!(json["tables"][0]["arms"].as_array().map(Vec::len), Some(14));
}

#[test]
fn dsa_runs_the_same_program_under_every_fill() {
    let json = demo(&["dsa", "--runs", "1"]);
    passed(&json, "nothing_live_is_touched");
    let names: Vec<_> =
        json["tables"][0]["arms"].as_array().expect("rows").iter().map(|arm| &arm["name"]).collect();
    assert_eq!(names, ["STORAGE(,,NONE)", "STORAGE(,,00)", "STORAGE(,,CLEAR)", "compiler initialization"]);
    let fills = json["tables"][1]["arms"].as_array().expect("rows");
    assert_eq!(fills.len(), 4);
    for arm in fills {
        assert_eq!(heap(arm, "gets"), heap(&fills[0], "gets"), "{arm}");
        assert!(heap(arm, "gets") >= 8_192_000);
    }
}

#[test]
fn additional_counts_what_is_freed_and_what_is_discarded() {
    let json = demo(&["additional", "--runs", "1"]);
    for check in ["user_heap", "each", "discard"] {
        passed(&json, check);
    }
    let gets = |name| row(&json, name)["counters"]["heap"]["gets"].as_u64().expect("a figure");
    let (user, discarded) = (gets("user heap, each freed"), gets("additional heap, discarded"));
    assert!(user.abs_diff(discarded) < 1_000 && user > 500_000, "{user} {discarded}");
}

#[test]
fn threads_have_their_first_stack_segments_in_anyheap() {
    let json = demo(&["threads"]);
    for check in [
        "first_segments",
        "none_of_the_c_librarys",
        "one_heap",
        "stack_holds_the_largest",
        "anyheap_moves_with_threadstack",
    ] {
        passed(&json, check);
    }
    let stacks = |name| row(&json, name)["counters"]["anyheap"]["stacks"].as_u64();
    assert_eq!(["1 thread", "8 threads", "64 threads"].map(stacks), [1, 8, 64].map(|n| Some(n << 16)));
}

#[test]
fn lock_loses_nothing_under_any_lock() {
    let json = demo(&["lock", "--runs", "1"]);
    passed(&json, "nothing_is_lost");
    for table in 0..2 {
        let arms = json["tables"][table]["arms"].as_array().expect("rows");
        let names: Vec<_> = arms.iter().map(|arm| arm["name"].as_str().expect("a name")).collect();
        assert_eq!(names, ["naive", "simple", "std", "parking_lot", "pthread"]);
        let done = if table == 0 { "records" } else { "operations" };
        for arm in arms {
            assert!(arm["said"][done].as_u64().expect("a count") > 0, "{arm}");
            // Its account has all of the load; the kernel's account of the whole process also has its start.
            let (own, whole) = (arm["said"]["cpu_ns"].as_u64(), arm["cpu_ns"].as_u64());
            assert!(own.expect("a time") <= whole.expect("a time") + 10_000_000, "{arm}");
        }
    }
    // If the kernel allows samples, those of the naive lock are in its loop.
    if let Some(naive) = json["profiled"].get(0) {
        let rows = naive["instructions"].as_array().expect("rows");
        // In a command that is not optimised, the steps of the loop are functions.
        let parts = ["take_from_others", "compare_exchange", "is_err"];
        let of = |row: &&Value| {
            row["function"].as_str().is_some_and(|name| parts.iter().any(|part| name.contains(part)))
        };
        let in_loop: u64 = rows.iter().filter(of).map(|row| row["count"].as_u64().expect("a count")).sum();
        assert!(in_loop * 2 > naive["samples"].as_u64().expect("a count"), "{naive}");
    } else {
        assert!(json["notes"][0].as_str().expect("a note").starts_with("No profile"), "{json}");
    }
    assert_eq!(json["profiles"][0]["samples"][3]["count"], 7_943);
    assert_eq!(json["tables"][0]["document"][0]["records_per_second"], 200);
}

#[test]
fn a_demo_without_a_name_lists_them_and_a_wrong_name_is_wrong_usage() {
    let list = left(Command::new(underbar()).arg("demo"));
    assert_eq!(code(list.status), 0);
    for name in [
        "simple",
        "getfree",
        "keepfree",
        "threads",
        "dsa",
        "lock",
        "additional",
        "enclaves",
        "load-blocksize",
        "load-pdse",
        "directory",
        "tracks",
        "survey",
    ] {
        assert!(list.output.lines().any(|line| line.starts_with(name)), "{}", list.output);
    }
    let wrong = left(Command::new(underbar()).args(["demo", "getfre"]));
    assert_eq!((code(wrong.status), wrong.output.as_str()), (2, ""));
    assert!(wrong.error.contains("getfree"), "{}", wrong.error);
    // The programs are hidden, and print only a short message for wrong arguments.
    let help = left(Command::new(underbar()).arg("--help"));
    assert!(!help.output.contains("__program"), "{}", help.output);
    assert_eq!(code(left(Command::new(underbar()).args(["__program", "no-such"])).status), 125);
}

// ---- against the kernel ----------------------------------------------------------------------------------

/// The preload library, as `run` places it.
fn library() -> PathBuf {
    let result =
        left(Command::new(underbar()).args(["run", "-q", "--exec", "--", "env"]).env_remove("LD_PRELOAD"));
    let path = result.output.lines().find_map(|line| line.strip_prefix("LD_PRELOAD=")).expect("a preload");
    PathBuf::from(path.split(':').next().expect("one"))
}

/// Figures of the one process in a ledger, which may still run.
fn accounts(ledger: &Path) -> impl Fn(Key) -> u64 {
    let bytes = fs::read(ledger).expect("a ledger");
    move |key| {
        let view = LedgerView::new(&bytes).expect("a good ledger");
        view.slots().next().expect("a process").get(key)
    }
}

/// The number of calls of mmap and munmap of the demo program `name`.
fn kernel_calls(folder: &Path, name: &str, variables: &[String]) -> [u64; 2] {
    let counts = folder.join("counts");
    let mut command = Command::new("strace");
    command.args(["-c", "-e", "trace=mmap,munmap", "-o"]).arg(&counts);
    for variable in variables {
        command.args(["-E", variable]);
    }
    let result = left(command.arg(underbar()).args(["__program", name]));
    assert_eq!(code(result.status), 0, "{}", result.error);
    let text = fs::read_to_string(counts).expect("counts");
    ["mmap", "munmap"].map(|call| {
        let line = text.lines().find(|line| line.split_ascii_whitespace().last() == Some(call));
        line.and_then(|line| line.split_ascii_whitespace().nth(3)?.parse().ok()).unwrap_or(0)
    })
}

#[test]
fn each_segment_is_a_kernel_call_of_its_own() {
    if Command::new("strace").arg("-V").output().is_err() {
        return skip("segments against strace: needs strace");
    }
    let folder = scratch("demo-calls");
    let bare = kernel_calls(&folder, "keepfree", &[]);
    for options in [SMALL_KEEP, SMALL_FREE, LARGE] {
        let ledger = folder.join("ledger");
        let _ = fs::remove_file(&ledger);
        let variables = [
            format!("LD_PRELOAD={}", library().display()),
            format!("UNDERBAR_OPTS={options},MSGFILE({})", ledger.display()),
        ];
        let calls = kernel_calls(&folder, "keepfree", &variables);
        let accounts = accounts(&ledger);
        let segments = [accounts(Key::HeapSegmentsAllocated), accounts(Key::HeapSegmentsFreed)];
        assert!(segments[0] >= 8 && (segments[1] > 30_000) == (options == SMALL_FREE), "{segments:?}");
        for at in 0..2 {
            // The remaining calls map the library and underbar's own tables.
            let more = calls[at].checked_sub(bare[at]).expect("at least the calls of the bare program");
            assert!(more.abs_diff(segments[at]) <= 64, "{options}: {calls:?} {bare:?} {segments:?}");
        }
    }
}

/// A demo program that prints its position and waits.
struct Waiting {
    child: Child,
    input: ChildStdin,
    lines: BufReader<ChildStdout>,
}

impl Waiting {
    fn start(options: &str, ledger: &Path, name: &str) -> Waiting {
        let mut child = Command::new(underbar())
            .args(["__program", name, "--wait"])
            .env("LD_PRELOAD", library())
            .env("UNDERBAR_OPTS", format!("{options},MSGFILE({})", ledger.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let input = child.stdin.take().expect("a pipe");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
        Waiting { child, input, lines }
    }

    /// Waits until the program is at that position.
    fn is_at(&mut self, place: &str) {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        assert_eq!(line.trim_end(), place);
    }

    /// Lets it continue.
    fn go_on(&mut self) {
        self.input.write_all(b"\n").expect("it waits");
    }

    /// Bytes of its private anonymous mappings, except for stacks and the kernel's additions.
    fn mapped(&self) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/maps", self.child.id())).expect("it lives");
        let mut sum = 0;
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let (range, rights) = (words.next().expect("a range"), words.next().expect("rights"));
            let (inode, name) = (words.nth(2).expect("an inode"), words.next());
            if rights == "rw-p" && inode == "0" && name.is_none_or(|name| name.starts_with("[anon")) {
                let (from, to) = range.split_once('-').expect("two addresses");
                let number = |text| u64::from_str_radix(text, 16).expect("an address");
                sum += number(to) - number(from);
            }
        }
        sum
    }
}

#[test]
fn the_programs_memory_map_is_what_the_segments_add_up_to() {
    let folder = scratch("demo-maps");
    for (at, options) in [SMALL_KEEP, SMALL_FREE, LARGE].into_iter().enumerate() {
        let ledger = folder.join(at.to_string());
        let mut program = Waiting::start(options, &ledger, "keepfree");
        let mut before = None;
        for place in ["before", "got", "freed"] {
            program.is_at(place);
            let accounts = accounts(&ledger);
            let segments = accounts(Key::HeapSegmentBytes);
            let now = (program.mapped(), segments, accounts(Key::HeapOwnBytes));
            let start = *before.get_or_insert(now);
            // Since the start only segments and underbar's own tables were mapped.
            let expected = (now.1 + now.2).checked_sub(start.1 + start.2).expect("no less than at the start");
            assert_eq!(now.0 - start.0, expected, "{options}, {place}: {start:?} {now:?}");
            if place == "got" {
                assert!(segments > 800_000_000, "{segments}");
            }
            if place == "freed" {
                assert_eq!(segments > 800_000_000, options != SMALL_FREE, "{options}: {segments}");
            }
            program.go_on();
        }
        assert_eq!(code(program.child.wait().expect("our child")), 0);
    }
}

/// The program's output about its resident memory: with all pieces, with the last one, with none.
fn resident(options: &str, name: &str) -> [u64; 3] {
    let result = left(
        Command::new(underbar())
            .args(["run", "-q", "--opts", options, "--"])
            .arg(underbar())
            .args(["__program", name]),
    );
    assert_eq!(code(result.status), 0, "{}", result.error);
    ["resident_all=", "resident_last=", "resident_none="].map(|label| {
        let word = result.output.split_ascii_whitespace().find_map(|word| word.strip_prefix(label));
        word.and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{label} in {}", result.output))
    })
}

#[test]
fn under_free_resident_memory_falls_within_the_last_free_whoever_frees() {
    // 8 MiB of pieces: some in the initial segment, more than 6 MiB in one increment.
    const SOME: u64 = 6 << 20;
    for name in ["last-cell", "last-cell-elsewhere"] {
        let [all, last, none] = resident("HEAP(1M,16M,ANYWHERE,FREE)", name);
        assert!(all.abs_diff(last) < SOME / 8, "{name}: an increment in use stays as it is: {all} {last}");
        assert!(last.saturating_sub(none) >= SOME, "{name}: {last} {none}");
        let [all, _, none] = resident("HEAP(1M,16M,ANYWHERE,KEEP)", name);
        assert!(all.abs_diff(none) < SOME / 8, "{name}, kept: {all} {none}");
    }
}

#[test]
fn multi_fetch_sends_an_eighth_of_the_fetches() {
    if !Path::new("/usr/include/postgresql/libpq-fe.h").is_file()
        || !Path::new("/usr/lib/postgresql").is_dir()
    {
        return skip("demo multifetch: postgresql or libpq-dev is not installed");
    }
    let json = demo(&["multifetch", "--runs", "1"]);
    passed(&json, "all_rows");
    passed(&json, "fetches_at_8");
    let fetches = &row(&json, "FETCH 1, MULTIFETCH(100)")["counters"]["fetch"];
    assert!(fetches["sent"].as_u64().is_some_and(|sent| (1_000..1_010).contains(&sent)), "{fetches}");
}

#[test]
fn an_internal_sort_makes_no_calls_for_records() {
    let json = demo(&["sort", "--runs", "1"]);
    for check in ["same_order", "same_order_of_many", "calls", "calls_of_many"] {
        passed(&json, check);
    }
}

#[test]
fn components_are_counted_as_the_source_has_them() {
    let json = demo(&["components", "--runs", "1"]);
    for name in ["writes", "timers", "polls", "reads", "all_lines"] {
        passed(&json, name);
    }
}

#[test]
fn calls_of_an_ineligible_program_are_four_switches_each() {
    let json = demo(&["3gl", "--runs", "1"]);
    for name in ["switches", "switches_of_batches", "sums"] {
        passed(&json, name);
    }
}

#[test]
fn lines_and_records_are_cached() {
    let compiles = |compiler: &str| Command::new(compiler).arg("--version").output().is_ok();
    if !compiles("c++") {
        return skip("demo print: no C++ compiler");
    }
    let json = demo(&["print", "--runs", "1"]);
    passed(&json, "same_bytes");
    passed(&json, "few_writes");
    let json = demo(&["workfile", "--runs", "1"]);
    passed(&json, "all_records");
    passed(&json, "few_reads");
    let json = demo(&["bus", "--runs", "1"]);
    for check in ["one_cache_for_all_output", "one_cache_for_each_input", "none_before_use", "all_records"] {
        passed(&json, check);
    }
    assert!(json["pages"][0].as_str().is_some_and(|page| page.contains("  WCACHEO   V ")), "{json}");
    let json = demo(&["mainpr", "--runs", "1"]);
    passed(&json, "same_bytes");
    passed(&json, "few_writes");
}

#[test]
fn one_reservation_serves_buffers_that_come_and_go() {
    let json = demo(&["thread-storage", "--runs", "1"]);
    for check in ["all_buffers", "calls_by_default", "calls_reserved", "all_inside", "pages_stay"] {
        passed(&json, check);
    }
}

#[test]
fn program_starts_make_no_timer_calls_and_keep_their_limit() {
    let json = demo(&["timer", "--runs", "1"]);
    for check in ["all_starts", "calls_coalesced", "starts_limited", "limit_holds"] {
        passed(&json, check);
    }
}
