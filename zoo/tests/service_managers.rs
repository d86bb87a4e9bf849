//! Services: sockets that a manager has opened, and notices that it expects, reach the program with and without underbar as its parent.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use underbar_zoo::{WAYS, as_user, left, line, program, skip, text};

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
