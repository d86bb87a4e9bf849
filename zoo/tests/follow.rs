//! Programs with the library in them; programs that cannot have it run as if plain, without output of
//! the loader on their standard error.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use underbar_zoo::{
    Way, code, command, compiled, executable, is_superuser_or_skips, left, program, scratch, skip, text,
    try_compiled, underbar,
};

/// The output of `loaded` at the end of this command line under `underbar run FLAGS --`.
fn check(flags: &[&str], line: &[&str], expect: &str) {
    let mut run = Command::new(underbar());
    let result = left(run.arg("run").arg("-q").args(flags).arg("--").args(line).env_remove("LD_PRELOAD"));
    assert_eq!(
        (code(result.status), result.output.trim_end(), result.error.as_str()),
        (0, expect, ""),
        "{flags:?} {line:?}"
    );
}

/// The report's reasons for programs that are not followed, when this one is started, and when a shell
/// starts it.
fn reason(line: &[&str]) -> String {
    let alone = reasons(line);
    let shell = [&["/bin/sh", "-c", "\"$@\"; exit $?", "sh"], line].concat();
    assert_eq!(reasons(&shell), alone, "started by a shell");
    alone
}

fn reasons(line: &[&str]) -> String {
    let result =
        left(Command::new(underbar()).args(["run", "--json", "--"]).args(line).env_remove("LD_PRELOAD"));
    let report: serde_json::Value = serde_json::from_str(&result.error).expect("a report");
    let counters = report["tree"]["counters"]["follow"].as_object().expect("counters");
    let counted = counters.iter().filter(|(_, count)| count.as_u64() == Some(1));
    counted.map(|(reason, _)| reason.as_str()).collect::<Vec<_>>().join(",")
}

const ALL_WAYS: [&str; 20] = [
    "execl",
    "execlp",
    "execle",
    "execv",
    "execvp",
    "execve",
    "execvpe",
    "fexecve",
    "fexecve-path",
    "execveat",
    "spawn",
    "spawnp",
    "system",
    "popen",
    "vfork-execl",
    "vfork-execvp",
    "vfork-execve",
    "vfork-execle",
    "fork-execv",
    "fork-execlp",
];

fn start_with(flags: &[&str], path: &Path, expect: &str) {
    let start = program("start");
    for way in ALL_WAYS {
        let folder = path.parent().expect("a folder");
        let path_variable = format!("PATH=/nowhere:{}:/usr/bin:/bin", text(folder));
        check(flags, &["/usr/bin/env", &path_variable, text(&start), way, text(path)], expect);
    }
}

#[test]
fn programs_are_followed_however_they_are_started() {
    check(&[], &[text(&program("loaded"))], "followed");
    check(&["-q", "--exec"], &[text(&program("loaded"))], "followed");
    start_with(&[], &program("loaded"), "followed");
}

#[test]
fn arguments_arrive_whole_however_they_are_passed() {
    let (start, arguments) = (program("start"), program("arguments"));
    let folder = arguments.parent().expect("a folder");
    for way in ALL_WAYS {
        let result = |how: Way| {
            let mut line = command(how, &[text(&start), way, text(&arguments), "x", "y z"]);
            left(line.env("PATH", folder).env("MARK", "here"))
        };
        let bare = result(Way::Bare);
        assert!(bare.output.ends_with("mark here\n"), "{way}: {bare:?}");
        assert_eq!(result(Way::Wrapped), bare, "{way}");
    }
}

#[test]
fn a_program_that_is_not_there_is_missed_in_the_same_way() {
    let start = program("start");
    for way in ALL_WAYS {
        for path in ["/no/such/program", "/etc/passwd"] {
            let result = |how| left(command(how, &[text(&start), way, path]).env("PATH", "/nowhere"));
            assert_eq!(result(Way::Wrapped), result(Way::Bare), "{way} {path}");
        }
    }
}

