//! Places in the file system. The library finds one, or the program runs plain: folders absent, closed, or without
//! permission to run code. Options come from the files of the system, of the user, and next to the program, and from no others.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use underbar_zoo::{
    aside, code, executable, is_superuser, is_superuser_or_skips, left, program, scratch, show_aside, skip,
    text, underbar,
};

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
    // Root has its own place before its home folder.
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
        let aside = show_aside();
        let script =
            format!("{aside} && {mounts} && unset XDG_CACHE_HOME LD_PRELOAD && HOME=/proc/no exec {line}");
        left(Command::new("unshare").args(["-m", "sh", "-c", &script]))
    };
    let noexec = "mount -t tmpfs -o noexec none /tmp && mount -t tmpfs -o noexec none /var/cache";
    if code(with(noexec, "true").status) != 0 {
        return skip("folders without the right to run code: mounting is not allowed here");
    }
    let run = format!("{} run -q -- {}", aside(underbar()), aside(&loaded));
    let result = with(noexec, &run);
    assert_eq!((code(result.status), result.error.as_str()), (0, ""));
    assert_eq!(result.output, "followed\n");
    // Without a parent no process holds it: plain.
    let run = format!("{} run -q --exec -- {}", aside(underbar()), aside(&loaded));
    let result = with(noexec, &run);
    assert_eq!((code(result.status), result.output.as_str()), (0, "plain\n"));
    assert!(
        result.error.starts_with("underbar: warning: the program runs plain: no place"),
        "{}",
        result.error
    );
}

/// `underbar options --json` or the like in a mount namespace in which this shell code has made files;
/// /etc is a copy over the machine's own.
fn with_own_etc(setup: &str, line: &str) -> Option<underbar_zoo::Left> {
    let what = "options of the whole system";
    if !is_superuser_or_skips(what) {
        return None;
    }
    let over = "mkdir /tmp/up /tmp/work && mount -t overlay -o lowerdir=/etc,upperdir=/tmp/up,workdir=/tmp/work none /etc";
    // Without overlays, a folder with nothing but what programs need to start.
    let copy = "cp -a /etc/ld.so.cache /etc/passwd /etc/group /tmp/ && mount -t tmpfs none /etc && \
                cp -a /tmp/ld.so.cache /tmp/passwd /tmp/group /etc/";
    let with = |line: &str| {
        let mount = format!(
            "{} && mount -t tmpfs -o mode=1777 none /tmp && {{ {{ {over}; }} 2>/dev/null || {{ {copy}; }}; }}",
            show_aside()
        );
        let script = format!(
            "{mount} && {setup} && unset UNDERBAR_OPTS && export XDG_CONFIG_HOME=/tmp/config && {line}"
        );
        left(Command::new("unshare").args(["-m", "sh", "-c", &script]))
    };
    if code(with("true").status) != 0 {
        skip(&format!("{what}: mounting is not allowed here"));
        return None;
    }
    Some(with(line))
}

#[test]
fn options_of_the_whole_system_are_the_weakest_layer() {
    let program = program("loaded");
    let setup = format!(
        "mkdir -p /tmp/config/underbar /tmp/there /tmp/else && cp {} /tmp/there/loaded && \
         echo 'HEAP(1M,2M),STACK(3M,1M),THREADSTACK(ON,5M,1M)' > /etc/underbar.opts && \
         echo 'STACK(4M),[loaded]HEAP(,6M)' > /tmp/config/underbar/opts && \
         echo 'THREADSTACK(ON,7M)' > /tmp/there/underbar.opts",
        aside(&program)
    );
    let run = format!("{} run --json -- ", aside(underbar()));
    let options = |line: &str| {
        let result = with_own_etc(&setup, line)?;
        assert_eq!((code(result.status), result.output.as_str()), (0, "followed\n"), "{}", result.error);
        let report: serde_json::Value = serde_json::from_str(&result.error).expect("a report");
        let in_force = report["options"]["in_force"].as_array().expect("options").clone();
        Some(move |name: &str| {
            let option = in_force
                .iter()
                .find(|option| option["option"].as_str().is_some_and(|text| text.starts_with(name)))
                .expect("the option");
            let text = |key: &str| option[key].as_str().expect("text").to_owned();
            (text("option"), text("where_set"))
        })
    };
    let Some(elsewhere) = options(&format!("cd /tmp/else && {run} /tmp/there/loaded")) else { return };
    let (stack, thread) = (elsewhere("STACK("), elsewhere("THREADSTACK("));
    assert!(stack.0.starts_with("STACK(4194304,1048576"), "{stack:?}");
    assert!(thread.0.starts_with("THREADSTACK(ON,7340032,1048576"), "{thread:?}");
    assert!(elsewhere("HEAP(").0.starts_with("HEAP(1048576,6291456"), "{:?}", elsewhere("HEAP("));
    // Files in the current directory are not used.
    let here = options(&format!("cd /tmp/there && {run} ./loaded")).expect("as before");
    let thread = here("THREADSTACK(");
    assert_eq!(thread.1, "/etc/underbar.opts");
    assert!(thread.0.starts_with("THREADSTACK(ON,5242880,1048576"), "{thread:?}");
}

