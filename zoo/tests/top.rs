//! `underbar ls` and `underbar top`: what they show of programs that run, on a terminal of the test's own, and how they leave it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use underbar_sys::signal::name;
use underbar_sys::syscall::kill;
use underbar_top::columns::Field;
use underbar_top::glyphs::ASCII;
use underbar_top::live::{self, Source};
use underbar_top::look::Look;
use underbar_top::view::Setup;
use underbar_zoo::terminal::Terminal;
use underbar_zoo::{as_user, code, executable, is_superuser_or_skips, json, left, scratch, text, underbar};

/// A program that keeps accounts until its input ends, under a name of its own; ledgers are in a folder of the test's own.
struct Watched {
    folder: PathBuf,
    name: String,
    child: Child,
    input: Option<ChildStdin>,
}

impl Watched {
    fn start(name: &str, flags: &[&str]) -> Watched {
        Watched::named(&scratch(name), name, flags)
    }

    fn named(folder: &Path, name: &str, flags: &[&str]) -> Watched {
        Watched::by(Command::new(underbar()), folder, name, flags)
    }

    /// Started by this command, which ends with that of underbar.
    fn by(mut command: Command, folder: &Path, name: &str, flags: &[&str]) -> Watched {
        let program = folder.join(name);
        executable::copy("/bin/cat", &program);
        command.arg("run").args(flags).arg("--").arg(&program).env("XDG_RUNTIME_DIR", folder);
        command.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS").env_remove("UNDERBAR_LEDGER");
        let mut child = as_user(&mut command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        let mut input = child.stdin.take().expect("a pipe");
        // It has answered, so it is there, and its accounts are.
        std::io::Write::write_all(&mut input, b"!").expect("written");
        std::io::Read::read_exact(child.stdout.as_mut().expect("a pipe"), &mut [0]).expect("an answer");
        Watched { folder: folder.to_owned(), name: name.to_owned(), child, input: Some(input) }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(underbar());
        command.args(arguments).env("XDG_RUNTIME_DIR", &self.folder).env("TERM", "dumb");
        command
    }

    /// The script on a terminal; `UNDERBAR` is the command.
    fn terminal(&self, script: &str, columns: u16, rows: u16) -> Terminal {
        Terminal::start(script, columns, rows, |command| {
            command.env("XDG_RUNTIME_DIR", &self.folder).env("UNDERBAR", underbar()).env("NAME", &self.name);
        })
    }

    fn end(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.end();
    }
}

/// Prints the mode of the terminal, runs the view, and prints its status and the mode again.
const VIEW: &str =
    "trap : INT; stty -g; \"$UNDERBAR\" top \"$NAME\" --every 100ms; echo \"status $?\"; stty -g; echo done";

/// The lines of `stty -g` before and after.
fn modes(written: &str) -> Vec<&str> {
    let is_mode = |line: &&str| {
        line.split(':').count() > 20 && line.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':')
    };
    written.split(['\r', '\n']).filter(is_mode).collect()
}

fn assert_left(terminal: &mut Terminal, status: &str) {
    let written = terminal.writes("done");
    assert!(written.contains(status), "{written}");
    let modes = modes(&written);
    assert!(modes.len() == 2 && modes[0] == modes[1], "{modes:?}");
    assert!(written.rfind("\x1b[?1049l") > written.rfind("\x1b[?1049h"), "the other screen is left");
    assert!(written.rfind("\x1b[?25h") > written.rfind("\x1b[?25l"), "the cursor is there again");
    assert!(terminal.is_as_usual());
}

