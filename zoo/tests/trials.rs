//! How `underbar tune` and `underbar compare` run a program: input, output and files, commands around a run, servers, failures,
//! limits, interruptions.
//!
//! Not here: which set is kept (`tune`).

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use underbar_zoo::{Left, code, is_superuser_or_skips, json, left, scratch, underbar};

/// A command in a scratch folder, without underbar's variables of the test's environment.
fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(underbar());
    command.args(arguments).current_dir(folder).env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS");
    command
}

pub fn underbar_in(folder: &Path, arguments: &[&str]) -> Left {
    left(&mut command(folder, arguments))
}

/// The verdict of `tune` on eight pairs has its interval. It is about the comparison that decides: with plain, or with the default
/// options.
pub fn has_a_verdict(said: &str) {
    assert!(["plain", "default"].iter().any(|arm| said.contains(&format!(" of {arm}, 8 pairs: "))), "{said}");
}

/// `compare` of plain and default with a shell script as the program.
fn compared(folder: &Path, flags: &[&str], script: &str) -> Left {
    let before = ["compare", "--runs", "6", "--opts", "plain", "--opts", "default"];
    underbar_in(folder, &[&before[..], flags, &["--", "sh", "-c", script]].concat())
}

#[test]
fn a_set_without_an_option_is_refused_before_anything_runs() {
    let folder = scratch("tune-nothing");
    for flag in [["--opts", "HEPA(1M)"], ["--try", "HEAP(64MB)"]] {
        let verb: &[&str] = if flag[0] == "--try" { &["tune"] } else { &["compare", "--opts", "plain"] };
        let told = underbar_in(&folder, &[verb, &flag, &["--", "sh", "-c", "echo x >>ran"]].concat());
        assert_eq!(code(told.status), 2, "{}", told.error);
        let says =
            format!("error: {} {}: there is no option in it, so nothing to compare\n", flag[0], flag[1]);
        assert!(told.error.contains("warning: ") && told.error.ends_with(&says), "{}", told.error);
        assert!(!folder.join("ran").exists(), "{flag:?}");
    }
}

#[test]
fn what_can_be_neither_written_nor_compared_is_refused_before_anything_runs() {
    let folder = scratch("tune-files");
    let compare: &[&str] = &["compare", "--opts", "plain", "--opts", "default"];
    for (flags, says) in [
        (&["tune", "-o", "/dev/full"][..], "/dev/full is no file that could be overwritten: name another"),
        (&["tune", "-o", "."], ". is no file that could be overwritten: name another"),
        (&["tune", "--check", "."], "--check .: no file whose contents could be compared"),
        (&[compare, &["--check", "/dev/null"]].concat(), "--check /dev/null: no file whose contents"),
        (&[compare, &["-o", "none/result"]].concat(), "none/result: No such file"),
    ] {
        let refused = underbar_in(&folder, &[flags, &["--", "sh", "-c", "echo x >>ran"]].concat());
        assert_eq!((code(refused.status), refused.output.as_str()), (2, ""), "{refused:?}");
        assert!(refused.error.contains(says), "{}", refused.error);
        assert!(!folder.join("ran").exists(), "{flags:?}");
    }
}

#[test]
fn arms_with_the_same_options_are_said_to_be_the_same() {
    let folder = scratch("tune-same");
    let told = |second: &str| {
        let arms = ["compare", "--runs", "1", "--opts", "plain", "--opts", second, "--opts", "HEAP(1M)"];
        underbar_in(&folder, &[&arms[..], &["--", "true"]].concat()).error
    };
    assert!(told(" plain ").contains("warning: A and B are the same"), "{}", told(" plain "));
    assert!(told(" HEAP(1M)").contains("warning: B and C are the same"), "{}", told(" HEAP(1M)"));
    assert!(!told("default").contains("are the same"), "{}", told("default"));
}

#[test]
fn a_result_that_cannot_be_written_is_no_success() {
    let folder = scratch("tune-full");
    for json in [&["-q"][..], &["-q", "--json"]] {
        let mut tune = command(&folder, &[&["tune", "--runs", "6"], json, &["--", "true"]].concat());
        let full = fs::File::options().write(true).open("/dev/full").expect("there");
        let result = tune.stdin(Stdio::null()).stdout(full).output().expect("run");
        let error = String::from_utf8_lossy(&result.stderr);
        assert_eq!(code(result.status), 2, "{error}");
        assert_eq!(error.matches("error: the result could not be written: ").count(), 1, "{error}");
    }
}

