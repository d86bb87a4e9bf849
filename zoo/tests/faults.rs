//! Bad input and faults: a clear message or plain degradation, never a crash of the program, never a changed result.
//!
//! ```text
//! program bare ──────────────────┐
//!                                ├── same standard output, same end, nothing more on its standard error
//! program with us, and a fault ──┘   but, in some cases, our message: its exact words are here
//! ```
//!
//! Elsewhere: limits of memory and of files (`limits`);
//! filters of system calls (`sandboxes`, and `follow` for a filter that forbids
//! the inspection of programs); chroot, mount namespaces, other preloads (`follow`); folders for the library that are absent or
//! forbid code (`places`); closed descriptors
//! (`manners`); saved reports that are cut short or of another version (the command's own tests).

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;
use underbar_ledger::layout::{SLOTS, SLOTS_OFFSET};
use underbar_ledger::{Key, LedgerView, SlotState};
use underbar_zoo::{
    Left, Running, Way, aside, code, command, compiled, fault, is_superuser_or_skips, ledger_files, left,
    program, run, scratch, show_aside, skip, text, underbar,
};

const KILL: i32 = 9;

/// Checks that the program is the same as bare, and returns underbar's output after it.
#[track_caller]
fn said_after(bare: &Left, with: &Left) -> String {
    assert_eq!((code(with.status), &with.output), (code(bare.status), &bare.output), "{}", with.error);
    let said = with.error.strip_prefix(&bare.error);
    said.unwrap_or_else(|| panic!("before the program's own words: {}", with.error)).to_owned()
}

#[track_caller]
pub(crate) fn same(flags: &[&str], line: &[&str]) -> String {
    said_after(&left(&mut command(Way::Bare, line)), &left(&mut run(flags, line)))
}

pub(crate) fn report(flags: &[&str], line: &[&str]) -> Value {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let file = underbar_zoo::folder().join(format!("faults-{}-{number}.json", std::process::id()));
    same(&[&["--json", "-o", text(&file)], flags].concat(), line);
    let report = fs::read(&file).expect("a report");
    fs::remove_file(file).expect("removed");
    serde_json::from_slice(&report).expect("a report")
}

// ---- option texts ------------------------------------------------------------------------------------------------

#[test]
fn what_is_wrong_with_an_option_text_is_said_once_and_the_program_runs() {
    let exit3 = program("exit3");
    for (options, expect) in [
        (
            "HEPA(1M)",
            "column 1: HEPA is no run-time option and was left out; did you mean HEAP?\n  | HEPA(1M)\n  | ^^^^\n",
        ),
        (
            "HEAP(-1)",
            "column 6: -1: only STACK's init may be negative; write n, nK, nM, nG or AUTO; init of HEAP keeps the \
             value it had\n  | HEAP(-1)\n  |      ^^\n",
        ),
        (
            "HEAP(1M,,SOMEWHERE)",
            "column 10: SOMEWHERE is none of its keywords; write ANYWHERE or BELOW; ANYWHERE|BELOW of HEAP keeps the \
             value it had\n  | HEAP(1M,,SOMEWHERE)\n  |          ^^^^^^^^^\n",
        ),
        (
            "HEAP(1M",
            "column 5: this parenthesis is not closed, so that its option was left out; put ) behind its last \
             sub-option\n  | HEAP(1M\n  |     ^\n",
        ),
    ] {
        let said = same(&["-q", "--opts", options], &[text(&exit3)]);
        assert_eq!(said, format!("underbar: warning: --opts: {expect}"));
        // Without a parent there is no printing; the program is the same.
        assert_eq!(same(&["-q", "--exec", "--opts", options], &[text(&exit3)]), "");
        // The correct part of the text counts.
        let report = report(&["--opts", &format!("{options}\nSTACK(8M)")], &[text(&exit3)]);
        assert_eq!(report["options"]["errors"].as_array().map(Vec::len), Some(1), "{report}");
        assert_eq!(report["processes"][0]["option_errors"], 1);
    }
}

