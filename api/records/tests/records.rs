//! `underbar/records.h` in a C program: compiled, linked with the static library, and run.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The static library, which Cargo has built along with this test.
fn library() -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    let folder = program.parent().expect("a folder");
    let files = std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    let found = files.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libunderbar_records_c") && name.ends_with(".a")
    });
    let newest = found.max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok());
    newest.expect("libunderbar_records_c.a")
}

#[test]
fn a_c_program_sorts_and_reads_records() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("records");
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = folder.join("program");
    let mut compile = Command::new("cc");
    compile.args(["-Wall", "-Wextra", "-Werror"]).arg(format!("-I{}", own.join("include").display()));
    compile.arg("-o").arg(&program).arg(own.join("tests/records.c")).arg(library());
    let output = compile.args(["-lgcc_s", "-lpthread", "-ldl", "-lm"]).output().expect("a compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(program).arg(&folder).output().expect("run");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all held\n", "{}", output.status);
    assert!(output.status.success());
}
