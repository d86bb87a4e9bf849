//! The debug form of `sys/simplelock.h`: a C program makes each fault, which is found, named and placed. A correct program has
//! no fault, in either form.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

const ABRT: i32 = 6;

/// `target/debug` or the like.
fn profile() -> PathBuf {
    let test = std::env::current_exe().expect("the path of the test");
    test.ancestors().nth(2).expect("target/PROFILE/deps/TEST").to_path_buf()
}

/// The library that Cargo has made for this test: the newest one, as there are others in the folder.
fn library() -> PathBuf {
    let folders = [profile(), profile().join("deps")];
    let files = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let is_it = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("libunderbar_c") && name.ends_with(".a")
    };
    let made = |path: &PathBuf| {
        std::fs::metadata(path).and_then(|status| status.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
    };
    files.map(|entry| entry.path()).filter(is_it).max_by_key(made).expect("libunderbar_c.a")
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults.c")
}

/// The program with these flags; built once for each name.
fn program(name: &str, flags: &[&str]) -> PathBuf {
    let path = profile().join(format!("faults-{name}-{}", std::process::id()));
    let output = Command::new("cc")
        .args(["-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread", "-I"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"))
        .args(flags)
        .arg("-o")
        .arg(&path)
        .arg(source())
        .arg(library())
        .args(["-lm", "-ldl", "-lgcc_s"])
        .output()
        .expect("a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    path
}

fn run(program: &Path, words: &[&str]) -> (Output, String) {
    let output = Command::new(program).args(words).output().expect("it runs");
    let text = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8(text).expect("text");
    (output, text)
}

/// The place of the source line that contains this text.
fn place(text: &str) -> String {
    let source_text = std::fs::read_to_string(source()).expect("the source");
    let line = source_text.lines().position(|line| line.contains(text)).expect("a line") + 1;
    format!("faults.c:{line}")
}

#[test]
fn each_fault_ends_the_program_with_its_name_and_place() {
    let program = program("debug", &["-DSIMPLE_LOCK_DEBUG"]);
    for (what, words) in [
        ("twice", vec!["locked twice".to_owned(), place("/* first */"), place("/* second */")]),
        ("timed", vec!["locked twice".to_owned(), place("simple_timedlock(&lock, &ages)")]),
        ("signal", vec!["locked in a signal handler (of signal 10)".to_owned()]),
        (
            "foreign",
            vec!["which does not hold it".to_owned(), place("(simple_unlock(&lock) != EPERM) exit(83)")],
        ),
        ("free", vec!["nobody holds it".to_owned()]),
        ("ended", vec!["has ended".to_owned(), place("/* takes */")]),
        ("forked", vec!["was forked".to_owned(), place("static void wants")]),
        ("forked-unlock", vec!["was forked".to_owned()]),
    ] {
        let (output, text) = run(&program, &[what]);
        assert_eq!(output.status.signal(), Some(ABRT), "{what}: {text}");
        assert!(text.starts_with("simple lock 0x") && text.lines().count() == 1, "{what}: {text}");
        for word in words {
            assert!(text.contains(&word), "{what}: {word}: {text}");
        }
    }
    let (output, text) = run(&program, &["none"]);
    assert_eq!((output.status.code(), text.as_str()), (Some(7), ""));
    let _ = std::fs::remove_file(program);
}

#[test]
fn a_handler_of_the_programs_is_told_and_the_call_fails() {
    let program = program("told", &["-DSIMPLE_LOCK_DEBUG"]);
    for (what, begin) in [
        ("twice", "code 1, holder itself, signal 0: simple lock 0x"),
        ("signal", "code 2, holder itself, signal 10: simple lock 0x"),
        ("foreign", "code 3, holder another, signal 0: simple lock 0x"),
        ("free", "code 4, holder none, signal 0: simple lock 0x"),
        ("ended", "code 5, holder another, signal 0: simple lock 0x"),
        ("forked", "code 6, holder another, signal 0: simple lock 0x"),
    ] {
        let (output, text) = run(&program, &[what, "told"]);
        assert_eq!(output.status.code(), Some(7), "{what}: {text}");
        assert!(text.starts_with(begin), "{what}: {text}");
    }
    let _ = std::fs::remove_file(program);
}

#[test]
fn the_plain_form_says_what_costs_nothing_to_know() {
    let program = program("plain", &[]);
    for what in ["none", "free"] {
        let (output, text) = run(&program, &[what]);
        assert_eq!((output.status.code(), text.as_str()), (Some(7), ""), "{what}");
    }
    let _ = std::fs::remove_file(program);
}

#[test]
fn both_forms_are_cplusplus_too() {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    for flags in [&[][..], &["-DSIMPLE_LOCK_DEBUG"]] {
        let text = "#include <sys/simplelock.h>\nstatic simplelock_t lock = SIMPLE_LOCK_INIT;\n\
                    inline int f() { simple_lock(&lock); return simple_trylock(&lock) + simple_unlock(&lock); }\n\
                    int main() { return f(); }\n";
        let mut compiler = Command::new("c++");
        compiler.args([
            "-std=c++11",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            "-fsyntax-only",
            "-x",
            "c++",
        ]);
        compiler.args(flags).arg("-I").arg(&include).arg("-");
        compiler.stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let Ok(mut child) = compiler.spawn() else {
            return underbar_zoo::skip("the header in C++: no C++ compiler");
        };
        use std::io::Write;
        child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("written");
        let output = child.wait_with_output().expect("its end");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
