//! The library finds a place, or the program runs plain: folders absent, closed, or without the right to run
//! code.

use std::fs;
use std::path::Path;
use std::process::Command;
use underbar_zoo::{code, is_superuser, is_superuser_or_skips, left, program, scratch, skip, underbar};

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

/// `loaded` under `underbar run` with these places for its cache.
fn check(cache: Option<&str>, home: Option<&str>, expect: &str) {
    let mut run = Command::new(underbar());
    run.args(["run", "-q", "--"]).arg(program("loaded")).env_remove("LD_PRELOAD");
    for (name, value) in [("XDG_CACHE_HOME", cache), ("HOME", home)] {
        match value {
            Some(value) => run.env(name, value),
            None => run.env_remove(name),
        };
    }
    let result = left(&mut run);
    assert_eq!((result.output.as_str(), result.error.as_str()), (expect, ""), "{cache:?} {home:?}");
}

#[test]
fn a_place_is_found() {
    let folder = scratch("places");
    let file = folder.join("file");
    fs::write(&file, "").expect("a file");
    let blank = folder.join("with blank");
    fs::create_dir(&blank).expect("a folder");
    let new = folder.join("new/deep");
    check(Some(text(&new)), None, "followed\n");
    let library =
        fs::read_dir(new.join("underbar")).expect("made").next().expect("one").expect("read").path();
    assert!(library.join("libunderbar.so").is_file());
    check(Some(text(&file)), Some(text(&folder)), "followed\n");
    // The superuser has a place of his own before his home folder.
    assert!(is_superuser() || folder.join(".cache/underbar").is_dir());
    check(Some(text(&blank)), Some("/proc/no"), "followed\n");
    assert_eq!(fs::read_dir(&blank).expect("a folder").count(), 0);
    check(Some("relative"), None, "followed\n");
    check(None, None, "followed\n");
}

#[test]
fn a_spoiled_library_is_mended() {
    let folder = scratch("spoiled");
    check(Some(text(&folder)), None, "followed\n");
    let hash =
        fs::read_dir(folder.join("underbar")).expect("made").next().expect("one").expect("read").path();
    fs::write(hash.join("libunderbar.so"), "spoiled").expect("written");
    check(Some(text(&folder)), None, "followed\n");
}

#[test]
fn many_at_once_write_it_once() {
    let folder = scratch("at-once");
    let mut running: Vec<_> = (0..16)
        .map(|_| {
            let mut run = Command::new(underbar());
            run.args(["run", "-q", "--"]).arg(program("loaded")).env("XDG_CACHE_HOME", &folder);
            run.env_remove("LD_PRELOAD").stdout(std::process::Stdio::piped()).spawn().expect("started")
        })
        .collect();
    for child in running.drain(..) {
        assert_eq!(child.wait_with_output().expect("ended").stdout, b"followed\n");
    }
    let hash =
        fs::read_dir(folder.join("underbar")).expect("made").next().expect("one").expect("read").path();
    assert_eq!(fs::read_dir(hash).expect("a folder").count(), 1);
}

#[test]
fn where_no_folder_allows_code_memory_does() {
    if !is_superuser_or_skips("folders without the right to run code") {
        return;
    }
    let loaded = program("loaded");
    let with = |mounts: &str, line: &str| {
        let script = format!("{mounts} && unset XDG_CACHE_HOME LD_PRELOAD && HOME=/proc/no exec {line}");
        left(Command::new("unshare").args(["-m", "sh", "-c", &script]))
    };
    let noexec = "mount -t tmpfs -o noexec none /tmp && mount -t tmpfs -o noexec none /var/cache";
    if code(with(noexec, "true").status) != 0 {
        return skip("folders without the right to run code: mounting is not allowed here");
    }
    let run = format!("{} run -q -- {}", text(underbar()), text(&loaded));
    let result = with(noexec, &run);
    assert_eq!((code(result.status), result.error.as_str()), (0, ""));
    assert_eq!(result.output, "followed\n");
    // Without a parent there is nobody to hold it: plain.
    let run = format!("{} run --exec -- {}", text(underbar()), text(&loaded));
    let result = with(noexec, &run);
    assert_eq!((code(result.status), result.output.as_str()), (0, "plain\n"));
    assert!(
        result.error.starts_with("underbar: warning: the program runs plain: no place"),
        "{}",
        result.error
    );
}
