//! Files of results that cannot be written: commands that analyse say so before the program runs, which may take hours.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a test is no door to anybody's terminal"
)]

mod common;

use common::{Folder, command, said};

#[test]
fn nothing_runs_if_a_result_cannot_be_written() {
    let folder = Folder::new("unwritable");
    for line in [
        &["heap", "--folded", "/nowhere/x"][..],
        &["heap", "--html", "/nowhere/x"],
        &["heap", "--pprof", "/nowhere/%p"],
        &["heap", "--json", "-o", "/nowhere/x"],
        &["profile", "--folded", "/nowhere/x"],
        &["profile", "--json", "-o", "/nowhere/x"],
        &["compare", "-q", "--html", "/nowhere/x", "--opts", "plain", "--opts", ""],
        &["tune", "-q", "--html", "/nowhere/x"],
    ] {
        let line = [line, &["--", "touch", "mark"]].concat();
        let output = command(&line).current_dir(folder.path()).output().expect("it runs");
        let (code, _, error) = said(&output);
        assert!(code == 125 || code == 2, "{line:?}: {code} {error}");
        assert!(error.contains("/nowhere/"), "{line:?}: {error}");
        assert!(!folder.path().join("mark").exists(), "{line:?}: the program ran");
    }
}
