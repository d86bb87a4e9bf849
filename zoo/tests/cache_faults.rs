//! WORKFILE and files that are full, shared with other processes, followed by a reader, or no files: nothing is lost silently.
//!
//! Invariant: an error that a plain run sees at a write reaches the program at the latest with its next write, fsync or close.
//! Not here: ways of writing and ending ([`crate::cache_matrix`]).

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use underbar_zoo::{as_user, aside, compiled, is_superuser_or_skips, left, scratch, text, underbar};

use crate::cache_matrix::{CACHED, FILE, outcome};

fn program() -> String {
    text(&compiled("caches/faults", "caches-faults", &[])).to_owned()
}

fn words(mode: &str, more: &[&str]) -> Vec<String> {
    [&program(), mode, FILE]
        .into_iter()
        .map(ToString::to_string)
        .chain(more.iter().map(ToString::to_string))
        .collect()
}

/// A program under the options, whose start is left to the test. It ends by itself after a time: a test that fails must not hang.
fn run(line: &[String]) -> Command {
    let mut run = Command::new("timeout");
    run.args(["--foreground", "60"]).arg(underbar()).args(["run", "-q", "--opts", CACHED, "--"]).args(line);
    run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS").env_remove("UNDERBAR_LEDGER");
    run
}

/// The limit cuts the sixth line. One line too much is seen at the close or fsync, many at a write; the file is as the plain one.
#[test]
fn a_limit_of_the_file_size_is_told() {
    for count in ["6", "7", "40"] {
        for last in ["close", "fsync"] {
            for stream in [&[][..], &["stream"]] {
                let line = words("limit", &[&[count, last], stream].concat());
                let name = format!("limit-{count}-{last}-{}", stream.len());
                let [plain, ours] = [None, Some(CACHED)].map(|options| outcome(&name, options, &line, false));
                assert_eq!(plain.status, 1, "{name}: a plain run fails");
                assert_eq!(plain.difference(&ours), None, "{name}");
            }
        }
    }
}

/// The same by a small file system, which others fill meanwhile.
#[test]
fn a_full_file_system_is_told() {
    if !is_superuser_or_skips("a full file system") {
        return;
    }
    let folder = scratch("caches-full");
    for last in ["close", "fsync"] {
        for stream in ["", "stream"] {
            let shell = |start: &str| {
                let show = underbar_zoo::show_aside();
                let program = aside(program().as_ref());
                let folder = folder.display();
                format!(
                    "{show} && mount -t tmpfs -o size=64k none '{folder}' && cd '{folder}' && \
                     {start} '{program}' full {FILE} 2000 {last} {stream}; echo $?; sha256sum {FILE}"
                )
            };
            let under = format!("'{}' run -q --opts '{CACHED}' --", aside(underbar()));
            let [plain, ours] = ["", &under].map(|start| {
                let mut command = Command::new("unshare");
                command.args(["-m", "--", "sh", "-c", &shell(start)]);
                left(&mut command)
            });
            assert!(plain.output.starts_with("No space left on device\n1\n"), "{plain:?}");
            assert_eq!((plain.status, plain.output), (ours.status, ours.output), "{last} {stream}");
        }
    }
}

/// Processes that append to one file: each line is whole, and the lines of each are in their order.
#[test]
fn several_processes_append() {
    const EACH: usize = 300;
    let folder = scratch("caches-append");
    let count = EACH.to_string();
    let children: Vec<_> = ["one", "two", "six"]
        .map(|who| {
            let mut run = run(&words("append", &[who, &count]));
            as_user(&mut run).current_dir(&folder).stdin(Stdio::null()).spawn().expect("started")
        })
        .into_iter()
        .collect();
    for mut child in children {
        assert!(child.wait().expect("our child").success());
    }
    let program = program();
    let shell = format!("for who in ten tea; do '{program}' append {FILE} $who {EACH} & done; wait");
    let both = left(run(&["sh", "-c", &shell].map(str::to_owned)).current_dir(&folder));
    assert!(both.status.success(), "{both:?}");
    let text = fs::read_to_string(folder.join(FILE)).expect("read");
    assert_eq!(text.len(), 5 * EACH * 133);
    for who in ["one", "two", "six", "ten", "tea"] {
        let numbers: Vec<usize> =
            text.lines().filter_map(|line| line.strip_prefix(who)?.get(1..7)?.parse().ok()).collect();
        assert_eq!(numbers, (0..EACH).collect::<Vec<_>>(), "{who}");
    }
}