/// A comparison while this folder, `$FULL`, has no room. None without the right to mount.
fn compared_where_full(folder: &Path, before: &str, words: &str) -> Option<Left> {
    if !is_superuser_or_skips("a full file system") {
        return None;
    }
    let script = format!(
        "mount -t tmpfs -o size=64k none '{0}' && dd if=/dev/zero of='{0}/fill' bs=1k count=64 2>/dev/null; \
         FULL='{0}'; {before} '{1}' compare --opts plain --opts default {words}",
        folder.display(),
        underbar().display()
    );
    Some(left(Command::new("unshare").args(["-m", "--", "sh", "-c", &script])))
}

/// Output that could not be stored is not said to be equal.
#[test]
fn a_full_folder_for_output_is_told() {
    let folder = scratch("compare-full");
    let words = "--runs 6 -- sh -c 'echo $$; exit 0'";
    let Some(result) = compared_where_full(&folder, "TMPDIR=$FULL", words) else { return };
    assert_eq!((code(result.status), result.output.as_str()), (125, ""), "{}", result.error);
    let expected = format!("{}: No space left on device", folder.display());
    assert!(result.error.contains(&expected), "{}", result.error);
}

/// A result that has no room where it should go is printed.
#[test]
fn a_comparison_without_room_for_its_result_is_not_lost() {
    let folder = scratch("compare-no-room");
    let words = "-q --json -o \"$FULL/c.json\" --runs 7 -- true";
    let Some(result) = compared_where_full(&folder, "", words) else { return };
    assert_eq!((code(result.status), result.output.as_str()), (2, ""), "{}", result.error);
    assert!(result.error.contains("c.json: the result could not be written"), "{}", result.error);
    assert!(result.error.contains("\"schema\":\"underbar.compare/1\""), "{}", result.error);
}

