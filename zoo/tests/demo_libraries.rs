//! The demos of load libraries: their counts, and that they leave nothing. Times are not tested here.

use std::fs;
use std::process::Command;

use serde_json::Value;
use underbar_zoo::{code, left, scratch, underbar};

/// The output of a demo with --json, and its checks; its counts must be right, and its folder removed.
fn demo(name: &str) -> Value {
    let folder = scratch(&format!("demo-{name}"));
    let mut command = Command::new(underbar());
    command.args(["demo", name, "--runs", "1", "--json", "-q"]).env("TMPDIR", &folder);
    let result = left(&mut command);
    assert_eq!(code(result.status), 0, "{name}\n{}\n{}", result.output, result.error);
    assert_eq!(result.error, "", "{name}");
    let json: Value = serde_json::from_str(&result.output).expect("JSON");
    assert_eq!((&json["schema"], &json["demo"]), (&"underbar.demo/1".into(), &name.into()));
    let left: Vec<_> =
        fs::read_dir(&folder).expect("a folder").flatten().map(|file| file.file_name()).collect();
    let own = left.iter().filter(|file| file.to_string_lossy().starts_with(&format!("underbar-{name}")));
    assert_eq!(own.count(), 0, "{left:?}");
    json
}

fn passed(json: &Value, checks: &[&str]) {
    for check in checks {
        let all = json["checks"].as_array().expect("checks");
        let found = all.iter().find(|found| found["name"] == *check).unwrap_or_else(|| panic!("{check}"));
        assert_eq!((&found["is_count"], &found["result"]), (&Value::Bool(true), &"pass".into()), "{found}");
    }
}

/// A figure of a row of a table.
fn said(json: &Value, table: usize, row: &str, figure: &str) -> u64 {
    let rows = json["tables"][table]["arms"].as_array().expect("rows");
    let row = rows.iter().find(|found| found["name"] == row).unwrap_or_else(|| panic!("{row} in {json}"));
    row["said"][figure].as_u64().unwrap_or_else(|| panic!("{figure} in {row}"))
}

/// The same for one LOAD.
fn each(json: &Value, table: usize, row: &str, figure: &str) -> u64 {
    let (figure, loads) = (said(json, table, row, figure), said(json, table, row, "loads"));
    assert!(figure.is_multiple_of(loads), "{figure} of {loads} LOADs: {row}");
    figure / loads
}

/// Whether the file system of the demo can be read past the page cache. Then the table has rows.
fn has_rows(json: &Value, table: usize) -> bool {
    let rows = json["tables"][table]["arms"].as_array().expect("rows");
    let notes = json["notes"].as_array().expect("notes");
    let is_refused = notes.iter().any(|note| note.as_str().is_some_and(|note| note.contains("O_DIRECT")));
    assert_eq!(rows.is_empty(), is_refused);
    !rows.is_empty()
}

const PDS: [&str; 3] = ["PDS 6,144", "PDS 23,440", "PDS 32,760"];

#[test]
fn large_programs_are_cheaper_in_large_blocks_and_tiny_ones_are_not() {
    let json = demo("load-blocksize");
    passed(
        &json,
        &["large_article", "large_fetch", "large_blocks", "tiny_article", "tiny_blocks", "own_loader"],
    );
    let article = PDS.map(|row| each(&json, 0, row, "programs_by_article"));
    // The text fills blocks: at least as many as the size requires, and few more, as some fill a track.
    for (size, programs) in [6_144, 23_440, 32_760].into_iter().zip(article) {
        let least = (4_u64 << 20).div_ceil(size);
        assert!((2 * least..4 * least).contains(&programs), "{size}: {programs}");
    }
    assert!(article[0] > 3 * article[2], "{article:?}");
    for row in PDS {
        // A search, a text, and a control block and a text for each further one.
        assert_eq!(each(&json, 0, row, "programs_by_article"), 1 + each(&json, 0, row, "blocks"));
        assert_eq!(each(&json, 0, row, "programs_by_fetch"), 2);
        assert_eq!((each(&json, 2, row, "programs_by_article"), each(&json, 2, row, "tracks")), (2, 1));
        assert_eq!(said(&json, 2, row, "loads"), 5_000);
    }
    if has_rows(&json, 1) {
        passed(&json, &["large_same", "tiny_same", "large_reads", "tiny_reads"]);
        for row in PDS {
            assert_eq!(each(&json, 3, row, "device_reads"), 2, "directory and block");
            // The contents of a track are no more than a few requests, and no block is requested twice.
            let (reads, blocks) = (each(&json, 1, row, "device_reads"), each(&json, 1, row, "blocks"));
            assert!(reads > blocks / 2 && reads <= blocks + 1, "{row}: {reads} {blocks}");
        }
    }
    let document = &json["tables"][0]["document"];
    assert_eq!((&document[0]["excp"], &document[0]["loads"]), (&1_646_000.into(), &1_000.into()));
    assert_eq!(document[2]["excp"], 426_000);
}