/// Who follows the file sees a part of it at any time, never anything else, and all after fsync and close.
#[test]
fn a_reader_follows_the_file() {
    let folder = scratch("caches-followed");
    let mut run = run(&words("followed", &[]));
    run.current_dir(&folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = as_user(&mut run).spawn().expect("started");
    let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut go_on = child.stdin.take().expect("a pipe");
    let whole: String =
        (0..120).map(|number| format!("{:x<132}\n", format!("followed {number:06} "))).collect();
    for step in 0..4 {
        let mut line = String::new();
        said.read_line(&mut line).expect("a line");
        assert_eq!(line, format!("step {step}\n"));
        let now = fs::read_to_string(folder.join(FILE)).expect("read");
        assert!(whole.starts_with(&now), "step {step}: {} bytes", now.len());
        if step % 2 == 1 {
            assert_eq!(now.len(), (step + 1) * 30 * 133, "step {step}");
        }
        go_on.write_all(b"go on\n").expect("written");
    }
    assert!(child.wait().expect("our child").success());
    assert_eq!(fs::read_to_string(folder.join(FILE)).expect("read"), whole);
}

/// A FIFO of the name of a work file is no work file: its reader gets each line at once.
#[test]
fn a_fifo_is_left_alone() {
    for name in [FILE, "link-to-a-fifo"] {
        let folder = scratch(&format!("caches-{name}-fifo"));
        let [there, back] = ["there", "back"].map(|name| folder.join(name));
        assert!(Command::new("mkfifo").args([&there, &back]).status().expect("mkfifo").success());
        if name == FILE {
            fs::rename(&there, folder.join(FILE)).expect("renamed");
        } else {
            std::os::unix::fs::symlink(&there, folder.join(FILE)).expect("linked");
        }
        let mut run = run(&words("asks", &["back"]));
        run.current_dir(&folder).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = as_user(&mut run).spawn().expect("started");
        let mut questions = BufReader::new(File::open(folder.join(FILE)).expect("opened"));
        let mut answers = File::options().write(true).open(&back).expect("opened");
        for number in 0..5 {
            let mut line = String::new();
            questions.read_line(&mut line).expect("a line");
            assert_eq!(line, format!("question {number}\n"));
            answers.write_all(format!("answer {number}\n").as_bytes()).expect("written");
        }
        let mut output = String::new();
        child.stdout.take().expect("a pipe").read_to_string(&mut output).expect("text");
        assert!(child.wait().expect("our child").success());
        assert_eq!(output.lines().count(), 5);
    }
}

/// Before a program waits for input, its questions are in the file of its standard output.
#[test]
fn a_question_is_seen_before_its_answer_is_read() {
    let folder = scratch("caches-prompts");
    let printed = folder.join("printed");
    let mut run = run(&words("prompts", &[]));
    run.current_dir(&folder).stdin(Stdio::piped()).stdout(File::create(&printed).expect("created"));
    let mut child = as_user(&mut run).spawn().expect("started");
    let mut answers = child.stdin.take().expect("a pipe");
    for number in 0..3 {
        let question = format!("question {number}\n");
        // The program waits for us, and we for its question; `timeout` ends it if the question never comes.
        while !fs::read_to_string(&printed).expect("read").ends_with(&question) {
            let ended = child.try_wait().expect("our child");
            assert!(ended.is_none(), "question {number} was not seen: {ended:?}");
            std::thread::yield_now();
        }
        answers.write_all(b"answer\n").expect("written");
    }
    assert!(child.wait().expect("our child").success());
}

/// Pages that the program mapped before show each write at once.
#[test]
fn a_file_that_is_mapped_already_is_left_alone() {
    let line = words("mapped", &[]);
    let [plain, ours] = [None, Some(CACHED)].map(|options| outcome("mapped", options, &line, false));
    assert_eq!(plain.difference(&ours), None);
}

/// Sockets, folders and devices by the name of a work file: calls fail and succeed as they do plain.
#[test]
fn what_is_no_file_is_left_alone() {
    for kind in ["socket", "folder", "full", "null"] {
        let [plain, ours] = [false, true].map(|is_ours| {
            let folder = scratch(&format!("caches-no-file-{kind}-{is_ours}"));
            let path = folder.join(FILE);
            let _socket = (kind == "socket").then(|| {
                // The path of a socket must be short.
                let short =
                    std::env::temp_dir().join(format!("underbar-zoo-{}-{is_ours}", std::process::id()));
                let socket = UnixListener::bind(&short).expect("bound");
                fs::rename(&short, &path)
                    .or_else(|_| std::os::unix::fs::symlink(&short, &path))
                    .expect("moved");
                socket
            });
            match kind {
                "folder" => fs::create_dir(&path).expect("created"),
                "full" | "null" => {
                    std::os::unix::fs::symlink(format!("/dev/{kind}"), &path).expect("linked");
                }
                _ => {}
            }
            let line = words("opens", &[]);
            let mut plain = Command::new(&line[0]);
            plain.args(&line[1..]);
            let mut command = if is_ours { run(&line) } else { plain };
            left(command.current_dir(&folder))
        });
        assert_eq!((plain.status, &plain.output), (ours.status, &ours.output), "{kind}");
        assert_eq!(kind == "full", plain.output.contains("No space left"), "{kind}: {}", plain.output);
    }
}
