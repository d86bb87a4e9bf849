//! Sections of an options text: each program of a tree obeys its own, by name or by build-id,
//! through any links to it, and the report shows the same.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::Value;
use underbar_zoo::{executable, left, program, scratch, underbar};

/// The increments in force in the processes of a run, by program, and the report's value for the started program.
fn increments(options: &str, line: &[&str]) -> (Vec<(String, u64)>, String) {
    let mut run = Command::new(underbar());
    let result =
        left(run.args(["run", "--json", "--opts", options, "--"]).args(line).env_remove("LD_PRELOAD"));
    let report: Value = serde_json::from_str(&result.error).expect("a report");
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let processes = report["processes"].as_array().expect("processes");
    let of_each = processes.iter().map(|process| {
        let increment = process["counters"]["heap"]["increment_size"].as_u64().expect("a figure");
        (name(process["program"].as_str().expect("a path")), increment)
    });
    let in_force = report["options"]["in_force"].as_array().expect("options").iter();
    let heap = in_force.filter_map(|option| option["option"].as_str()).find(|text| text.starts_with("HEAP("));
    (of_each.collect(), heap.expect("HEAP").to_owned())
}

#[test]
fn each_program_of_a_tree_has_its_own_section() {
    let loaded = program("loaded");
    let loaded = loaded.to_str().expect("text");
    let shell = fs::canonicalize("/bin/sh").expect("a shell");
    let shell = shell.file_name().and_then(|name| name.to_str()).expect("text");
    let options = format!("HEAP(,1M) [{shell}] HEAP(,2M) [loaded] HEAP(,3M) [others] HEAP(,4M)");
    let (found, said) = increments(&options, &["/bin/sh", "-c", &format!("{loaded}; exit 0")]);
    assert_eq!(found, [(shell.to_owned(), 2 << 20), ("loaded".to_owned(), 3 << 20)]);
    assert!(said.starts_with("HEAP(AUTO,2097152,"), "{said}");
}

#[test]
fn a_program_is_known_by_its_own_name_and_its_build_id() {
    let loaded = program("loaded");
    let link = scratch("sections").join("another-name");
    symlink(&loaded, &link).expect("a link");
    let link = link.to_str().expect("text");
    let notes = left(Command::new("readelf").args(["-n", loaded.to_str().expect("text")])).output;
    let (_, id) = notes.split_once("Build ID: ").expect("the C compiler gives programs a build-id");
    let id = &id[..40];
    for (section, expected) in [
        ("loaded", 5 << 20),
        // By the name of the link by which it is started, too: redis-server is a link to its check program.
        ("another-name", 5 << 20),
        (&format!("build-id:{id}"), 5 << 20),
        (&format!("BUILD-ID:{}", id[..8].to_uppercase()), 5 << 20),
        ("build-id:0123456789", 0),
    ] {
        let (found, said) = increments(&format!("[{section}] HEAP(5M,5M)"), &[link]);
        assert_eq!(found, [("loaded".to_owned(), expected)], "{section}");
        assert_eq!(said.starts_with("HEAP(5242880,"), expected != 0, "{section}: {said}");
    }
}

/// A slot of the ledger has room for 256 bytes of the path, and the library's own look at it had the same limit.
#[test]
fn a_program_with_a_long_path_obeys_the_section_of_its_name() {
    let folder = scratch("sections-long");
    let deep =
        folder.join("a-folder-with-a-long-name".repeat(4)).join("another-folder-with-a-long-name".repeat(5));
    fs::create_dir_all(&deep).expect("folders");
    let path = deep.join("loaded-from-afar");
    executable::copy(program("loaded"), &path);
    let path = path.to_str().expect("text");
    assert!(path.len() > 256, "{}", path.len());
    let (found, said) = increments("HEAP(,1M) [loaded-from-afar] HEAP(5M,5M) [others] HEAP(7M)", &[path]);
    assert_eq!(found, [("loaded-from-afar".to_owned(), 5 << 20)]);
    assert!(said.starts_with("HEAP(5242880,5242880"), "{said}");
}