#[test]
fn a_text_of_ten_thousand_characters_is_no_harm() {
    let exit3 = program("exit3");
    for options in [
        "A".repeat(10_000),
        "(".repeat(10_000),
        "A,".repeat(5_000),
        "HEAP(".repeat(2_000),
        format!("HEAP({})", "1".repeat(9_990)),
        format!("HEAP({})", ",".repeat(9_990)),
        format!("HEAP(1M){}", " ".repeat(9_990)),
        "HEAP(1M),".repeat(1_111),
        "\u{1F600}".repeat(2_500),
        "[x]\n".repeat(2_500),
        "\u{1}\u{7f}\u{1b}[31m".repeat(1_000),
    ] {
        let said = same(&["-q", "--opts", &options], &[text(&exit3)]);
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines.len() <= 3 * 11, "{} lines, the first: {}", lines.len(), lines[0]);
        assert!(lines.iter().all(|line| line.chars().count() < 400), "{said}");
        assert!(!said.contains('\u{1b}'), "a control character: {said:?}");
    }
    let said = same(&["-q", "--opts", &"A,".repeat(5_000)], &[text(&exit3)]);
    assert!(
        said.ends_with(
            "\nunderbar: warning: 4990 more about the option texts; `underbar options` prints them all\n"
        ),
        "{said}"
    );
}

#[test]
fn an_options_file_that_cannot_be_used_is_named() {
    let folder = scratch("options-files");
    let exit3 = program("exit3");
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, bytes).expect("written");
        path
    };
    let (this, other) = (folder.join("loop"), folder.join("pool"));
    symlink(&this, &other).and_then(|()| symlink(&other, &this)).expect("links");
    let large = write("large", &b"HEAP(1M)\n".repeat(20_000));
    for (path, expect) in [
        (folder.join("absent"), "was left out: No such file or directory (os error 2)".to_owned()),
        (folder.clone(), "was left out: Is a directory (os error 21)".to_owned()),
        (this, "was left out: Too many levels of symbolic links (os error 40)".to_owned()),
        (write("noise", &[0xff, 0xfe, 0, 1]), "was left out: it is not text".to_owned()),
        // More than fits into the program's environment.
        (
            large,
            "was left out: it is too large; all option texts together are limited to 100000 bytes".to_owned(),
        ),
    ] {
        let said = same(&["-q", "--opts-file", text(&path)], &[text(&exit3)]);
        assert_eq!(said, format!("underbar: warning: options file {} {expect}\n", path.display()));
    }
    // A file that was not requested, and that others can write.
    let open = write("config/underbar/opts", b"HEAP(1M)");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o666)).expect("opened");
    let mut with = run(&["-q"], &[text(&exit3)]);
    with.env("XDG_CONFIG_HOME", folder.join("config"));
    let said = said_after(&left(&mut command(Way::Bare, &[text(&exit3)])), &left(&mut with));
    assert_eq!(
        said,
        format!(
            "underbar: warning: options file {} was left out: other users can write it; pass it with --opts-file to use it anyway\n",
            open.display()
        )
    );
}

// ---- the ledger --------------------------------------------------------------------------------------------------

/// The library, in the place where `underbar run` puts it for this user.
fn library() -> String {
    let result = left(&mut run(&["-q"], &["/bin/sh", "-c", "echo $LD_PRELOAD"]));
    result.output.trim().to_owned()
}