#[test]
fn children_of_children_are_followed_through_real_tools() {
    let loaded = program("loaded");
    let loaded = text(&loaded);
    check(&[], &["sh", "-c", loaded], "followed");
    check(&[], &["sh", "-c", &format!("{loaded}; :")], "followed");
    check(&[], &["bash", "-c", &format!("echo $({loaded})")], "followed");
    check(&[], &["perl", "-e", &format!("print `{loaded}`")], "followed");
    check(&[], &["env", "A=1", "nice", "timeout", "100", loaded], "followed");
    check(&[], &["find", loaded, "-exec", "{}", ";"], "followed");
    check(&[], &["xargs", "-a", "/dev/null", loaded], "followed");
    check(&[], &["make", "-s", "-f", "/dev/null", "--eval", &format!("all:;@{loaded}")], "followed");
    let python = format!("import subprocess, sys; sys.exit(subprocess.run(['{loaded}']).returncode)");
    check(&[], &["python3", "-c", &python], "followed");
    let python = format!("import os; os.system('{loaded}')");
    check(&[], &["python3", "-c", &python], "followed");
}

#[test]
fn without_following_only_the_program_itself_has_the_library() {
    let loaded = program("loaded");
    let loaded = text(&loaded);
    for exec in [&["--no-follow"][..], &["--no-follow", "-q", "--exec"]] {
        check(exec, &[loaded], "followed");
        check(exec, &["sh", "-c", &format!("exec {loaded}")], "followed");
        check(exec, &["sh", "-c", &format!("{loaded}; :")], "plain");
        check(exec, &[text(&program("start")), "spawn", loaded], "plain");
        check(exec, &[text(&program("start")), "vfork-execl", loaded], "plain");
        check(exec, &[text(&program("start")), "system", loaded], "plain");
        check(exec, &["sh", "-c", &format!("sh -c 'exec {loaded}'; :")], "plain");
    }
    check(&["--no-follow", "--follow"], &["sh", "-c", &format!("{loaded}; :")], "followed");
}

#[test]
fn a_static_program_runs_plain() {
    let loaded = compiled("loaded", "loaded-static", &["-static"]);
    check(&[], &[text(&loaded)], "plain");
    check(&["-q", "--exec"], &[text(&loaded)], "plain");
    assert_eq!(reason(&[text(&loaded)]), "static");
    // All ways but system and popen, whose shell passes through us, too.
    start_with(&[], &loaded, "plain");
}

#[test]
fn a_32_bit_program_runs_plain() {
    let flags = ["-m32", "-nostdlib", "-static", "-fno-pie", "-fno-stack-protector"];
    let bits32 = match try_compiled("bits32", "bits32", &flags) {
        Ok(path) => path,
        Err(error) => return skip(&format!("32-bit programs: {error}")),
    };
    let bare = left(&mut command(Way::Bare, &["/bin/sh", "-c", text(&bits32)]));
    if code(bare.status) != 3 {
        return skip("32-bit programs: this kernel does not run them");
    }
    for way in [Way::Wrapped, Way::Replaced] {
        assert_eq!(left(&mut command(way, &[text(&bits32)])), bare);
        assert_eq!(left(&mut command(way, &["/bin/sh", "-c", text(&bits32)])), bare);
    }
    assert_eq!(reason(&[text(&bits32)]), "bits32");
    let doctor = left(Command::new(underbar()).args(["doctor", "--", text(&bits32)]));
    assert!(doctor.output.contains("allocator      a 32-bit program\n"), "{}", doctor.output);
}

#[test]
fn a_program_with_another_loader_runs_plain() {
    // The GNU loader under another name represents another loader: the test is that our library is not loaded.
    let loader = PathBuf::from(format!("/tmp/ub{:05}", std::process::id() % 100_000)).join("ld-musl-x64.so");
    let folder = loader.parent().expect("a folder");
    fs::create_dir_all(folder).expect("a folder");
    let _ = fs::remove_file(&loader);
    symlink("/lib64/ld-linux-x86-64.so.2", &loader).expect("a link");
    let flag = format!("-Wl,--dynamic-linker={}", text(&loader));
    let result = format!("loaded-musl-{}", std::process::id());
    let loaded = compiled("loaded", &result, &[&flag]);
    check(&[], &[text(&loaded)], "plain");
    check(&[], &["sh", "-c", &format!("{}; :", text(&loaded))], "plain");
    assert_eq!(reason(&[text(&loaded)]), "other_libc");
    fs::remove_file(loaded).expect("removed");
    fs::remove_dir_all(folder).expect("removed");
}

