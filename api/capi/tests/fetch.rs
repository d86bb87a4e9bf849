//! `underbar/fetch.h` in a C program: compiled, linked with the static library, and run.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The static library, which Cargo has built along with this test.
fn library() -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    let folder = program.parent().expect("a folder");
    let found =
        std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()).filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("libunderbar_c") && name.ends_with(".a")
        });
    found.max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok()).expect("libunderbar_c.a")
}

fn compile(arguments: &[&str], sources: &[&Path], to: &Path) {
    let output =
        Command::new("cc").args(arguments).arg("-o").arg(to).args(sources).output().expect("a compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_c_program_loads_links_and_gives_back() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fetch");
    std::fs::create_dir_all(&folder).expect("a folder");
    compile(&["-shared", "-fPIC", "-Wall"], &[&own.join("tests/member.c")], &folder.join("MEMBER.so"));
    let include = format!("-I{}", own.join("include").display());
    let library = library();
    // -rdynamic: MEMBER calls a function of the program, and the C library's dl_iterate_phdr is replaced.
    let flags = ["-Wall", "-Wextra", "-Werror", "-rdynamic", &include];
    let program = folder.join("program");
    let sources = [&*own.join("tests/fetch.c"), &library];
    let mut command = Command::new("cc");
    command.args(flags).arg("-o").arg(&program).args(sources).args(["-lgcc_s", "-lpthread", "-ldl", "-lm"]);
    let output = command.output().expect("a compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(program).arg(&folder).output().expect("run");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all held\n", "{}", output.status);
    assert!(output.status.success());
}

#[test]
fn what_a_called_program_throws_is_its_callers_to_catch() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("throws");
    std::fs::create_dir_all(&folder).expect("a folder");
    compile(
        &["-shared", "-fPIC"],
        &[&own.join("tests/thrower.cc"), Path::new("-lstdc++")],
        &folder.join("THROWER.so"),
    );
    let include = format!("-I{}", own.join("include").display());
    let program = folder.join("program");
    let static_library = library();
    let catcher = own.join("tests/catcher.cc");
    let mut sources = vec![catcher.as_path(), &static_library];
    sources.extend(["-lstdc++", "-lgcc_s", "-lpthread", "-ldl", "-lm"].map(Path::new));
    compile(&["-rdynamic", &include], &sources, &program);
    let output = Command::new(program).arg(&folder).output().expect("run");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "caught\n", "{output:?}");
}