#[test]
fn a_pdse_reads_what_is_needed_and_knows_no_block_size() {
    let json = demo("load-pdse");
    passed(&json, &["default_pages", "prime_pages", "default_article", "kept_reads_nothing", "own_loader"]);
    passed(&json, &["same_424", "same_264k"]);
    assert_eq!(each(&json, 0, "PDSE", "blocks"), 16);
    assert_eq!(each(&json, 0, "PDSE, PRIME", "blocks"), 1_024);
    let kept = said(&json, 0, "PDSE, LLA and VLF", "loads");
    assert_eq!(said(&json, 0, "PDSE, LLA and VLF", "hits_in_pool"), kept, "each was in the pool");
    assert_eq!(said(&json, 0, "PDSE", "hits_in_pool"), 0);
    for size in ["4 KB", "64 KB", "256 KB", "4 MB"] {
        let ours = format!("{size}, LLA and VLF");
        assert_eq!(
            said(&json, 4, &ours, "hits_in_pool"),
            said(&json, 4, &ours, "loads"),
            "each was in the pool"
        );
        let each = |row: &str| said(&json, 4, row, "cpu_ns") as f64 / said(&json, 4, row, "loads") as f64;
        let (ours, system) = (each(&ours), each(&format!("{size}, dlopen, dlclose")));
        // Dropped pages cost as much as dlopen's.
        assert!(ours < 0.6 * system, "{size}: {ours} ns, dlopen {system} ns");
    }
    for size in ["6,144", "23,440", "32,760"] {
        assert_eq!(each(&json, 2, &format!("424 bytes, {size}"), "blocks"), 1);
        // 264 KB, and the rest of a program around them.
        assert!((66..=68).contains(&each(&json, 2, &format!("264 KB, {size}"), "blocks")));
    }
    // dlopen has no tracks, so nothing is counted.
    let rows = json["tables"][0]["arms"].as_array().expect("rows");
    let system = rows.iter().find(|row| row["name"] == "dlopen, dlclose").expect("a row");
    assert!(system["said"]["programs_by_article"].is_null() && system["said"]["loads"].is_u64());
    if has_rows(&json, 1) {
        passed(&json, &["direct_reads"]);
        let reads = |row: &str| each(&json, 1, row, "device_reads");
        assert!(reads("PDSE") < reads("PDSE, PRIME") && reads("PDSE, PRIME") < reads("PDS 32,760"));
    }
    assert_eq!(json["tables"][0]["document"][2]["excp"], 1_285_000);
}

#[test]
fn a_long_directory_costs_blocks_and_no_channel_programs() {
    let json = demo("directory");
    passed(
        &json,
        &["pds_article", "pds_searched", "pdse_searched", "pdse_fetch", "pds_lla", "pdse_lla", "own_loader"],
    );
    let searched = |table, row: &str| each(&json, table, row, "directory_blocks");
    for members in ["2", "4,200", "100,000"] {
        let row = format!("PDS, {members} members");
        assert_eq!(each(&json, 0, &row, "programs_by_article"), 2);
        assert_eq!(each(&json, 0, &row, "programs_by_fetch"), 2);
        assert_eq!((searched(2, &row), each(&json, 2, &row, "programs_by_article")), (0, 1));
        assert_eq!(searched(2, &format!("PDSE, {members} members")), 0);
    }
    assert!(searched(0, "PDS, 4,200 members") > 100 * searched(0, "PDS, 2 members"));
    assert!(searched(0, "PDS, 100,000 members") > 20 * searched(0, "PDS, 4,200 members"));
    assert!(searched(0, "PDSE, 100,000 members") <= 4);
    if has_rows(&json, 1) {
        let reads = |row: &str| each(&json, 1, row, "device_reads");
        assert!(reads("PDS, 100,000 members") > 10 * reads("PDS, 4,200 members"));
        assert!(reads("PDSE, 100,000 members") <= 6);
    }
    let document = &json["tables"][0]["document"];
    assert_eq!((&document[2]["excp"], &document[3]["excp"]), (&25_006.into(), &25_012.into()));
}

#[test]
fn the_largest_block_size_takes_the_fewest_tracks() {
    let json = demo("tracks");
    passed(
        &json,
        &["largest_is_smallest", "capacity", "programs", "short_blocks", "same_members", "verified"],
    );
    passed(&json, &["computed_as_copied"]);
    for size in ["6,144", "18,452", "23,440", "27,998", "32,760"] {
        let (fullest, used) = (said(&json, 0, size, "fullest"), said(&json, 0, size, "cells_used"));
        assert!(fullest <= 1_729 && fullest > 1_700, "{size}: {fullest}");
        // Short blocks fill the tracks: little is left.
        assert!(used * 100 > said(&json, 0, size, "cells") * 98, "{size}: {used}");
        let longest = size.replace(',', "").parse::<u64>().expect("a number") & !7;
        assert_eq!(said(&json, 0, size, "longest"), longest);
    }
    assert_eq!(json["tables"][0]["document"][2]["tracks"], 2_620);
}

#[test]
fn a_survey_finds_what_was_made() {
    let json = demo("survey");
    passed(&json, &["libraries", "block_sizes", "shares", "tracks", "programs", "advice"]);
    let of = |figure: &str| said(&json, 0, "all", figure);
    assert_eq!((of("pds"), of("pdse")), (100, 10));
    assert_eq!((of("large_per_mille"), of("small_per_mille")), (790, 70));
    assert_eq!((of("libraries_32760"), of("libraries_4096")), (67, 1));
    assert!(of("tracks_32760") < of("tracks_6144"));
    assert_eq!(json["tables"][0]["document"][0]["per_mille"][0], 800);
}

#[test]
fn a_link_makes_an_enclave_and_a_call_does_not() {
    let json = demo("enclaves");
    passed(&json, &["link_enclaves", "call_enclaves", "link_bytes", "call_bytes"]);
    let gets = |row: &str| {
        let rows = json["tables"][0]["arms"].as_array().expect("rows");
        let row = rows.iter().find(|found| found["name"] == row).expect("a row");
        row["counters"]["heap"]["gets"].as_u64().expect("a figure")
    };
    // Both ways make the same requests: one for each program.
    for (way, ten) in [("LINK", "LINK, 10 deep"), ("CALL", "CALL, 10 deep")] {
        assert_eq!(gets(ten) - gets(&format!("{way}, 1 deep")), 9, "{way}");
    }
    assert_eq!(json["tables"][1]["document"][0]["left"], 21_568 << 10);
}