/// Their libraries serve the heap themselves: AddressSanitizer's ends the program if it is not the first, ThreadSanitizer's takes
/// storage that a second thread gets for a race, and LeakSanitizer's finds no leaks.
#[test]
fn a_program_with_a_sanitizer_runs_plain() {
    for sanitizer in ["address", "thread", "leak"] {
        let flag = format!("-fsanitize={sanitizer}");
        let loaded = match try_compiled("loaded", &format!("loaded-{sanitizer}"), &[&flag]) {
            Ok(path) => path,
            Err(error) => {
                skip(&format!("a sanitizer, {sanitizer}: {error}"));
                continue;
            }
        };
        check(&[], &[text(&loaded)], "plain");
        check(&[], &["sh", "-c", &format!("{}; :", text(&loaded))], "plain");
        assert_eq!(reason(&[text(&loaded)]), "sanitizer", "{sanitizer}");
    }
}

/// Electric Fence and its like find errors only where they serve the heap. The library is one of that name, with nothing in it.
#[test]
fn a_program_with_a_heap_that_finds_errors_runs_plain() {
    let folder = scratch("checkers");
    for name in ["libefence.so.0", "libduma.so.0"] {
        let library = folder.join(name);
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", &format!("-Wl,-soname,{name}"), "-x", "c", "/dev/null", "-o"]);
        assert!(compiler.arg(&library).status().expect("a compiler").success(), "{name}");
        let search = format!("-Wl,-rpath,{}", text(&folder));
        let flags = ["-Wl,--no-as-needed", "-x", "none", text(&library), search.as_str()];
        let loaded = compiled("loaded", &format!("loaded-{name}"), &flags);
        check(&[], &[text(&loaded)], "plain");
        assert_eq!(reason(&[text(&loaded)]), "sanitizer", "{name}");
    }
}

#[test]
fn a_program_with_another_users_rights_runs_plain() {
    if !is_superuser_or_skips("setuid programs") {
        return;
    }
    const NOBODY: u32 = 65534;
    let folder = scratch("setuid");
    let loaded = folder.join("loaded");
    executable::copy(program("loaded"), &loaded);
    chown(&loaded, Some(NOBODY), None).expect("another owner");
    fs::set_permissions(&loaded, fs::Permissions::from_mode(0o4755)).expect("setuid");
    check(&[], &[text(&loaded)], "plain");
    check(&[], &["sh", "-c", &format!("{}; :", text(&loaded))], "plain");
    assert_eq!(reason(&[text(&loaded)]), "setuid");
    // Its owner is the user who runs it: nothing special, it is followed.
    chown(&loaded, Some(0), None).expect("our own");
    fs::set_permissions(&loaded, fs::Permissions::from_mode(0o4755)).expect("setuid");
    check(&[], &[text(&loaded)], "followed");
}

#[test]
fn a_cleared_environment_stays_cleared() {
    let loaded = program("loaded");
    check(&[], &["env", "-i", text(&loaded)], "plain");
    // Only the library was taken out; other variables of ours have no known effect, and stay.
    let script = format!("{}; :", text(&loaded));
    check(&["--opts", "HEAP(1M)"], &["env", "-u", "LD_PRELOAD", "sh", "-c", &script], "left over 2");
}