#[test]
fn the_view_sorts_shows_details_follows_the_size_and_leaves_the_terminal_as_it_was() {
    let mut watched = Watched::start("top-view", &[]);
    let mut terminal = watched.terminal(VIEW, 100, 24);
    let screen = terminal.shows(|screen| screen.contains("▼HEAP") && screen.contains("top-view"));
    assert!(screen.contains("underbar top  top-view") && screen.contains("every 100 ms"), "{screen}");
    assert!(!terminal.is_as_usual());
    for (key, head) in [("r", "▼RESIDENT"), ("r", "▲RESIDENT"), ("c", "▼CPU"), ("n", "PROGRAM▼")] {
        terminal.press(key);
        terminal.shows(|screen| screen.contains(head));
    }
    terminal.press("\r");
    let details = terminal.shows(|screen| screen.contains("Requests by size"));
    assert!(details.contains("underbar report ") && details.contains("up to "), "{details}");
    terminal.press("\x1b");
    terminal.shows(|screen| screen.contains("PROGRAM▼"));
    terminal.press("?");
    terminal.shows(|screen| screen.contains("Columns, and the keys"));
    terminal.press("?");
    terminal.resize(40, 12);
    let narrow = terminal.shows(|screen| screen.contains("HEAP") && !screen.contains("RESIDENT"));
    assert!(narrow.lines().all(|line| line.chars().count() <= 40) && narrow.contains("top-view"), "{narrow}");
    terminal.resize(160, 30);
    terminal.shows(|screen| screen.contains("COMMAND") && screen.contains("SWITCH/S"));
    watched.end();
    terminal.shows(|screen| screen.contains("ended"));
    terminal.shows(|screen| screen.contains("No program of this name"));
    terminal.press("q");
    assert_left(&mut terminal, "status 0");
    assert!(terminal.end().success());
}

#[test]
fn a_signal_that_ends_the_view_leaves_the_terminal_as_it_was() {
    let watched = Watched::start("top-signals", &[]);
    for (keys, signal, status) in
        [("\x03", 0, "status 130"), ("", name::TERM, "status 143"), ("", name::HUP, "status 129")]
    {
        let mut terminal = watched.terminal(VIEW, 80, 24);
        terminal.shows(|screen| screen.contains("top-signals") && screen.contains("HEAP"));
        if keys.is_empty() {
            kill(view_of(&terminal), signal).expect("sent");
        } else {
            terminal.press(keys);
        }
        assert_left(&mut terminal, status);
    }
}

/// The process of the view: the child of the script.
fn view_of(terminal: &Terminal) -> i32 {
    let script = terminal.process();
    let path = format!("/proc/{script}/task/{script}/children");
    let children = fs::read_to_string(path).expect("its children");
    children.trim().parse().expect("one child")
}

#[test]
fn a_view_that_is_stopped_leaves_the_terminal_and_comes_back() {
    let watched = Watched::start("top-stopped", &[]);
    let mut terminal = watched.terminal(VIEW, 80, 24);
    terminal.shows(|screen| screen.contains("top-stopped") && screen.contains("HEAP"));
    let view = view_of(&terminal);
    terminal.press("\x1a");
    terminal.writes("\x1b[?1049l");
    let state = || {
        let stat = fs::read_to_string(format!("/proc/{view}/stat")).expect("it is there");
        stat.rsplit_once(") ").expect("a state").1.starts_with('T')
    };
    while !state() {
        std::thread::yield_now();
    }
    assert!(terminal.is_as_usual());
    kill(view, name::CONT).expect("sent");
    let entered = |written: &str| written.matches("\x1b[?1049h").count() >= 2;
    terminal.writes_so("the other screen again", entered);
    terminal.shows(|screen| screen.contains("top-stopped") && screen.contains("HEAP"));
    assert!(!terminal.is_as_usual());
    terminal.press("q");
    assert_left(&mut terminal, "status 0");
}

/// Looks that end in a panic.
struct Panics(u32);

impl Source for Panics {
    fn next(&mut self) -> Option<Look> {
        self.0 += 1;
        assert!(self.0 < 3, "a planted panic");
        Some(Look::default())
    }
}

#[test]
fn a_panic_leaves_the_terminal_as_it_was() {
    const ROLE: &str = "UNDERBAR_TEST_PANICS";
    if std::env::var_os(ROLE).is_some() {
        let every = std::time::Duration::from_millis(10);
        let setup = Setup { every, sort: Field::Heap, colours: false, glyphs: ASCII, with_user: false };
        let _ = live::run(&mut Panics(0), setup, "", "");
        return;
    }
    let test = std::env::current_exe().expect("this program");
    let script = format!(
        "stty -g; '{}' --exact top::a_panic_leaves_the_terminal_as_it_was --nocapture; echo \"status $?\"; stty -g; echo done",
        test.display()
    );
    let mut terminal = Terminal::start(&script, 80, 24, |command| {
        command.env(ROLE, "1");
    });
    let written = terminal.writes("status");
    assert!(written.contains("\x1b[?1049h") && written.contains("a planted panic"), "{written}");
    assert!(
        written.rfind("\x1b[?1049l") < written.find("a planted panic"),
        "the message is on the first screen"
    );
    assert_left(&mut terminal, "status 101");
}

