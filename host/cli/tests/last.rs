//! The report of the last run printed again, every figure in one view, and the accounts of `run --exec`.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a test is no door to anybody's terminal"
)]

mod common;

use common::{Folder, command, good, said, saved};

/// A place for ledgers and last reports that no other test has.
struct Place {
    folder: Folder,
}

impl Place {
    fn new(name: &str) -> Place {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new(name);
        let own = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(folder.path(), own).expect("its mode is set");
        Place { folder }
    }

    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = command(arguments);
        said(&command.env("XDG_RUNTIME_DIR", self.folder.path()).output().expect("it runs"))
    }

    fn good(&self, arguments: &[&str]) -> String {
        let (code, output, error) = self.run(arguments);
        assert_eq!((code, error.as_str()), (0, ""), "{arguments:?}\n{output}");
        output
    }
}

#[test]
fn a_report_without_a_file_is_that_of_the_last_run() {
    let place = Place::new("last-run");
    for program in ["true", "false"] {
        let (_, _, error) = place.run(&["run", "--", program]);
        // The command in the last line can be typed: the report is printed again without another run.
        assert!(error.contains("Every figure: underbar report --report all\n"), "{error}");
        let status = if program == "true" { 0 } else { 1 };
        let again = place.good(&["report"]);
        assert!(again.starts_with(&format!("underbar: {program}: exit {status}\n")), "{again}");
        let json = place.good(&["report", "--json"]);
        assert!(json.contains("\"schema\":\"underbar.report/1\""), "{json}");
    }
}

#[test]
fn every_figure_of_the_json_is_in_the_view_of_all() {
    let folder = Folder::new("every-figure");
    let json = saved(&folder, "r.json", &["true"]);
    let all = good(&["report", "--report", "all", &json]);
    for key in underbar_ledger::table::KEYS.into_iter().map(|key| key.entry().key) {
        let group = key.split_once('.').map_or(key, |(group, _)| group);
        assert!(all.contains(key) || all.contains(&format!("{group}.*")), "{key}: {all}");
    }
}

#[test]
fn a_program_without_a_parent_leaves_accounts_under_the_name_that_is_printed() {
    let place = Place::new("exec-accounts");
    let (code, output, error) = place.run(&["run", "--exec", "--", "echo", "said"]);
    assert_eq!((code, output.as_str()), (0, "said\n"));
    let rest = error.strip_prefix("underbar: accounts: underbar report ").expect("a line on accounts");
    let name = rest.split(' ').next().expect("a name");
    let report = place.good(&["report", name]);
    assert!(report.contains("echo said: ended, exit status not recorded\n"), "{report}");
    // With `-q`, nothing is kept.
    assert_eq!(place.run(&["run", "-q", "--exec", "--", "echo", "said"]).2, "");
}