#[test]
fn options_of_the_whole_system_that_others_can_write_are_left_out() {
    for (setup, reason) in
        [("chmod 666", "other users can write it"), ("chown 1234", "other users can write it")]
    {
        let setup = format!("echo 'HEAP(1M)' > /etc/underbar.opts && {setup} /etc/underbar.opts");
        let run = format!("{} run -- {}", aside(underbar()), aside(&program("loaded")));
        let Some(result) = with_own_etc(&setup, &run) else { return };
        assert_eq!((code(result.status), result.output.as_str()), (0, "followed\n"), "{}", result.error);
        assert!(result.error.contains("options file /etc/underbar.opts was left out"), "{}", result.error);
        assert!(result.error.contains(reason), "{}", result.error);
        assert!(!result.error.contains("HEAP(1M"), "{}", result.error);
    }
}

#[test]
fn an_options_file_that_nobody_asked_for_and_that_is_no_file_keeps_no_program_waiting() {
    // A pipe of that name would be read for ever.
    let folder = scratch("pipe-for-options");
    fs::create_dir(folder.join("underbar")).expect("a folder");
    let made = Command::new("mkfifo").arg(folder.join("underbar/opts")).status().expect("mkfifo");
    assert!(made.success());
    let mut run = Command::new("timeout");
    run.args(["-k", "1", "20"]).arg(underbar()).args(["run", "--"]).arg(program("loaded"));
    let result = left(run.env("XDG_CONFIG_HOME", &folder).env_remove("LD_PRELOAD"));
    assert_eq!((code(result.status), result.output.as_str()), (0, "followed\n"), "{}", result.error);
    assert!(result.error.contains("underbar/opts was left out: it is not a plain file"), "{}", result.error);
}

#[test]
fn a_folder_of_options_that_is_closed_to_the_user_is_none() {
    if !is_superuser_or_skips("a closed folder of options") {
        return;
    }
    const NOBODY: u32 = 65534;
    // In /tmp, since the path to the target folder may be closed to others.
    let folder = PathBuf::from(format!("/tmp/underbar-closed-{}", std::process::id()));
    let (command, closed, cache) = (folder.join("underbar"), folder.join("closed"), folder.join("cache"));
    fs::create_dir_all(closed.join("underbar")).expect("a folder");
    fs::write(closed.join("underbar/opts"), "HEAP(1M)").expect("written");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).expect("closed");
    fs::create_dir(&cache).expect("a folder");
    chown(&cache, Some(NOBODY), Some(NOBODY)).expect("another owner");
    executable::copy(underbar(), &command);
    let mut run = Command::new("setpriv");
    run.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&command);
    run.args(["run", "-q", "--", "true"]).env("XDG_CONFIG_HOME", &closed).env("XDG_CACHE_HOME", &cache);
    let result = left(run.env_remove("LD_PRELOAD"));
    fs::remove_dir_all(folder).expect("removed");
    assert_eq!((code(result.status), result.error.as_str()), (0, ""));
}