#[test]
fn a_ledger_that_is_none_is_left_alone() {
    let folder = scratch("noise");
    let good = folder.join("good");
    let made = left(&mut run(&["--exec", "-o", text(&good)], &["/bin/true"]));
    assert_eq!((code(made.status), made.error.as_str()), (0, ""));
    let mut noise = fs::read(&good).expect("a ledger");
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for bytes in noise.chunks_mut(8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.copy_from_slice(&state.to_le_bytes());
    }
    let write = |name: &str, bytes: &[u8]| {
        fs::write(folder.join(name), bytes).expect("written");
        folder.join(name)
    };
    let mut magic = noise.clone();
    magic[..8].copy_from_slice(b"UNDERBAR");
    let mut other = fs::read(&good).expect("a ledger");
    other[16] ^= 1;
    let fifo = folder.join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    let link = folder.join("link");
    symlink(&good, &link).expect("a link");
    let mut spoiled = fs::read(&good).expect("a ledger");
    // All of the head after its mark, and all slots.
    spoiled[56..].copy_from_slice(&noise[56..other.len()]);
    let unchanged = [
        write("noise", &noise),
        write("short", b"UNDERBAR"),
        write("magic", &magic),
        write("version", &other),
        write("empty", b""),
        link,
    ];
    let others = [
        folder.clone(),
        fifo,
        "/dev/null".into(),
        "/nowhere/x".into(),
        format!("/{}", "x".repeat(5000)).into(),
    ];
    let library = library();
    let exit3 = program("exit3");
    for line in [vec![text(&exit3)], vec!["/bin/sh", "-c", "/bin/true; ls / | wc -l; exit 4"]] {
        let bare = left(&mut command(Way::Bare, &line));
        let with = |path: &Path| {
            left(command(Way::Bare, &line).env("LD_PRELOAD", &library).env("UNDERBAR_LEDGER", path))
        };
        for path in unchanged.iter().chain(&others) {
            let before = unchanged.contains(path).then(|| fs::read(path).expect("a file"));
            assert_eq!(with(path), bare, "{}", path.display());
            assert!(
                before.is_none_or(|before| fs::read(path).expect("a file") == before),
                "{}",
                path.display()
            );
        }
        assert_eq!(with(&write("spoiled", &spoiled)), bare);
    }
}

/// Runs a shell line in which /dev/shm and /tmp are file systems of their own, mounted with these options.
fn with_shared_memory(options: &str, line: &str) -> Option<Left> {
    if !is_superuser_or_skips("shared memory that is full") {
        return None;
    }
    let script = |line: &str| {
        let mounts =
            format!("mount -t tmpfs -o {options} none /dev/shm && mount -t tmpfs -o {options} none /tmp");
        let line = format!("{} && {mounts} && unset XDG_RUNTIME_DIR LD_PRELOAD && exec {line}", show_aside());
        left(Command::new("unshare").args(["-m", "/bin/sh", "-c", &line]))
    };
    if code(script("true").status) != 0 {
        skip("shared memory that is full: mounting is not allowed here");
        return None;
    }
    Some(script(line))
}

#[test]
fn without_room_for_a_ledger_the_program_runs_all_the_same() {
    let exit3 = program("exit3");
    let bare = left(&mut command(Way::Bare, &[text(&exit3)]));
    let line = format!("{} run -q -- {}", aside(underbar()), aside(&exit3));
    for (options, reason) in [
        ("size=4k", "No space left on device (os error 28)"),
        ("ro", "Read-only file system (os error 30)"),
        ("nr_inodes=1", "No space left on device (os error 28)"),
    ] {
        let Some(with) = with_shared_memory(options, &line) else { return };
        let said = said_after(&bare, &with);
        let expect = format!("underbar: warning: no accounts were kept: no place for the ledger: {reason}\n");
        assert_eq!(said, expect, "{options}");
    }
}

#[test]
fn a_report_without_accounts_has_no_reason_of_its_own_and_no_reads_of_ours() {
    let line = format!("ulimit -f 1; exec {} run -- {}", text(underbar()), text(&program("exit3")));
    let with = left(Command::new("/bin/sh").args(["-c", &line]));
    assert_eq!(code(with.status), 3);
    assert!(with.error.contains("warning: no accounts were kept: no place for the ledger: File too large"));
    assert!(with.error.contains("  accounts  none were kept\n"), "{}", with.error);
    let kernel = with.error.lines().find(|line| line.starts_with("  kernel ")).expect("its line");
    assert!(!kernel.contains(" read"), "{kernel}");
}

