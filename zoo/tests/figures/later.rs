//! Processes that go on when the program that was run has ended.

use super::*;
use std::io::{Read as _, Write as _};

fn fifo(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo");
    assert!(made.success());
    path
}

fn report_of(name: &str) -> Left {
    left(Command::new(underbar()).args(["report", "--json", name]).env_remove("LD_PRELOAD"))
}

/// A daemon's accounts were dropped when its parent ended.
#[test]
fn accounts_of_a_daemon_go_on_and_are_found_by_name() {
    let folder = scratch("later");
    let (begin, end) = (fifo(&folder, "begin"), fifo(&folder, "end"));
    let (counted, file) = (program("counted"), folder.join("report"));
    // Whoever reads the second pipe reads to its end when the last one that goes on has ended.
    let script = format!(
        "(read x < {0}; exec {counted} small) < /dev/null > {1} 2> /dev/null &",
        text(&begin),
        text(&end)
    );
    // Both ends are opened here, so that nobody waits for anybody to open them.
    let open = |path: &Path| fs::OpenOptions::new().read(true).write(true).open(path).expect("a pipe");
    let (mut starts, ends) = (open(&begin), open(&end));
    let mut output = fs::File::open(&end).expect("the end of the pipe to read");
    let mut run = Command::new(underbar());
    run.args(["run", "--json", "-o"]).arg(&file).args(["--", "/bin/sh", "-c", &script]);
    let ran = left(run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
    assert_eq!((code(ran.status), ran.error.as_str()), (0, ""));
    let first: Value = serde_json::from_slice(&fs::read(&file).expect("a report")).expect("JSON");
    assert_eq!(first["run"]["later"]["running"], 1, "{first}");
    let name = first["run"]["later"]["name"].as_str().expect("a name");
    let running = |report: &Value| {
        let sections = report["processes"].as_array().expect("processes").iter();
        sections.filter(|section| section["state"] == "running").count()
    };
    let now: Value = serde_json::from_str(&report_of(name).output).expect("a report while it runs");
    assert_eq!(running(&now), 1, "{now}");

    drop(ends);
    starts.write_all(b"go\n").expect("written");
    let mut said = String::new();
    output.read_to_string(&mut said).expect("text");
    // Another run does not sweep what somebody may still want to read.
    let other = left(&mut underbar_zoo::run(&["-q"], &["true"]));
    assert_eq!(code(other.status), 0);
    let last = report_of(name);
    let last: Value = serde_json::from_str(&last.output).unwrap_or_else(|error| panic!("{error}: {last:?}"));
    assert_eq!(running(&last), 0, "{last}");
    let sections = last["processes"].as_array().expect("processes");
    let daemon = sections.iter().find(|section| section["program"] == *counted).expect("its section");
    let gets = said.split_whitespace().skip_while(|word| *word != "gets").nth(1);
    assert_eq!(Some(figure(daemon, Key::HeapGets)), gets.and_then(|gets| gets.parse().ok()), "{said}");
    assert_eq!(daemon["state"], "ended");
    fs::remove_dir_all(folder).expect("removed");
}

/// What all of its processes have ended leaves nothing behind.
#[test]
fn a_run_of_which_nobody_goes_on_has_no_name() {
    let account = account_of(
        &[],
        &["/bin/sh", "-c", "true & wait"],
        text(&fs::canonicalize("/bin/sh").expect("a shell")),
    );
    assert_eq!(account.report["run"]["later"], Value::Null, "{}", account.report);
}
