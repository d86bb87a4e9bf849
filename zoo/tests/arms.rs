//! Arms without underbar: `compare` with a variable, another library or another command, and `tune --allocators`.
//!
//! Not here: how a run is made (`trials`), and what makes one arm better (`underbar_verdict`).

use crate::trials::underbar_in;
use underbar_zoo::{code, json, scratch};

/// Each arm runs as it was named, in the order of the flags.
#[test]
fn an_arm_has_its_variable_or_its_command() {
    let folder = scratch("arms");
    let script = "echo \"$ARM ${LD_PRELOAD:+preloaded}\" >>ran; echo done";
    let flags = [
        "compare",
        "--runs",
        "1",
        "--env",
        "ARM=one",
        "--opts",
        "default",
        "--command",
        "echo command >>ran; echo done",
    ];
    let result = underbar_in(&folder, &[&flags[..], &["--json", "--", "sh", "-c", script]].concat());
    assert_eq!(code(result.status), 0, "{}", result.error);
    let mut ran: Vec<String> = std::fs::read_to_string(folder.join("ran"))
        .expect("ran")
        .lines()
        .map(|line| line.trim().to_owned())
        .collect();
    ran.sort();
    // A warm-up and a round.
    assert_eq!(ran, ["command", "command", "one", "one", "preloaded", "preloaded"]);
    let arms = &json(&result)["arms"];
    assert_eq!(arms[0]["env"], "ARM=one", "{arms}");
    assert_eq!(arms[1]["opts"], "default", "{arms}");
    assert_eq!(arms[2]["command"], "echo command >>ran; echo done", "{arms}");
}

/// A library that the loader cannot load, and a program that loads none: no figures of plain under another name.
#[test]
fn a_library_that_was_not_loaded_is_no_arm() {
    let folder = scratch("arms-library");
    for (library, says) in [
        ("libno-such-allocator.so", "--preload: the loader cannot load libno-such-allocator.so"),
        ("/no/such/file.so", "--preload /no/such/file.so: no such file"),
    ] {
        let result = underbar_in(
            &folder,
            &["compare", "--runs", "1", "--opts", "plain", "--preload", library, "--", "true"],
        );
        assert_eq!(code(result.status), 2, "{}", result.error);
        assert!(result.error.contains(says) && result.output.is_empty(), "{result:?}");
    }
}

/// What is installed differs; settings of glibc are always there. The verdict names one of the arms, or none.
#[test]
fn tune_compares_with_the_allocators_of_the_machine() {
    let folder = scratch("arms-tune");
    let flags = ["tune", "--allocators", "--runs", "1", "--", "sh", "-c", "echo x"];
    let told = underbar_in(&folder, &flags);
    assert_eq!(code(told.status), 0, "{}", told.error);
    assert!(told.output.contains("\nallocators: default against plain, "), "{}", told.output);
    assert!(
        told.output.contains("glibc keep, one arena\n")
            && told.output.contains("\nallocator  none is better"),
        "{}",
        told.output
    );
    let data = underbar_in(&folder, &[&["tune", "--json"], &flags[1..]].concat());
    let found = json(&data);
    let others = &found["allocators"];
    assert_eq!(others["reference"], "default", "{others}");
    for none in ["better", "before", "less_memory", "less_memory_before"] {
        assert_eq!(others.get(none), Some(&serde_json::Value::Null), "{none}: {others}");
    }
    let names: Vec<&str> = others["comparisons"]
        .as_array()
        .expect("some")
        .iter()
        .filter_map(|one| one["candidate"].as_str())
        .collect();
    assert!(names.first() == Some(&"plain") && names.last() == Some(&"one arena"), "{names:?}");
}