#[test]
fn every_run_reads_the_same_input() {
    let folder = scratch("tune-input");
    let sum = Command::new("sh")
        .args([
            "-c",
            "seq 50000 | \"$0\" compare --runs 6 --opts plain --opts default -- sh -c 'cat >>all; cat'",
        ])
        .arg(underbar())
        .current_dir(&folder)
        .output()
        .expect("a shell");
    assert!(sum.status.success(), "{sum:?}");
    let all = fs::read_to_string(folder.join("all")).expect("read by all runs");
    let once: String = (1..=50_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(all, once.repeat(2 + 2 * 6), "two to warm up, six rounds of two");
    // `left` gives no input: then each run reads nothing.
    let nothing = compared(&folder, &[], "cat | wc -c");
    assert!(nothing.output.contains("output equal in 12 runs"), "{}", nothing.output);
}

#[test]
fn differing_output_and_files_are_not_kept() {
    let folder = scratch("tune-differs");
    // A program that tests whether the library is loaded.
    let sees = "case \"$LD_PRELOAD\" in *underbar*) echo with;; *) echo without;; esac";
    let result = compared(&folder, &[], sees);
    assert!(
        result.output.contains("B: ") && result.output.contains("pairs: output differs in 6 runs"),
        "{}",
        result.output
    );
    let into_file = format!("({sees}) >written");
    let unchecked = compared(&folder, &[], &into_file);
    assert!(unchecked.output.contains("output equal in 12 runs"), "{}", unchecked.output);
    let checked = compared(&folder, &["--check", "written"], &into_file);
    assert!(checked.output.contains("pairs: output differs in 6 runs"), "{}", checked.output);
}

#[test]
fn output_that_does_not_repeat_itself_is_said() {
    let folder = scratch("tune-pid");
    let result = compared(&folder, &[], "echo $$");
    assert!(result.output.contains("\noutput not repeatable\n"), "{}", result.output);
    let tuned = underbar_in(&folder, &["tune", "--runs", "6", "--", "sh", "-c", "echo $$"]);
    assert!(tuned.output.contains("output not repeatable: two equal runs differ"), "{}", tuned.output);
}

#[test]
fn setup_and_cleanup_are_run_around_each_run() {
    let folder = scratch("tune-around");
    let flags = ["--setup", "echo s >>log; test ! -e made", "--cleanup", "echo c >>log; rm made"];
    let result = compared(&folder, &flags, "echo p >>log; echo x >made");
    assert_eq!(code(result.status), 0, "{result:?}");
    assert_eq!(fs::read_to_string(folder.join("log")).expect("a log"), "s\np\nc\n".repeat(14));
    let failing = compared(&folder, &["--setup", "echo no room >&2; exit 4"], "echo p");
    assert_eq!((code(failing.status), failing.output.as_str()), (2, ""));
    assert!(failing.error.contains("--setup ended with exit code 4\n  | no room\n"), "{}", failing.error);
}

#[test]
fn a_server_is_measured_under_its_load() {
    let folder = scratch("tune-load");
    // The server is ready once its file is there, and serves by answering a request with a file.
    let server = "trap 'rm -f up; exit 0' TERM; echo noise $$; >up; \
                  while :; do if [ -e ask ]; then mv ask answer; fi; sleep 0.01; done";
    let load = "echo q >asked; mv asked ask; until [ -e answer ]; do sleep 0.01; done; cat answer; rm answer";
    let flags = ["--load", load, "--ready", "test -e up", "--cleanup", "test ! -e up"];
    let result = compared(&folder, &flags, server);
    assert_eq!(code(result.status), 0, "{result:?}");
    assert!(
        result.output.contains("6 pairs: ") && result.output.contains("output equal in 12 runs"),
        "{}",
        result.output
    );
    let dead = compared(&folder, &["--load", "exit 1"], "exit 3");
    assert_eq!(code(dead.status), 2, "{dead:?}");
    assert!(dead.error.contains("ended with exit code 3 before it was told to"), "{}", dead.error);
    // A command that cannot be executed fails the same way for ever; one that fails is retried until the limit.
    let wrong = compared(&folder, &["--load", "/no/such/client"], "exec sleep 1000");
    assert_eq!(code(wrong.status), 2, "{wrong:?}");
    let says = "cannot be asked whether it is ready: the command of --load ended with exit code 127\n  | ";
    assert!(wrong.error.contains(says) && wrong.error.contains("/no/such/client: "), "{}", wrong.error);
    let flags = ["--load", "true", "--ready", "echo not yet; exit 1", "--timeout", "300ms"];
    let never = compared(&folder, &flags, "exec sleep 1000");
    assert_eq!(code(never.status), 2, "{never:?}");
    let says =
        "was not ready after 0.30 s: asked last, the command ended with exit code 1\n  | not yet\nhelp: ";
    assert!(never.error.contains(says), "{}", never.error);
}

// ---- what goes wrong -------------------------------------------------------------------------------------------

#[test]
fn a_program_that_fails_by_itself_is_not_measured() {
    let folder = scratch("tune-fails");
    // If only ours fails, no expected exit code would make both right.
    let ours = "if [ \"$LD_PRELOAD\" ]; then exit 3; fi";
    let result = underbar_in(&folder, &["tune", "--", "sh", "-c", ours]);
    assert_eq!(code(result.status), 2, "{result:?}");
    assert!(
        result.error.ends_with("fails (under underbar only, not plain): ended with exit code 3\n"),
        "{}",
        result.error
    );
    for (before, arm) in [(&["tune"][..], "plain"), (&["compare", "--opts", "plain", "--opts", ""], "A")] {
        let result =
            underbar_in(&folder, &[before, &["--", "sh", "-c", "echo out; echo wrong >&2; exit 3"]].concat());
        assert_eq!((code(result.status), result.output.as_str()), (2, ""), "{result:?}");
        assert!(
            result.error.contains(&format!("the program fails ({arm}): ended with exit code 3\n  | wrong\n")),
            "{}",
            result.error
        );
        let taken = [before, &["--runs", "6", "--expect", "3", "--", "sh", "-c", "exit 3"]].concat();
        assert_eq!(code(underbar_in(&folder, &taken).status), 0);
    }
}

#[test]
fn a_failed_run_enters_no_statistic() {
    let folder = scratch("tune-some-fail");
    // The first two are to warm up; of those that count, two fail.
    let script = "echo x >>runs; n=$(wc -l <runs); [ $n -ne 5 ] && [ $n -ne 8 ]";
    let result = compared(&folder, &["--runs", "9"], script);
    assert_eq!(code(result.status), 2, "--runs is given twice: {result:?}");
    let before = [
        "compare", "--json", "--runs", "9", "--opts", "plain", "--opts", "default", "--", "sh", "-c", script,
    ];
    let result = underbar_in(&folder, &before);
    let comparison = &json(&result)["comparisons"][0];
    assert_eq!(comparison["dropped"]["rounds"], 2, "{comparison}");
    assert_eq!(comparison["primary"]["pairs"], 7, "{comparison}");
    assert!(result.error.contains(" failed: it ended with exit code 1\n"), "{}", result.error);
}

#[test]
fn a_run_that_outlives_its_limit_is_ended() {
    let folder = scratch("tune-limit");
    let result = underbar_in(&folder, &["tune", "--timeout", "50ms", "--", "sleep", "1000"]);
    assert_eq!((code(result.status), result.output.as_str()), (2, ""), "{result:?}");
    assert!(result.error.contains("the program fails (plain): took longer than 50 ms\n"), "{}", result.error);
    let short = underbar_in(&folder, &["tune", "--time", "1ms", "--", "true"]);
    assert_eq!(code(short.status), 2, "{short:?}");
    assert!(short.error.contains("too few for a verdict, which needs 8"), "{}", short.error);
}

#[test]
fn codes_of_our_own() {
    let folder = scratch("tune-codes");
    for (arguments, expect) in [
        (&["tune", "--", "/no/such/program"][..], 127),
        (&["compare", "--opts", "", "--opts", "plain", "--", "/no/such/program"], 127),
        (&["tune", "--", "/etc/passwd"], 126),
        (&["tune"], 2),
        (&["tune", "--no-such-flag", "--", "true"], 2),
        (&["tune", "--time", "1d", "--", "true"], 2),
        (&["compare", "--opts", "plain", "--", "true"], 2),
        (&["compare", "--", "true"], 2),
        (
            &[
                "compare",
                "--runs",
                "6",
                "-o",
                "/no/such/folder/file",
                "--opts",
                "plain",
                "--opts",
                "",
                "--",
                "true",
            ],
            2,
        ),
    ] {
        let result = underbar_in(&folder, arguments);
        assert_eq!((code(result.status), result.output.as_str()), (expect, ""), "{arguments:?}: {result:?}");
        assert!(result.error.contains("error: "), "{}", result.error);
    }
}

#[test]
fn an_interruption_prints_what_there_is() {
    let folder = scratch("tune-interrupted");
    // The 13th run is in the sixth round: the script asks underbar, or the whole group, to end.
    for (whom, signal, expect) in [("$PPID", "INT", 130), ("0", "INT", 130), ("$PPID", "TERM", 143)] {
        let _ = fs::remove_file(folder.join("runs"));
        let _ = fs::remove_file(folder.join("cleaned"));
        let script = format!(
            "echo x >>runs; if [ $(wc -l <runs) = 14 ]; then kill -{signal} {whom}; while :; do sleep 0.01; done; fi"
        );
        let mut command = command(
            &folder,
            &[
                "compare",
                "--opts",
                "plain",
                "--opts",
                "default",
                "--cleanup",
                "echo c >>cleaned",
                "--",
                "sh",
                "-c",
                &script,
            ],
        );
        let result = left(command.process_group(0));
        assert_eq!(code(result.status), expect, "{result:?}");
        assert!(result.error.ends_with("underbar: error: interrupted\n"), "{}", result.error);
        assert!(
            result.output.contains("B: CPU against A, 5 pairs of 15 rounds: no verdict"),
            "{}",
            result.output
        );
        assert!(
            result.output.contains("stopped after 6 rounds; planned: 15 rounds of A, B"),
            "{}",
            result.output
        );
        let count = |name: &str| fs::read_to_string(folder.join(name)).expect("a log").lines().count();
        assert_eq!((count("runs"), count("cleaned")), (14, 14));
    }
}