/// Accounts are part of the comparison: without them, the verdict would be about something that the user does not run.
#[test]
fn without_room_for_a_ledger_nothing_is_compared() {
    let own = aside(underbar());
    for verb in ["compare --opts plain --opts default", "tune"] {
        let line = format!("env TMPDIR=/var/tmp {own} {verb} -q --runs 7 -- true");
        let Some(with) = with_shared_memory("nr_inodes=1", &line) else { return };
        assert_eq!((code(with.status), with.output.as_str()), (125, ""), "{verb}: {}", with.error);
        assert!(with.error.contains("no place for the ledger"), "{verb}: {}", with.error);
    }
}

#[test]
fn shared_memory_that_fills_up_while_programs_run_costs_accounts_only() {
    let children = fault("children");
    let line = format!("{} run --json -- {} turn 40", aside(underbar()), aside(Path::new(&children)));
    let Some(with) = with_shared_memory("size=60k", &line) else { return };
    assert_eq!((code(with.status), with.output.as_str()), (0, "done\n"), "{}", with.error);
    let report: Value = serde_json::from_str(&with.error).expect("a report");
    let (kept, lost) = (&report["tree"]["processes"], &report["tree"]["unrecorded"]);
    assert_eq!(kept.as_u64().zip(lost.as_u64()).map(|(kept, lost)| kept + lost), Some(41), "{report}");
    assert!(lost.as_u64() > Some(0), "there was room for all: {report}");
}

fn is_there(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && !line.contains('Z') && !line.contains('X'))
}

#[test]
fn a_killed_parent_leaves_a_ledger_that_the_next_run_sweeps() {
    let folder = scratch("killed-parent");
    let counted = text(&compiled("figures/counted", "figures-counted", &[])).to_owned();
    let script = format!("{counted} small; echo $$; exec sleep 1000");
    let mut run_it = run(&["-q"], &["/bin/sh", "-c", &script]);
    let mut running = Running::start(run_it.env("XDG_RUNTIME_DIR", &folder));
    let gets = running.line();
    assert!(gets.starts_with("gets 100000 "), "{gets}");
    let shell: u32 = running.line().parse().expect("a process");
    running.send(KILL);
    assert_eq!((running.line(), running.end()), (String::new(), -KILL));
    // Its files are closed a moment before it has ended.
    while is_there(shell) {
        std::thread::yield_now();
    }
    let ledgers = || -> Vec<PathBuf> {
        let entries = fs::read_dir(folder.join("underbar")).expect("the folder of ledgers");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths.filter(|path| !path.ends_with("last.json")).collect()
    };
    let left_behind = ledgers();
    assert_eq!(left_behind.len(), 1);
    let bytes = fs::read(&left_behind[0]).expect("a ledger");
    let view = LedgerView::new(&bytes).expect("a good ledger");
    let slot = view.slots().find(|slot| slot.program().ends_with(b"figures-counted")).expect("its section");
    assert_eq!((slot.get(Key::HeapGets), slot.state), (100_000, SlotState::Ended));
    let mut next = run(&["-q"], &["/bin/true"]);
    assert_eq!(code(left(next.env("XDG_RUNTIME_DIR", &folder)).status), 0);
    assert_eq!(ledgers(), Vec::<PathBuf>::new());
}

#[test]
fn a_killed_program_is_reported_with_what_it_had() {
    let script = "kill -9 $$";
    let report = report(&[], &["/bin/sh", "-c", script]);
    assert_eq!(
        (&report["processes"][0]["state"], &report["run"]["end"]["signal"]),
        (&"killed".into(), &9.into())
    );
    assert_eq!(report["processes"][0]["counters"]["thread"]["started"], 1);
}