#[test]
fn a_program_is_listed_and_found_by_its_name_while_it_runs_and_afterwards() {
    let mut watched = Watched::start("top-listed", &["--exec", "--opts", "HEAP(1M)"]);
    let list = |watched: &Watched| json(&left(&mut watched.command(&["ls", "--json"])));
    let of = |list: &serde_json::Value| {
        let ledgers = list["ledgers"].as_array().expect("ledgers").clone();
        ledgers.into_iter().find(|ledger| ledger["program"] == "top-listed").expect("it is listed")
    };
    let listed = of(&list(&watched));
    assert_eq!(listed["state"], "running", "{listed}");
    assert_eq!(listed["processes"], serde_json::json!([watched.child.id()]), "{listed}");
    assert!(listed["options"].as_str().is_some_and(|text| text.contains("HEAP(1M)")), "{listed}");
    assert!(
        listed["resident_bytes"].as_u64() > Some(0) && listed["heap_used_bytes"].as_u64() > Some(0),
        "{listed}"
    );
    let ledger = listed["ledger"].as_str().expect("a name").to_owned();
    let number = watched.child.id().to_string();
    for word in [ledger.as_str(), "top-listed", "./top-listed", &number] {
        let mut report = watched.command(&["report", "--json", word]);
        let report = json(&left(report.current_dir(&watched.folder)));
        assert_eq!(report["processes"][0]["process"], watched.child.id(), "{word}");
        // The program is in this folder, and is not taken for a ledger.
        let mut top = watched.command(&["top", "--once", word]);
        let top = left(top.current_dir(&watched.folder));
        assert!(top.output.contains("top-listed") && code(top.status) == 0, "{word}: {top:?}");
        let mut line = watched.command(&["top", "--once", "--json", word]);
        let look = json(&left(line.current_dir(&watched.folder)));
        assert_eq!(look["processes"][0]["process"], watched.child.id(), "{word}: one look, as one line");
    }
    watched.end();
    assert_eq!(of(&list(&watched))["state"], "left");
    let report = json(&left(&mut watched.command(&["report", "--json", "top-listed"])));
    assert_eq!(report["processes"][0]["state"], "ended");
    let top = left(&mut watched.command(&["top", "--once", "top-listed"]));
    assert!(code(top.status) == 2 && top.error.contains("`underbar ls`"), "{top:?}");
}

#[test]
fn switches_are_those_of_the_report() {
    let watched = Watched::start("top-switches", &["--exec", "--opts", "SWITCHES(ON)"]);
    let script = format!("'{}' top top-switches --json --every 50ms | head -n 1", text(underbar()));
    let mut shell = Command::new("sh");
    let look = json(&left(shell.args(["-c", &script]).env("XDG_RUNTIME_DIR", &watched.folder)));
    let report = json(&left(&mut watched.command(&["report", "--json", "top-switches"])));
    let calls = report["processes"][0]["switches"]["calls"].as_array().expect("calls");
    let sum: u64 = calls.iter().map(|calls| calls["count"].as_u64().expect("a count")).sum();
    assert_eq!(look["processes"][0]["switches"].as_u64(), Some(sum), "{look}\n{report}");
    assert!(sum > 0);
}

