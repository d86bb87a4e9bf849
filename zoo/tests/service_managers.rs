//! Services: sockets that a manager has opened, and notices that it expects, reach the program with and without underbar as its parent.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use underbar_zoo::{WAYS, Way, as_user, compiled, left, line, program, scratch, skip, text, underbar};

const SIGSEGV: i32 = 11;

/// Only a test that hangs waits so long.
const HANGS: Duration = Duration::from_secs(60);

#[test]
fn variables_for_one_process_name_the_program() {
    // The shell becomes the command, or the program, under the same number.
    let set = "LISTEN_FDS=1 LISTEN_PID=$$ WATCHDOG_PID=$$ exec \"$@\"";
    let other = "LISTEN_PID=1 exec \"$@\"";
    let shown = "echo $$ $LISTEN_PID $WATCHDOG_PID";
    for way in WAYS {
        let words = line(way, &["sh", "-c", shown]);
        let run = |set: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", set, "sh"]).args(&words).env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS");
            shell.env_remove("LISTEN_PID").env_remove("WATCHDOG_PID");
            let left = left(&mut shell);
            assert!(left.status.success(), "{way:?}: {left:?}");
            left.output.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        let [own, listens, watched] = &run(set)[..] else { panic!("three numbers") };
        assert_eq!((listens, watched), (own, own), "{way:?}");
        assert_eq!(run(other)[1..], ["1"], "{way:?}");
    }
}

/// Units with systemd's `SystemCallFilter=@system-service` are common, and a call that it leaves out ends the process: Debian's redis-server
/// ended so, since `mincore` is none of that set.
#[test]
fn a_service_that_may_make_only_the_usual_system_calls_lives() {
    let filter = program("system_service");
    let turns = compiled("heap/turns", "heap-turns", &["-pthread"]);
    let works: &[&str] = &[text(&turns)];
    let crash: &[&str] = &["sh", "-c", "kill -SEGV $$"];
    let run = |way, words: &[&str], options: &str| {
        let mut all = vec![text(&filter).to_owned()];
        all.extend(line(way, words));
        let mut command = Command::new(&all[0]);
        left(as_user(command.args(&all[1..]).env("UNDERBAR_OPTS", options).env_remove("LD_PRELOAD")))
    };
    if run(Way::Bare, works, "").status.code() != Some(0) {
        return skip("services: seccomp is not allowed here");
    }
    for way in [Way::Wrapped, Way::Replaced] {
        for options in
            ["", "SITES(ON,4K)", "HEAP(64K,64K,,FREE)", "THREADSTACK(ON)", "SWITCHES(ON)", "HEAPCHK(ON)"]
        {
            let left = run(way, works, options);
            assert_eq!(left.status.code(), Some(0), "{way:?} {options}: {left:?}");
        }
        assert_eq!(run(way, crash, "").status.signal(), Some(SIGSEGV), "{way:?}");
    }
}

/// There `mincore` does not tell how deep stacks were, and another source gives the same figure.
#[test]
fn a_filter_of_system_calls_changes_no_figure() {
    let filter = program("system_service");
    let threads = compiled("stacks/threads", "stacks-threads", &["-pthread"]);
    let file = scratch("services-figures").join("report.json");
    if !left(Command::new(&filter).args([text(&threads), "deep"])).status.success() {
        return skip("services: seccomp is not allowed here");
    }
    let deepest = |before: &[&str]| {
        let mut words = before.to_vec();
        words.extend([text(underbar()), "run", "-q", "--json", "-o", text(&file)]);
        words.extend(["--", text(&threads), "deep"]);
        let left = left(Command::new(words[0]).args(&words[1..]).env_remove("UNDERBAR_OPTS"));
        assert!(left.status.success(), "{left:?}");
        let report: Value =
            serde_json::from_slice(&std::fs::read(&file).expect("a report")).expect("a report");
        let stack = &report["processes"][0]["counters"]["stack"];
        (stack["thread"].as_u64().expect("bytes"), stack["main"].as_u64().expect("bytes"))
    };
    let (thread, main) = deepest(&[]);
    assert!(thread > 200 << 10 && main > 0, "{thread} {main}");
    let (other_thread, other_main) = deepest(&[text(&filter)]);
    // To the page, and the main thread's stack begins at a random place of one.
    assert!(
        other_thread.abs_diff(thread) <= 8192 && other_main.abs_diff(main) <= 8192,
        "{other_thread} {other_main}, {thread} {main}"
    );
}

#[test]
fn a_service_takes_its_socket_and_says_that_it_is_ready() {
    let folder = std::env::temp_dir().join(format!("underbar-service-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder with a short path, as addresses of sockets need it");
    let service = program("activated");
    for (number, way) in WAYS.into_iter().enumerate() {
        let [notices, socket] = ["notices", "socket"].map(|name| folder.join(format!("{name}{number}")));
        let notified = UnixDatagram::bind(&notices).expect("a socket");
        notified.set_read_timeout(Some(HANGS)).expect("a limit");
        let variable = format!("NOTIFY_SOCKET={}", text(&notices));
        let mut manager = Command::new("systemd-socket-activate");
        manager.args(["--listen", text(&socket), "--setenv", &variable]).args(line(way, &[text(&service)]));
        let manager = as_user(&mut manager).stdin(Stdio::null()).stderr(Stdio::piped()).spawn();
        let Ok(mut manager) = manager else {
            skip("services: needs systemd-socket-activate");
            break;
        };
        let mut said = BufReader::new(manager.stderr.take().expect("its errors"));
        let mut first = String::new();
        said.read_line(&mut first).expect("a line");
        assert!(first.starts_with("Listening on"), "{first}");
        let mut client = UnixStream::connect(&socket).expect("a connection");
        client.set_read_timeout(Some(HANGS)).expect("a limit");
        let (mut answer, mut rest) = (String::new(), String::new());
        let answered = client.read_to_string(&mut answer);
        drop(client);
        said.read_to_string(&mut rest).expect("text");
        assert!(manager.wait().expect("our child").success(), "{way:?}: {rest}");
        answered.expect("an answer");
        assert_eq!(answer, "hello\n", "{way:?}");
        let mut notice = [0; 64];
        let length = notified.recv(&mut notice).expect("a notice");
        assert_eq!(&notice[..length], b"READY=1", "{way:?}");
    }
    std::fs::remove_dir_all(&folder).expect("removed");
}