/// Process count, sum of requests and number of sections of a ledger.
fn in_ledger(path: &Path) -> (u32, u64, usize) {
    let bytes = fs::read(path).expect("a ledger");
    let view = LedgerView::new(&bytes).expect("a good ledger");
    let sum = view.slots().map(|slot| slot.get(Key::HeapGets)).sum();
    (view.slots().map(|slot| slot.processes()).sum(), sum, view.slots().count())
}

#[test]
fn a_program_without_a_parent_leaves_its_ledger_where_it_was_told() {
    let folder = scratch("kept");
    let children = fault("children");
    assert_eq!(same(&["--exec", "-o", text(&folder.join("exec-%e-%p"))], &[&children, "turn", "3"]), "");
    let mut bare = command(Way::Bare, &[&children, "turn", "3"]);
    bare.env("LD_PRELOAD", library());
    bare.env("UNDERBAR_OPTS", format!("MSGFILE({}/bare-%e-%p)", folder.display()));
    let result = left(&mut bare);
    assert_eq!((code(result.status), result.output.as_str(), result.error.as_str()), (0, "done\n", ""));
    let mut names: Vec<PathBuf> =
        fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    names.sort();
    let with = |word: &str| names.iter().filter(|path| text(path).contains(word)).collect::<Vec<_>>();
    assert_eq!(with("exec-faults-children-").len(), 1, "{names:?}");
    // Each program of a tree without a parent names its own ledger, by its own process.
    assert_eq!(with("bare-faults-children-").len(), 4, "{names:?}");
    assert_eq!(in_ledger(with("exec-")[0]), (4, 21, 4));
    for path in with("bare-") {
        assert_eq!(in_ledger(path).0, 1);
    }
    let printed = left(Command::new(underbar()).args(["report", "--json", text(with("exec-")[0])]));
    let report: Value = serde_json::from_str(&printed.output).expect("a report");
    assert_eq!(
        (&report["tree"]["processes"], &report["tree"]["counters"]["heap"]["gets"]),
        (&4.into(), &21.into())
    );
}

/// Where a file as long as a ledger is not allowed, or has no room, there is no ledger, and the program runs.
#[test]
fn a_program_without_a_parent_runs_where_there_is_no_room_for_a_ledger() {
    let folder = scratch("no-room");
    let children = fault("children");
    let bare = left(&mut command(Way::Bare, &[&children, "turn", "3"]));
    let under = |before: &str| {
        let options = format!("UNDERBAR_OPTS='MSGFILE({}/%e-%p)'", folder.display());
        let start = format!("LD_PRELOAD='{}' {options} '{children}' turn 3", library());
        let script = format!("{before} {start}; echo $?; ls -A '{}'", folder.display());
        left(Command::new("unshare").args(["-m", "--", "sh", "-c", &script]))
    };
    if !is_superuser_or_skips("a full file system") {
        return;
    }
    let limited = under("ulimit -f 100000;");
    assert_eq!((limited.output, limited.error), (format!("{}0\n", bare.output), bare.error.clone()));
    let full = under(&format!(
        "mount -t tmpfs -o size=64k none '{0}' && dd if=/dev/zero of='{0}/fill' bs=1k count=64 2>/dev/null;",
        folder.display()
    ));
    assert_eq!((full.output, full.error), (format!("{}0\nfill\n", bare.output), bare.error));
}

// ---- many processes ----------------------------------------------------------------------------------------------

#[test]
fn ten_thousand_short_children_leave_nothing_behind() {
    let folder = scratch("children");
    let children = fault("children");
    let mut many = run(&["--json"], &[&children, "turn", "10000"]);
    let result = left(many.env("XDG_RUNTIME_DIR", &folder));
    assert_eq!((code(result.status), result.output.as_str()), (0, "done\n"), "{}", result.error);
    let report: Value = serde_json::from_str(&result.error).expect("a report");
    let tree = &report["tree"];
    assert_eq!(
        (&tree["processes"], &tree["unrecorded"], &tree["programs"]),
        (&10_001.into(), &0.into(), &1.into())
    );
    assert_eq!(tree["counters"]["heap"]["gets"], 70_000);
    assert_eq!(tree["counters"]["thread"]["started"], 10_001);
    let sections = report["processes"].as_array().expect("sections");
    assert!(sections.len() <= SLOTS, "{} sections", sections.len());
    assert_eq!(sections.iter().filter(|section| section["state"] == "folded").count(), 1);
    assert_eq!(ledger_files(&folder), 0);
}