#[test]
fn another_root_runs_plain() {
    if !is_superuser_or_skips("chroot") {
        return;
    }
    let root = scratch("chroot");
    for file in ["/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6"] {
        let copy = root.join(file.trim_start_matches('/'));
        fs::create_dir_all(copy.parent().expect("a folder")).expect("a folder");
        if fs::copy(file, copy).is_err() {
            return skip("chroot: the C library lies elsewhere here");
        }
    }
    executable::copy(program("loaded"), root.join("loaded"));
    // There is no /proc in there, so "followed" cannot be printed; but nothing of ours may be left.
    check(&[], &["chroot", text(&root), "/loaded"], "plain");
}

#[test]
fn another_mount_namespace_runs_plain() {
    if !is_superuser_or_skips("mount namespaces") {
        return;
    }
    if code(left(Command::new("unshare").args(["-m", "true"])).status) != 0 {
        return skip("mount namespaces: not allowed here");
    }
    let (cache, loaded) = (scratch("namespace"), program("loaded"));
    let script = format!("mount -t tmpfs none {} && exec {}", text(&cache), text(&loaded));
    let mut run = Command::new(underbar());
    run.args(["run", "-q", "--", "unshare", "-m", "sh", "-c", &script]).env("XDG_CACHE_HOME", &cache);
    let result = left(run.env_remove("LD_PRELOAD"));
    assert_eq!((result.output.as_str(), result.error.as_str()), ("plain\n", ""));
}

#[test]
fn a_user_who_may_not_read_the_library_runs_plain() {
    if !is_superuser_or_skips("other users") {
        return;
    }
    let cache = scratch("unreadable");
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o700)).expect("ours alone");
    // In /tmp, since the path to the target folder may be closed to others.
    let loaded = PathBuf::from(format!("/tmp/underbar-loaded-{}", std::process::id()));
    executable::copy(program("loaded"), &loaded);
    // setpriv keeps its capabilities until exec; su drops them before.
    let direct = ["setpriv", "--reuid=65534", "--clear-groups", text(&loaded)];
    let by_shell = ["su", "-s", "/bin/sh", "nobody", "-c", text(&loaded)];
    let run = |line: &[&str]| {
        let mut run = Command::new(underbar());
        run.args(["run", "-q", "--"]).args(line).env("XDG_CACHE_HOME", &cache).env_remove("LD_PRELOAD");
        left(&mut run)
    };
    let results = [run(&direct), run(&by_shell)];
    fs::remove_file(loaded).expect("removed");
    for result in results {
        assert_eq!((result.output.as_str(), result.error.as_str()), ("plain\n", ""));
    }
}

#[test]
fn where_looking_is_forbidden_the_program_runs_plain() {
    let (forbidden, loaded) = (program("forbidden"), program("loaded"));
    if code(left(&mut command(Way::Bare, &[text(&forbidden), text(&loaded)])).status) != 0 {
        return skip("seccomp: not allowed here");
    }
    check(&[], &[text(&forbidden), text(&loaded)], "plain");
}

#[test]
fn another_preloaded_library_stays_and_is_called() {
    let foreign = compiled("foreign", "foreign.so", &["-shared", "-fPIC", "-ldl"]);
    let loaded = program("loaded");
    let with = |line: &[&str]| left(command(Way::Wrapped, line).env("LD_PRELOAD", &foreign));
    let result = with(&["sh", "-c", &format!("exec {}", text(&loaded))]);
    assert_eq!((result.output.as_str(), result.error.as_str()), ("foreign execve\nfollowed\n", ""));
    let plain = compiled("loaded", "loaded-static", &["-static"]);
    let result = with(&["sh", "-c", &format!("exec {}", text(&plain))]);
    assert_eq!(result.output, "foreign execve\nplain, another library\n");
}

#[test]
fn underbar_under_underbar() {
    let (inner, loaded) = (underbar(), program("loaded"));
    check(&[], &[text(inner), "run", "-q", "--", text(&loaded)], "followed");
    check(
        &["--no-follow"],
        &[text(inner), "run", "-q", "--", "sh", "-c", &format!("{}; :", text(&loaded))],
        "followed",
    );
    check(&[], &[text(inner), "run", "-q", "--", "env", "-i", text(&loaded)], "plain");
}