#[test]
fn root_sees_ledgers_of_other_users_only_as_said_and_never_those_that_others_can_write() {
    const OTHER: u32 = 47_813;
    if !is_superuser_or_skips("ledgers of other users") {
        return;
    }
    let watched = Watched::start("top-others", &["--exec"]);
    let folder = PathBuf::from(format!("/dev/shm/underbar-{OTHER}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).expect("a folder");
    let of_run = fs::read_dir(watched.folder.join("underbar")).expect("ledgers").flatten();
    let ledger =
        of_run.map(|file| file.path()).find(|path| path.extension().is_some_and(|ending| ending == "ledger"));
    let theirs = folder.join("1-1.ledger");
    executable::copy(ledger.expect("a ledger"), &theirs);
    chown(&folder, Some(OTHER), None).expect("given away");
    let lists = |arguments: &[&str]| {
        let list = json(&left(&mut watched.command(&[&["ls", "--json"], arguments].concat())));
        let ledgers = list["ledgers"].as_array().expect("ledgers").clone();
        ledgers.into_iter().find(|ledger| ledger["file"] == text(&theirs))
    };
    assert_eq!(lists(&["--all-users"]), None, "it is root's, in a folder of another user");
    chown(&theirs, Some(OTHER), None).expect("given away");
    let listed = lists(&["--all-users"]).expect("it is listed");
    assert_eq!((&listed["user"], &listed["program"]), (&OTHER.into(), &"top-others".into()), "{listed}");
    assert_eq!(lists(&[]), None, "nobody said so");
    for (path, mode) in [(&theirs, 0o620), (&folder, 0o777)] {
        let before = fs::metadata(path).expect("there").permissions();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
        assert_eq!(lists(&["--all-users"]), None, "{} {mode:o}", path.display());
        fs::set_permissions(path, before).expect("a mode");
    }
    assert!(lists(&["--all-users"]).is_some());
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn a_process_of_another_namespace_has_its_number_there_and_here() {
    if !is_superuser_or_skips("a namespace of processes") {
        return;
    }
    let folder = scratch("top-namespace");
    let mut unshare = Command::new("unshare");
    unshare.args(["--pid", "--fork", text(underbar())]);
    let watched = Watched::by(unshare, &folder, "top-namespace", &["--exec"]);
    let script = format!("'{}' top top-namespace --json --every 50ms | head -n 1", text(underbar()));
    let mut shell = Command::new("sh");
    let look = json(&left(shell.args(["-c", &script]).env("XDG_RUNTIME_DIR", &watched.folder)));
    let row = &look["processes"][0];
    let parent = watched.child.id();
    let children =
        fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).expect("its children");
    let here: u64 = children.trim().parse().expect("one child");
    assert_eq!((row["process"].as_u64(), row["number_here"].as_u64()), (Some(1), Some(here)), "{look}");
    assert!(row["resident_bytes"].as_u64() > Some(0) && row["cpu_ns"].as_u64() > Some(0), "{look}");
}

#[test]
fn a_daemon_that_left_its_parent_is_found_by_its_name() {
    let folder = scratch("top-daemon");
    let program = folder.join("top-daemon");
    executable::copy("/bin/cat", &program);
    let pipe = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let script = format!("setsid '{}' < '{}' > /dev/null 2>&1 &", text(&program), text(&pipe));
    let mut run = underbar_zoo::run(&[], &["sh", "-c", &script]);
    run.env("XDG_RUNTIME_DIR", &folder);
    let run = run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    // Opening waits until the daemon reads, so it has begun.
    let input = fs::File::options().write(true).open(&pipe).expect("opened");
    let mut run = run;
    assert!(run.wait().expect("our child").success());
    let asked = |arguments: &[&str]| {
        let mut command = Command::new(underbar());
        command.args(arguments).env("XDG_RUNTIME_DIR", &folder);
        left(&mut command)
    };
    // It may still be on its way to its program.
    let top = loop {
        let top = asked(&["top", "--once", "top-daemon"]);
        if code(top.status) == 0 {
            break top;
        }
    };
    assert!(top.output.contains("top-daemon"), "{top:?}");
    let report = asked(&["report", "top-daemon"]);
    assert_eq!(code(report.status), 0, "{report:?}");
    drop(input);
}

#[test]
fn hostile_names_steer_nothing() {
    let folder = scratch("top-hostile");
    let watched = Watched::named(&folder, "we\x1b[2J\u{202e}\nird", &[]);
    let mut terminal = watched.terminal(VIEW, 100, 24);
    terminal.shows(|screen| screen.contains("we\\x1b[2J\\u{202e}\\nird"));
    terminal.press("\r");
    terminal.shows(|screen| screen.contains("underbar report"));
    terminal.press("q");
    let written = terminal.writes("done");
    assert!(!written.contains("we\x1b") && !written.contains('\u{202e}'));
    for arguments in [&["ls"][..], &["top", "--once"], &["ls", "--json"]] {
        let answer = left(&mut watched.command(arguments));
        assert!(answer.output.contains("ird") && !answer.output.contains(['\x1b', '\u{202e}']), "{answer:?}");
    }
}

#[test]
fn a_recording_is_replayed_and_a_cut_one_as_far_as_it_goes() {
    let mut watched = Watched::start("top-recorded", &[]);
    let file = watched.folder.join("looks.jsonl");
    let script = "\"$UNDERBAR\" top \"$NAME\" --every 50ms --record \"$FILE\"; echo done";
    let mut terminal = Terminal::start(script, 80, 24, |command| {
        command.env("XDG_RUNTIME_DIR", &watched.folder).env("UNDERBAR", underbar());
        command.env("NAME", &watched.name).env("FILE", &file);
    });
    terminal.shows(|screen| screen.contains("top-recorded") && screen.contains("HEAP"));
    while fs::read_to_string(&file).expect("a recording").lines().count() < 4 {
        terminal.press("j");
    }
    terminal.press("q");
    terminal.writes("done");
    let recorded = fs::read_to_string(&file).expect("a recording");
    watched.end();
    let replay = |arguments: &[&str]| {
        left(&mut watched.command(&[&["top", "--replay", text(&file)], arguments].concat()))
    };
    let again = replay(&["--json"]);
    assert_eq!(again.output.lines().count(), recorded.lines().count());
    for line in again.output.lines() {
        let look: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(
            (&look["schema"], &look["processes"][0]["program"]),
            (&"underbar.top/1".into(), &"top-recorded".into())
        );
        assert_eq!(
            look["processes"][0]["command"].as_array().map(Vec::len),
            Some(1),
            "it comes with each look again"
        );
    }
    assert!(replay(&["--once"]).output.contains("top-recorded"));
    fs::write(&file, &recorded[..recorded.len() - 20]).expect("cut");
    let cut = replay(&["--json"]);
    assert_eq!((code(cut.status), cut.output.lines().count()), (0, recorded.lines().count() - 1));
    assert!(cut.error.contains("the recording is cut short in look"), "{cut:?}");
    let script = "\"$UNDERBAR\" top --replay \"$FILE\" --every 50ms; echo done";
    let mut terminal = Terminal::start(script, 100, 24, |command| {
        command.env("UNDERBAR", underbar()).env("FILE", &file);
    });
    let last = format!("look {0} of {0}", cut.output.lines().count());
    let screen = terminal.shows(|screen| screen.contains(&last));
    assert!(screen.contains("cut short") && screen.contains("top-recorded"), "{screen}");
    terminal.press("\x1b[D");
    terminal.shows(|screen| screen.contains("look") && !screen.contains(&last));
    terminal.press("q");
    terminal.writes("done");
    for (bytes, words) in [(&b"nonsense"[..], "no recording"), (b"", "no look")] {
        fs::write(&file, bytes).expect("written");
        let refused = replay(&[]);
        assert!(code(refused.status) == 2 && refused.error.contains(words), "{refused:?}");
    }
}

#[test]
fn json_lines_end_when_their_reader_goes() {
    let watched = Watched::start("top-lines", &[]);
    let script = format!("'{}' top top-lines --json --every 50ms | head -n 2", text(underbar()));
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).env("XDG_RUNTIME_DIR", &watched.folder);
    let lines = left(&mut shell);
    assert_eq!((code(lines.status), lines.output.lines().count(), lines.error.as_str()), (0, 2, ""));
    let second: serde_json::Value =
        serde_json::from_str(lines.output.lines().nth(1).expect("two")).expect("JSON");
    assert!(second["processes"][0]["requests_per_s"].is_u64(), "rates come with the second look: {second}");
}