#[test]
fn more_processes_at_one_time_than_a_ledger_has_room_for_are_counted() {
    let report = report(&[], &[&fault("children"), "alive", "300"]);
    let tree = &report["tree"];
    assert_eq!((&tree["processes"], &tree["unrecorded"]), (&256.into(), &45.into()));
    assert_eq!(tree["counters"]["heap"]["gets"], 7 * 255);
}

#[test]
fn a_forked_child_has_accounts_of_its_own() {
    let forks = fault("forks");
    for how in ["fork", "blocked", "_exit", "quick", "clone", "cloned", "exec", "works", "twice"] {
        for size in ["40000", "40"] {
            // A clone without the C library takes its parent's unpublished counts with it; and so does a
            // fork that may be in the middle of a request (docs/counters.md).
            let unpublished = if ["clone", "blocked"].contains(&how) && size == "40" { 1024 } else { 0 };
            let report = report(&[], &[&forks, how, size]);
            let sections = report["processes"].as_array().expect("sections");
            let parent = report["run"]["process"].as_u64().expect("a process");
            let heap =
                |section: &Value, name: &str| section["counters"]["heap"][name].as_u64().expect("a figure");
            for section in sections {
                let figures = (heap(section, "gets"), heap(section, "frees"));
                let cell = if size == "40" { 48 } else { 40_016 };
                if section["process"] == parent {
                    assert_eq!(
                        (figures, heap(section, "used")),
                        ((1000, 0), 1000 * cell),
                        "{how} {size}: {section}"
                    );
                } else if how == "works" && section["arguments"][1] == "child" {
                    assert_eq!(
                        (figures, heap(section, "used")),
                        ((1000, 0), 1000 * cell),
                        "{size}: {section}"
                    );
                } else if how == "exec" {
                    let expect = if section["arguments"][1] == "child" { (1000, 0) } else { (0, 0) };
                    assert_eq!(
                        (figures, heap(section, "used")),
                        (expect, 1000 * cell),
                        "{how} {size}: {section}"
                    );
                } else {
                    assert!((500..=500 + unpublished).contains(&figures.0), "{how} {size}: {section}");
                    assert_eq!((figures.1, heap(section, "used")), (1500, 0), "{how} {size}: {section}");
                    assert!(heap(section, "used_peak") >= 1000 * cell, "{how} {size}: {section}");
                }
                assert_eq!(section["counters"]["thread"]["started"], 1);
                // The child's is no larger than its parent's, and its own.
                if size == "40000" && how != "exec" && section["arguments"][1] != "child" {
                    assert_eq!(heap(section, "largest_request"), 40_000, "{how}: {section}");
                }
            }
            let three = ["twice", "exec", "works"].contains(&how);
            assert_eq!(sections.len(), if three { 3 } else { 2 }, "{how} {size}");
        }
    }
    let report = report(&[], &[&forks, "vfork", "40"]);
    assert_eq!(
        (&report["tree"]["processes"], &report["processes"][0]["counters"]["heap"]["gets"]),
        (&1.into(), &1000.into())
    );
    assert_eq!(same(&["-q"], &[&forks, "thread", "40"]), "");
    // A thread that gets and frees elements, so that it holds the lock that a child would have a copy of.
    assert_eq!(same(&["-q", "--opts", "HEAP(32K,32K,,FREE)"], &[&forks, "crowd", "300000"]), "");
}

#[test]
fn a_daemon_outlives_the_run() {
    let folder = scratch("daemon");
    let (question, answer) = (folder.join("question"), folder.join("answer"));
    let made = Command::new("mkfifo").args([&question, &answer]).status().expect("mkfifo");
    assert!(made.success());
    let mut start = run(&["--json"], &[&fault("daemon"), text(&question), text(&answer)]);
    let result = left(start.env("XDG_RUNTIME_DIR", &folder));
    assert_eq!((code(result.status), result.output.as_str()), (4, ""), "{}", result.error);
    let report: Value = serde_json::from_str(&result.error).expect("a report, as soon as the program ended");
    assert_eq!(report["run"]["end"]["exit"], 4);
    assert_eq!(ledger_files(&folder), 1, "its accounts go on");
    OpenOptions::new()
        .write(true)
        .open(&question)
        .expect("the daemon reads")
        .write_all(b"?")
        .expect("written");
    let mut said = String::new();
    File::open(&answer).expect("the daemon answers").read_to_string(&mut said).expect("read");
    assert_eq!(said, "alive\n");
}

// ---- rights, other heaps -----------------------------------------------------------------------------------------

#[test]
fn damaged_storage_ends_the_program_with_words() {
    let left = left(&mut run(&["-q"], &[&fault("wrong")]));
    assert_eq!(code(left.status), -6, "{left:?}");
    assert!(left.error.starts_with("underbar: free(): invalid pointer 0x"), "{left:?}");
    assert!(left.error.contains(", 8 bytes into the block at 0x"), "{left:?}");
}

const JEMALLOC: &str = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";

#[test]
fn a_program_with_another_heap_inside_works() {
    if !Path::new(JEMALLOC).exists() {
        return skip("another heap inside: libjemalloc2 is missing");
    }
    let program = compiled("faults/jemalloc", "faults-jemalloc", &[JEMALLOC]);
    let report = report(&[], &[text(&program)]);
    let heap = &report["processes"][0]["counters"]["heap"];
    // Pointers from its own heap, passed to ours, were left alone.
    assert_eq!(heap["foreign_frees"], 9999);
    assert!(heap["gets"].as_u64() >= Some(9999), "{heap}");
}

#[test]
fn another_heap_that_the_user_preloads_stays_loaded() {
    if !Path::new(JEMALLOC).exists() {
        return skip("another heap preloaded: libjemalloc2 is missing");
    }
    let script = "grep -c jemalloc /proc/self/maps >/dev/null && echo $LD_PRELOAD; exit 5";
    let mut with = run(&["-q"], &["/bin/sh", "-c", script]);
    let result = left(with.env("LD_PRELOAD", JEMALLOC));
    assert_eq!((code(result.status), result.error.as_str()), (5, ""));
    let order: Vec<&str> = result.output.trim().split([':', ' ']).collect();
    assert_eq!(order.len(), 2, "{order:?}");
    assert_eq!(order.iter().position(|library| *library == JEMALLOC), Some(1), "ours goes first: {order:?}");
    for line in
        [&["/bin/sh", "-c", "ls / | sort | wc -l"][..], &["python3", "-c", "print(sum(range(10**5)))"]]
    {
        let bare = left(command(Way::Bare, line).env("LD_PRELOAD", JEMALLOC));
        let with = left(run(&["-q"], line).env("LD_PRELOAD", JEMALLOC));
        assert_eq!(with, bare, "{line:?}");
    }
}

#[test]
fn a_ledger_of_noise_behind_a_good_head_gives_a_report() {
    let folder = scratch("spoiled-report");
    let path = folder.join("ledger");
    assert_eq!(same(&["--exec", "-o", text(&path)], &["/bin/true"]), "");
    let file = OpenOptions::new().write(true).open(&path).expect("a ledger");
    file.write_all_at(&[0xff; 8192], SLOTS_OFFSET as u64).expect("written");
    let printed = left(Command::new(underbar()).args(["report", text(&path)]));
    assert_eq!((code(printed.status), printed.error.as_str()), (0, ""));
}
